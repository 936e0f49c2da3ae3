import { expect, it } from "vitest";
import { freshState } from "./fresh-state.ts";
import { sessionPhaseOf } from "./session-phase.ts";
import type { AgentState } from "./state.ts";

const HOUR = 3_600_000;
const user = { type: "user", connector: "c", userId: "u", channelId: "u" } as const;

it.each<[string, Partial<AgentState>, string | undefined, number, string]>([
  ["no message yet", {}, undefined, 0, "new"],
  ["its first run is active", {}, "r", 0, "active"],
  ["a person was answered just now", { lastInteractionAt: 0 }, undefined, HOUR, "active"],
  ["a person was answered long ago", { lastInteractionAt: 0 }, undefined, 2 * HOUR + 1, "idle"],
  ["a long run is active", { lastInteractionAt: 0 }, "r", 9 * HOUR, "active"],
  ["only the system was answered", { systemSent: true }, undefined, 9 * HOUR, "active"],
])("%s: %j, run %s at %d: %s", (_, state, runId, now, expected) => {
  const agent = { descriptor: user, sessionKey: "k", state: { ...freshState(0), ...state }, runId } as never;
  expect(sessionPhaseOf(agent, { mode: "idle", idleMinutes: 120 }, now, "UTC")).toBe(expected);
});

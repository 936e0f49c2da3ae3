/** The session that a run of a job or of the heartbeat begins with: new, with the settings of the main conversation. */
import { describe, expect, test } from "vitest";
import type { AgentState } from "../../../core/agent/state.ts";
import { cronSessionFor, resolveCronSession } from "./cron-session.ts";

const INHERITED = {
  thinkingLevel: "high",
  verboseLevel: "on",
  reasoningLevel: "stream",
  providerOverride: "p",
  modelOverride: "m",
  authProfileOverride: "a",
  skillsSnapshot: { prompt: "s" },
  sendPolicy: "deny",
};

test("every setting comes from the main conversation, and nothing else of it", () => {
  const main = { ...INHERITED, lastHeartbeatText: "t", totalTokens: 9 } as unknown as AgentState;
  const { sessionEntry } = resolveCronSession({ state: {} as AgentState, main, nowMs: 5 });
  expect(sessionEntry).toMatchObject(INHERITED);
  expect([sessionEntry.lastHeartbeatText, sessionEntry.totalTokens]).toEqual([undefined, undefined]);
});

test("a setting that the main conversation does not have is not kept from an earlier run", () => {
  const { sessionEntry } = resolveCronSession({
    state: INHERITED as unknown as AgentState,
    main: { thinkingLevel: "low" } as AgentState,
    nowMs: 5,
  });
  expect(sessionEntry.thinkingLevel).toBe("low");
  for (const name of Object.keys(INHERITED).slice(1)) expect(sessionEntry).not.toHaveProperty(name);
});

describe("a run", () => {
  const trigger = { body: { kind: "trigger", trigger: { type: "cron", id: "j" } } };
  const words = { body: { kind: "user", text: "hi" } };
  const sessionOf = async (type: string, messages: readonly object[], job: object | undefined, mainKey?: string) => {
    const asked: string[] = [];
    const store = {
      job: async (id: string) => (id === "j" ? job : undefined),
      agentByKey: async (key: string) => {
        asked.push(key);
        return { state: { thinkingLevel: `of ${key}` } };
      },
    };
    const agent = { profile: "work", descriptor: { type }, state: {} };
    const state = await cronSessionFor(store as never, agent as never, messages as never, 5, mainKey);
    return state?.thinkingLevel ?? asked.length;
  };

  test.each([
    ["of a job, for a due time", "cron", [words, trigger], "of k"],
    ["of the heartbeat, for a tick", "heartbeat", [trigger], "of k"],
    ["of a conversation, for a due time", "user", [trigger], 0],
    ["of a job, for words", "cron", [trigger, words], 0],
    ["of a job, for nothing", "cron", [], 0],
  ])("%s has the session: %#", async (_what, type, messages, expected) => {
    expect(await sessionOf(type, messages, { sessionKey: "k" })).toBe(expected);
  });

  test("of a job without a conversation has the settings of the profile's main one, also if the job is gone", async () => {
    expect(await sessionOf("cron", [trigger], { agentId: "own" }, "home")).toBe("of agent:own:home");
    expect(await sessionOf("cron", [trigger], undefined, "home")).toBe("of agent:work:home");
    expect(await sessionOf("cron", [trigger], undefined)).toBe("of agent:work:main");
  });
});

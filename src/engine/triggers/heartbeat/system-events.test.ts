import { describe, expect, test } from "vitest";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { Message } from "../../../core/message/message.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { eventsText, unseenEvents } from "./system-events.ts";

const event = (seq: number, text: string, more: object = {}) =>
  ({ seq, acceptedAt: 0, body: { kind: "system", text, silent: true, origin: "cron:x", ...more } }) as Message;

/** The events that wait, with runs (newest first) by the messages they took, and messages (newest first). */
async function waiting(runs: readonly (readonly number[])[], messages: readonly Message[]) {
  const asked: unknown[] = [];
  const store = {
    runs: async (id: string, { limit }: { limit: number }) => {
      asked.push([id, limit]);
      return runs.map((seqs) => ({ body: { seqs } }));
    },
    messages: async (id: string, { limit }: { limit: number }) => {
      asked.push([id, limit]);
      return messages;
    },
  } as unknown as StoreReader;
  const seqs = (await unseenEvents(store, { id: "a" } as AgentRecord)).map(({ seq }) => seq);
  // Twenty runs and two hundred messages of this agent are looked at.
  expect(asked).toEqual([
    ["a", 20],
    ["a", 200],
  ]);
  return seqs;
}

test("events before the latest message that a run took are seen, also if a run without messages came after it", async () => {
  const messages = [event(6, "new"), event(3, "old")];
  expect(await waiting([[5]], messages)).toEqual([6]);
  // A memory flush is a run that takes no message.
  expect(await waiting([[], [5]], messages)).toEqual([6]);
  expect(await waiting([], messages)).toEqual([3, 6]);
  expect(await waiting([[1, 6], [2]], messages)).toEqual([]);
});

describe("an event waits for the heartbeat", () => {
  test.each([
    ["of a job", { origin: "cron:j" }, true],
    ["of the heartbeat", { origin: "heartbeat:main" }, true],
    ["of a webhook", { origin: "webhook:w" }, true],
    ["that names a trigger only inside", { origin: "my cron:j" }, false],
    ["of something else", { origin: "subagent:s" }, false],
    ["of no one", { origin: undefined }, false],
    ["that is not silent", { silent: undefined }, false],
    ["that is a person's", { kind: "user" }, false],
  ])("if it is one %s: %#", async (_what, more, isWaiting) => {
    expect(await waiting([], [event(1, "t", more)])).toEqual(isWaiting ? [1] : []);
  });

  test("once, if it says the same as the one before it", async () => {
    const messages = ["a", "b", "b", "a", "a"].map((text, n) => event(n + 1, text)).toReversed();
    expect(await waiting([], messages)).toEqual([1, 2, 4]);
  });

  test("unless twenty newer ones do", async () => {
    const messages = (count: number) => Array.from({ length: count }, (_none, n) => event(n + 1, `${n}`)).toReversed();
    expect(await waiting([], messages(20))).toHaveLength(20);
    expect(await waiting([], messages(21))).toEqual(Array.from({ length: 20 }, (_none, n) => n + 2));
  });
});

test("the text for the main agent has every event with its time in the zone, and what to do", () => {
  const at = Date.parse("2026-01-05T09:00:00Z");
  expect(
    eventsText(
      [
        { ...event(1, "one"), acceptedAt: at },
        { ...event(2, "two"), acceptedAt: at + 60_000 },
      ],
      "UTC",
    ),
  ).toBe(
    [
      "System: [2026-01-05 09:00:00 (UTC)] one",
      "System: [2026-01-05 09:01:00 (UTC)] two",
      "Handle these events now. If nothing needs attention, reply HEARTBEAT_OK.",
    ].join("\n"),
  );
});

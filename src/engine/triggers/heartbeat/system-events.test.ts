import { expect, test } from "vitest";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { Message } from "../../../core/message/message.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { unseenEvents } from "./system-events.ts";

const event = (seq: number, text: string) =>
  ({ seq, body: { kind: "system", text, silent: true, origin: "cron:x" } }) as Message;

/** A store that knows runs (newest first) by the messages they took, and messages (newest first). */
const storeOf = (runs: readonly (readonly number[])[], messages: readonly Message[]) =>
  ({
    runs: async () => runs.map((seqs) => ({ body: { seqs } })),
    messages: async () => messages,
  }) as unknown as StoreReader;

test("events before the latest message that a run took are seen, also if a run without messages came after it", async () => {
  const messages = [event(6, "new"), event(3, "old")];
  const main = { id: "a" } as AgentRecord;
  const texts = async (runs: readonly (readonly number[])[]) =>
    (await unseenEvents(storeOf(runs, messages), main)).map(({ seq }) => seq);
  expect(await texts([[5]])).toEqual([6]);
  // A memory flush is a run that takes no message.
  expect(await texts([[], [5]])).toEqual([6]);
  expect(await texts([])).toEqual([3, 6]);
});

/** What an actor reads and does for a run that waits for a person. Its recovery is a pause here. No engine. */
import { describe, expect, it, test } from "vitest";
import type { RunId } from "../../../core/ids.ts";
import type { Message, MessageBody } from "../../../core/message/message.ts";
import { messageTo, recordedLease } from "./lease.test-kit.ts";
import { wakeSuspended } from "./wake-suspended.ts";

const RUN = "r1" as RunId;
const decision = (runId: string, decided = "approved"): MessageBody =>
  ({ kind: "permission", runId, callId: "c", decision: decided }) as unknown as MessageBody;
const NOTE: MessageBody = { kind: "system", text: "psst", silent: true };
const USER: MessageBody = { kind: "user", text: "hi" };

interface World {
  readonly waiting?: readonly MessageBody[];
  readonly abort?: object;
  readonly stopped?: object;
}

function world({ waiting = [], abort, stopped }: World) {
  const happened: unknown[] = [];
  const reads: object[] = [];
  const messages: readonly Message[] = waiting.map((body, at) => messageTo(body, { seq: at + 1 }));
  const trial = { on: { node: 2 }, deaths: [], survived: 0 };
  const store = {
    waiting: async (_id: string, read: { limit: number; afterSeq?: number }) => {
      reads.push(read);
      return messages.filter(({ seq }) => seq > (read.afterSeq ?? 0)).slice(0, read.limit);
    },
    run: async () => ({ id: RUN, abort, attempt: 1, body: { node: 3, suspended: true, trial, calls: [] } }),
  };
  const { lease, ports } = recordedLease({ record: { stopped }, ports: { store } });
  const host = {
    ports,
    // Nothing is known of the node on which the run was tried: recovery waits.
    ...{ fates: { read: async () => () => "silent", lookMs: 7 }, trials: { leave: () => {} } },
    emit: (event: unknown) => void happened.push(event),
  };
  const parts = {
    host,
    discards: false,
    faulted: false,
    pause: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      happened.push("recovered");
    },
    driver: { enter: async () => Promise.reject(new TypeError("resumed")) },
  };
  return { wake: () => wakeSuspended(parts as never, lease, RUN), happened, reads };
}
const settled = (...seqs: number[]) => ({
  type: "settled",
  messages: seqs.map((seq) => ({ agentId: "a1", seq })),
});

describe("a run that waits for a person", () => {
  test.each<[string, World, object]>([
    ["nothing waits", {}, { act: "wait" }],
    ["only a silent note waits", { waiting: [NOTE] }, { act: "wait" }],
    [
      "a command waits",
      { waiting: [{ kind: "setting", patch: {} }] },
      { act: "settle", message: { seq: 1 }, reason: "settings changed" },
    ],
  ])("is left alone if %s", async (_title, given, expected) => {
    const { wake, happened } = world(given);
    expect(await wake()).toMatchObject(expected);
    expect(happened).toEqual([]);
  });

  test.each<[string, World, readonly number[]]>([
    ["its decision came", { waiting: [decision("r1")] }, [1]],
    ["all of its decisions came", { waiting: [decision("r1"), NOTE, decision("r1")] }, [1, 3]],
    ["a message needs the agent's turn", { waiting: [USER] }, []],
  ])("is recovered, and then its decisions are told, if %s", async (_title, given, seqs) => {
    const { wake, happened } = world(given);
    expect(await wake()).toBe("woken");
    expect(happened).toEqual(["recovered", settled(...seqs)]);
  });

  test.each<[string, World]>([
    ["a mark", { abort: { reason: "person" } }],
    ["a mark, with a command that waits", { abort: { reason: "person" }, waiting: [{ kind: "setting", patch: {} }] }],
    ["a stop of its agent", { stopped: { at: 1, reason: "enough" } }],
  ])("is resumed to end by %s", async (_title, given) => {
    await expect(world(given).wake()).rejects.toThrow("resumed");
  });

  it("finds its decision behind any number of silent notes, in pages", async () => {
    const many = (count: number): readonly MessageBody[] => Array.from({ length: count }, () => NOTE);
    const { wake, reads, happened } = world({ waiting: [...many(512), decision("r1")] });
    expect(await wake()).toBe("woken");
    expect(reads).toEqual([{ limit: 256 }, { limit: 256, afterSeq: 256 }, { limit: 256, afterSeq: 512 }]);
    expect(happened.at(-1)).toEqual(settled(513));
    const exact = world({ waiting: many(256) });
    expect(await exact.wake()).toEqual({ act: "wait" });
    expect(exact.reads).toHaveLength(2);
    const short = world({ waiting: many(255) });
    await short.wake();
    expect(short.reads).toHaveLength(1);
  });
});

/** What becomes of the inbox of an agent under a stop: which messages are settled, how, and when the agent starts again. */
import { describe, expect, it, test } from "vitest";
import type { StopMark } from "../../../core/agent/agent.ts";
import type { MessageBody } from "../../../core/message/message.ts";
import { drainStoppedInbox, removeForGood } from "./drain-stopped-inbox.ts";
import { messageTo, recordedLease } from "./lease.test-kit.ts";

const USER: MessageBody = { kind: "user", text: "hi" };
const NOTE: MessageBody = { kind: "system", text: "psst", silent: true };
const LOUD: MessageBody = { kind: "system", text: "tick" };
const REPORT = { kind: "report", text: "done" } as unknown as MessageBody;
const STOP: MessageBody = { kind: "stop" };
const SETTING: MessageBody = { kind: "setting", patch: {} };

interface World {
  /** Of the agent and of its parent. */
  readonly mark?: StopMark;
  readonly parentMark?: StopMark;
  readonly subagent?: boolean;
  readonly gone?: boolean;
  readonly waiting?: readonly MessageBody[];
}

function world({ mark, parentMark, subagent, gone, waiting = [] }: World) {
  const limits: number[] = [];
  const record = { descriptor: subagent ? { type: "subagent", parentAgentId: "p1" } : { type: "user" }, stopped: mark };
  const store = {
    agent: async (id: string) =>
      gone ? undefined : id === "a1" ? made.lease.record : { id, descriptor: { type: "user" }, stopped: parentMark },
    waiting: async (_id: string, { limit }: { limit: number }) => {
      limits.push(limit);
      return waiting.map((body, at) => messageTo(body, { seq: at + 1 }));
    },
  };
  const made = recordedLease({ record, ports: { store } });
  return { ...made, limits };
}
const stopped = (more: Partial<StopMark> = {}): StopMark => ({ at: 1, reason: "enough", ...more });

/** The messages have the sequences 1, 2, …; the stop came before the one with its own. */
test.each<[string, World, string, readonly string[], readonly string[]]>([
  ["no stop", { waiting: [USER] }, "free", [], []],
  ["an empty inbox", { mark: stopped({ seq: 1 }) }, "quiet", [], []],
  ["only commands", { mark: stopped({ seq: 9 }), waiting: [SETTING, STOP] }, "quiet", [], []],
  [
    "a message before the stop",
    { mark: stopped({ seq: 2 }), waiting: [USER] },
    "settled",
    ["wind-down"],
    ["1 aborted"],
  ],
  ["a message of a person after it", { mark: stopped({ seq: 1 }), waiting: [USER] }, "free", ["start-again"], []],
  ["a stop of an earlier version, which names none", { mark: stopped(), waiting: [USER] }, "free", ["start-again"], []],
  [
    "a person before it and another message after",
    { mark: stopped({ seq: 2 }), waiting: [USER, LOUD] },
    "settled",
    ["wind-down"],
    ["1 aborted", "2 aborted"],
  ],
  ["one report", { mark: stopped({ seq: 9 }), waiting: [LOUD, REPORT] }, "settled", ["record"], ["2 recorded"]],
  ["an agent that is gone", { gone: true, waiting: [USER] }, "free", [], []],
  [
    "one before and one after: first the one before",
    { mark: stopped({ seq: 2 }), waiting: [LOUD, USER] },
    ...(["settled", ["wind-down"], ["1 aborted"]] as const),
  ],
  ["no person after it", { mark: stopped({ seq: 1 }), waiting: [LOUD] }, "settled", ["wind-down"], ["1 aborted"]],
  [
    "a compaction, a trigger and a decision",
    {
      mark: stopped({ seq: 9 }),
      waiting: [
        { kind: "compact" },
        { kind: "trigger", trigger: { type: "job" } },
        { kind: "permission" },
      ] as unknown as MessageBody[],
    },
    ...(["settled", ["wind-down"], ["1 aborted", "2 aborted", "3 aborted"]] as const),
  ],
  [
    "reports and silent notes, which are kept before the rest ends",
    { mark: stopped({ seq: 9 }), waiting: [LOUD, REPORT, NOTE] },
    ...(["settled", ["record"], ["2 recorded", "3 recorded"]] as const),
  ],
  [
    "a subagent, which never starts again",
    { subagent: true, mark: stopped({ seq: 1 }), waiting: [USER] },
    ...(["settled", ["wind-down"], ["1 aborted"]] as const),
  ],
  [
    "a stopped parent",
    { subagent: true, parentMark: stopped({ seq: 1 }), waiting: [USER] },
    ...(["settled", ["wind-down"], ["1 aborted"]] as const),
  ],
  [
    "a parent that is being removed: its child is only stopped",
    { subagent: true, parentMark: stopped({ removing: true }), waiting: [USER, SETTING] },
    ...(["settled", ["wind-down"], ["1 aborted"]] as const),
  ],
  [
    "an agent that was removed",
    { mark: stopped({ seq: 1, removed: true }), waiting: [USER] },
    ...(["settled", ["wind-down"], ["1 aborted"]] as const),
  ],
  [
    "a removal with messages: all but the stops end",
    { mark: stopped({ removing: true }), waiting: [USER, STOP, SETTING, NOTE] },
    ...(["settled", ["wind-up"], ["1 removed", "3 removed", "4 removed"]] as const),
  ],
  ["a removal with stops only", { mark: stopped({ removing: true }), waiting: [STOP, STOP] }, "removing", [], []],
])("%s", async (_title, given, is, sites, settlements) => {
  const { ports, lease, commits, limits, settled } = world(given);
  const result = await drainStoppedInbox(ports, lease);
  expect(result.is).toBe(is);
  expect(commits.map(({ site }) => site)).toEqual(sites);
  expect(settled().map(({ seq, state }) => `${seq} ${state}`)).toEqual(settlements);
  if (result.is === "settled") expect(result.messages.map(({ seq }) => seq)).toEqual(settled().map(({ seq }) => seq));
  if (result.is === "removing") expect(result).toMatchObject({ reason: "enough", stops: [{ seq: 1 }, { seq: 2 }] });
  expect(limits).toEqual(given.mark || given.parentMark ? [256] : []);
});

describe("the trace of a stop", () => {
  test.each<[string, World, string]>([
    ["its own", { mark: stopped({ seq: 9 }), waiting: [USER] }, "agent a1 was stopped: enough"],
    ["its own, for what is kept", { mark: stopped({ seq: 9 }), waiting: [REPORT] }, "agent a1 was stopped: enough"],
    ["its parent's", { subagent: true, parentMark: stopped(), waiting: [USER] }, "agent p1 was stopped: enough"],
    ["a removal's", { mark: stopped({ removing: true }), waiting: [USER] }, "agent a1 was enough"],
  ])("names the agent and the reason: %s", async (_title, given, reason) => {
    const { ports, lease, settled } = world(given);
    await drainStoppedInbox(ports, lease);
    expect(settled()).toEqual([expect.objectContaining({ seq: 1, from: "waiting", reason })]);
  });

  it("is taken back only if it is still the same stop", async () => {
    const { ports, lease, commits } = world({ mark: stopped({ seq: 1 }), waiting: [USER] });
    await drainStoppedInbox(ports, lease);
    expect(commits[0]?.ops).toEqual([{ op: "agent.stop", agentId: "a1", mark: null, ifSeq: 1 }]);
  });
});

describe("the last commit of an agent", () => {
  it("settles its stops and removes it with its history kept, and only then the agent is released", async () => {
    const { lease, commits } = world({});
    const removed = removeForGood(lease, [messageTo(STOP), messageTo(STOP, { seq: 6 })], "removed by ann");
    expect(lease.released).toBe(false);
    await removed;
    expect(lease.released).toBe(true);
    const stop = { from: "waiting", state: "recorded", reason: "removed by ann" };
    expect(commits).toEqual([
      {
        site: "remove",
        ops: [
          {
            op: "message.settle",
            settlements: [
              { seq: 4, ...stop },
              { seq: 6, ...stop },
            ],
          },
          { op: "agent.remove", agentId: "a1", reason: "removed by ann", keep: true },
        ],
      },
    ]);
  });
});

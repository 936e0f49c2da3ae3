/** What an actor does next, each choice for itself: what it calls, commits and says, in this order. No engine. */
import { describe, expect, it, test } from "vitest";
import { entryLine } from "../../../core/history/entry.ts";
import type { Message, MessageBody } from "../../../core/message/message.ts";
import { CommitRefused } from "../../commit/commit-refused.ts";
import type { Choice } from "../../inbox/decide.ts";
import type { Committing } from "../../runtime/agent-lease.ts";
import { messageTo, NOW, recordedLease } from "./lease.test-kit.ts";
import { nextAction } from "./next-action.ts";

const USER: MessageBody = { kind: "user", text: "hi" };
const NOTE: MessageBody = { kind: "system", text: "psst", silent: true };
const STOPPED = { at: 1, reason: "enough", seq: 9 };
const message = (body: MessageBody = USER, more: Partial<Message> = {}): Message => messageTo(body, more);
const runOf = (...bodies: MessageBody[]): Choice => ({
  ...{ act: "run", collected: false, dropped: [], summarize: [], cap: 1 },
  messages: bodies.map((body, at) => message(body, { seq: 4 + at })),
});
const settling = (body: object): Choice => ({ act: "settle", message: message(body as MessageBody), reason: "why" });

interface Given {
  readonly choice?: Choice;
  readonly messages?: readonly Message[];
  /** What the store has: the agent's stop, and what waits. */
  readonly storedStop?: object;
  readonly waiting?: readonly MessageBody[];
  readonly record?: object;
  readonly lease?: object;
  readonly parts?: object;
  readonly host?: object;
  /** Whether a context is due for a flush, and whether a summary is ready. */
  readonly flush?: boolean;
  readonly appends?: boolean;
  /** Whether the store lets the agent go. */
  readonly released?: boolean;
  readonly refused?: CommitRefused;
  /** The run of the lease, as the store has it. */
  readonly run?: object;
}

function world(given: Given = {}) {
  const happened: string[] = [];
  const isStaleAsked: unknown[] = [];
  const said = (what: string): void => void happened.push(what);
  const commit = async ({ site, ops }: Committing) => {
    await new Promise((resolve) => setImmediate(resolve));
    said(site);
    if (given.refused) throw given.refused;
    const { released = true } = given;
    return { ok: true, results: ops.map(({ op }) => (op === "agent.release" ? { op, released } : undefined)) };
  };
  const entries = ["m0", "e0", "e1"].map((id, at) => ({
    ...{ id, parentId: at === 0 ? null : `e${at - 2}`, timestamp: 1 },
    ...(at === 0 ? { type: "start", sessionId: "s1" } : { type: "message", role: "user", content: [] }),
  }));
  const store = {
    agent: async (id: string) => (id === "a1" ? { ...lease.record, stopped: given.storedStop } : undefined),
    waiting: async (id: string) =>
      id === "a1" ? (given.waiting ?? []).map((body, at) => message(body, { seq: at + 1 })) : [],
    run: async (id: string) => (id === "r1" ? given.run : undefined),
    runs: async () => [],
    linesBack: async () => entries.map((entry, position) => ({ position, line: entryLine(entry as never) })).reverse(),
  };
  const recorded = recordedLease({
    record: given.record,
    lease: { commit, context: { size: undefined }, ...given.lease },
    ports: { store },
  });
  const { lease } = recorded;
  const parts = {
    host: {
      // Nothing is known of another node: recovery of a run that was tried there waits.
      ...{ fates: { read: async () => () => "silent", lookMs: 7 }, trials: { leave: () => {} } },
      ...{ ports: recorded.ports, startedAt: 1_000, draining: () => false, elsewhere: async () => undefined },
      isStale: (...all: unknown[]) => {
        isStaleAsked.push(all);
        return false;
      },
      emit: ({ type, messages }: { type: string; messages: readonly { seq: number }[] }) =>
        said(`${type} ${messages.map(({ seq }) => seq)}`),
      ...given.host,
    },
    inbox: {
      known: (waits: unknown) => said(`known ${waits}`),
      choose: async (_lease: unknown, busyUntil: unknown) => {
        said(`choose ${busyUntil}`);
        const messages = given.messages ?? [message()];
        return { choice: given.choice ?? { act: "rest" }, messages, seen: 9, now: NOW };
      },
      overtaken: async () => false,
    },
    driver: {
      busyUntil: 77,
      background: { append: async () => given.appends ?? false, stop: () => said("no summary") },
      flush: async () => {
        said("flush?");
        return given.flush ?? false;
      },
      take: async (_lease: unknown, choice: unknown, seen: number) => {
        said(`take ${seen}`);
        return choice === given.choice ? "again" : undefined;
      },
    },
    ...{ stopped: false, discards: false, faulted: true, wake: () => {} },
    pause: async (ms: number) => {
      await new Promise((resolve) => setImmediate(resolve));
      said(`pause ${ms}`);
    },
    ...given.parts,
  };
  const next = () => nextAction(parts as never, lease);
  return {
    next,
    happened,
    parts: parts as { stopped: boolean; discards: boolean; faulted: boolean },
    lease,
    isStaleAsked,
  };
}

/** What follows `choose`. */
test.each<[string, Given, string, readonly string[]]>([
  ["rest: it is released", { lease: { context: { size: undefined } } }, "rest", ["release"]],
  ["rest: not if a message came", { released: false }, "reload", ["release"]],
  ["rest: a context in memory may need a flush", { lease: { context: { size: 5 } } }, "rest", ["flush?", "release"]],
  ["rest: the flush is a run", { lease: { context: { size: 5 } }, flush: true }, "again", ["flush?"]],
  [
    "reset",
    { choice: { act: "reset", message: message({ kind: "reset", by: "person" }) } },
    "again",
    ["no summary", "reset", "settled 4"],
  ],
  [
    "record",
    { choice: { act: "record", messages: [message(NOTE), message(NOTE, { seq: 5 })] } },
    "again",
    ["record", "settled 4,5"],
  ],
  ["stop", { choice: { act: "stop", message: message({ kind: "stop" }) } }, "again", ["stop", "settled 4"]],
  [
    "stop before a removal",
    { choice: { act: "stop", message: message({ kind: "stop" }) }, storedStop: { removing: true } },
    "again",
    [],
  ],
  ["setting", { choice: settling({ kind: "setting", patch: {} }) }, "again", ["setting", "settled 4"]],
  [
    "description",
    { choice: settling({ kind: "describe", by: "a", description: "d", systemPrompt: "p" }) },
    "again",
    ["describe", "settled 4"],
  ],
  [
    "question about children",
    { choice: settling({ kind: "subagents", command: "list" }) },
    "again",
    ["subagents", "settled 4"],
  ],
  ["command", { choice: settling({ kind: "command", name: "status", text: "" }) }, "again", ["command", "settled 4"]],
  [
    "way back",
    { choice: settling({ kind: "branch", entryId: "e0" }) },
    "reload",
    ["no summary", "branch", "settled 4"],
  ],
  ["anything else", { choice: settling({ kind: "restore" }) }, "again", ["settle", "settled 4"]],
  ["run", { choice: runOf(USER) }, "again", ["flush?", "take 9"]],
  ["run: a flush goes first", { choice: runOf(USER), flush: true }, "again", ["flush?"]],
  ["compaction: no flush before it", { choice: runOf({ kind: "compact" }), flush: true }, "again", ["take 9"]],
  [
    "run of another node",
    { choice: runOf(USER), host: { elsewhere: async () => 8 } },
    "reload",
    ["hand", "no summary"],
  ],
  [
    "run of another node that has just ended",
    { choice: runOf(USER), host: { elsewhere: async () => 8 }, refused: new CommitRefused("missing", "gone") },
    ...(["again", ["hand", "flush?", "take 9"]] as const),
  ],
  ["run at the tip", { choice: runOf({ ...USER, after: "e1" } as MessageBody) }, "again", ["flush?", "take 9"]],
  [
    "run at an earlier entry",
    { choice: runOf({ ...USER, after: "e0" } as MessageBody) },
    "reload",
    ["branch.follow", "no summary"],
  ],
  [
    "run at an entry that is gone",
    { choice: runOf({ ...USER, after: "x" } as MessageBody) },
    "reload",
    ["branch.gone", "no summary", "settled 4"],
  ],
  [
    "run of several: the last one says where",
    { choice: runOf({ ...USER, after: "e1" } as MessageBody, { ...USER, after: "e0" } as MessageBody, USER) },
    ...(["reload", ["branch.follow", "no summary"]] as const),
  ],
  [
    "run in a stale session",
    { choice: runOf(USER), host: { isStale: () => true }, record: { state: { lastInteractionAt: 3 } } },
    ...(["again", ["no summary", "reset.stale"]] as const),
  ],
])("%s", async (_title, given, next, expected) => {
  const one = world(given);
  expect(await one.next()).toBe(next);
  expect(one.happened).toEqual(["choose 77", ...expected]);
  expect([one.lease.released, one.parts.faulted]).toEqual([expected.at(-1) === "release" && next === "rest", false]);
  if (given.storedStop) expect(one.parts.stopped).toBe(true);
});

describe("a session", () => {
  const state = { lastInteractionAt: 3 };
  test.each<[string, Given, number]>([
    ["a message of a person", { choice: runOf(NOTE, USER), record: { state } }, 1],
    ["no message of a person", { choice: runOf({ kind: "system", text: "tick" }), record: { state } }, 0],
    [
      "a message that continues an entry",
      { choice: runOf(USER, { ...USER, after: "e1" } as MessageBody), record: { state } },
      0,
    ],
    ["a first message", { choice: runOf(USER) }, 0],
  ])("may be stale before %s", async (_title, given, asked) => {
    const one = world(given);
    await one.next();
    const agent = expect.objectContaining({ id: "a1", state });
    expect(one.isStaleAsked).toEqual(Array.from({ length: asked }, () => [agent, 3, NOW]));
    expect(one.happened).toContain("take 9");
  });
});

test.each<CommitRefused["refused"]>(["fenced", "conflict"])(
  "a hand-over that is refused as %s is an error",
  async (why) => {
    const refused = new CommitRefused(why, "no");
    const one = world({ choice: runOf(USER), host: { elsewhere: async () => 8 }, refused });
    await expect(one.next()).rejects.toThrow("no");
    expect(one.happened).toEqual(["choose 77", "hand"]);
  },
);

it("appends a finished summary before it chooses", async () => {
  const one = world({ appends: true });
  expect([await one.next(), one.happened]).toEqual(["again", []]);
});

describe("an agent under a stop", () => {
  const marked = { record: { stopped: STOPPED }, storedStop: STOPPED };
  test.each<[string, Given, string, readonly string[], boolean]>([
    ["settles what waits", { ...marked, waiting: [USER] }, "again", ["wind-down", "settled 1"], false],
    ["rests if nothing waits", marked, "rest", ["choose 77", "release"], false],
    ["was started again: it is read again", { ...marked, storedStop: undefined }, "reload", [], false],
    [
      "settles for a commit that was refused",
      { parts: { stopped: true }, storedStop: STOPPED, waiting: [USER] },
      "again",
      ["wind-down", "settled 1"],
      true,
    ],
    ["goes on if that stop is gone", { parts: { stopped: true } }, "rest", ["choose 77", "release"], false],
    [
      "is removed with its last stop, and only then that is told",
      { ...marked, storedStop: { ...STOPPED, removing: true }, waiting: [{ kind: "stop" }] },
      ...(["rest", ["remove", "settled 1"], false] as const),
    ],
  ])("%s", async (_title, given, next, expected, stays) => {
    const one = world(given);
    expect(await one.next()).toBe(next);
    // What was known to wait may be settled by then.
    expect(one.happened).toEqual(["known undefined", ...expected]);
    expect(one.parts.stopped).toBe(stays);
  });

  it("without one its inbox is not drained, and what is known to wait stays known", async () => {
    const one = world({ storedStop: STOPPED, waiting: [USER] });
    await one.next();
    expect(one.happened).toEqual(["choose 77", "release"]);
  });
});

describe("a process that gives up what it found", () => {
  const parts = { discards: true };
  it("settles what waited before its start, and looks again", async () => {
    const one = world({ parts, messages: [message(USER, { acceptedAt: 999 }), message(USER, { acceptedAt: 1_000 })] });
    expect(await one.next()).toBe("again");
    expect(one.happened).toEqual(["choose 77", "discard", "settled 4"]);
    expect(one.parts.discards).toBe(true);
  });

  it("gives up nothing more once there is nothing of that kind", async () => {
    const one = world({ parts, messages: [message(USER, { acceptedAt: 1_000 })] });
    expect(await one.next()).toBe("rest");
    expect(one.parts.discards).toBe(false);
  });
});

describe("an agent whose run waits for a person", () => {
  const lease = { runId: "r1", suspended: true };
  test.each<[string, Given, string, readonly string[]]>([
    ["is released", { lease }, "rest", ["release"]],
    [
      "is held and rests if only silent notes wait",
      { lease, released: false, waiting: [NOTE, NOTE] },
      "rest",
      ["release"],
    ],
    ["carries out a command", { lease, waiting: [{ kind: "setting", patch: {} }] }, "again", ["setting", "settled 1"]],
  ])("%s", async (_title, given, next, expected) => {
    const one = world(given);
    expect(await one.next()).toBe(next);
    expect(one.happened).toEqual(["known undefined", ...expected]);
  });

  it("is read again if a message came while it was being released", async () => {
    let reads = 0;
    const one = world({ lease, released: false });
    const { store } = (one.parts as unknown as { host: { ports: { store: { waiting: unknown } } } }).host.ports;
    const limits: number[] = [];
    store.waiting = async (_id: string, { limit }: { limit: number }) => {
      limits.push(limit);
      return reads++ === 0 ? [] : [message(NOTE), message(USER)];
    };
    expect([await one.next(), limits]).toEqual(["reload", [256, 256]]);
  });
});

describe("a run without an end", () => {
  const trial = { on: { node: 2 }, deaths: [], survived: 0 };
  const run = { id: "r1", attempt: 1, body: { node: 1, trial, calls: [] } };
  test.each<[string, Given, string, readonly string[]]>([
    ["is recovered before anything else", { lease: { runId: "r1" }, run }, "again", ["pause 7"]],
    ["rests if its end released the agent", { lease: { runId: "r1", released: true }, run }, "rest", ["pause 7"]],
    [
      "is recovered if a person's decision woke it",
      {
        ...{ lease: { runId: "r1", suspended: true }, run: { ...run, body: { ...run.body, suspended: true } } },
        waiting: [{ kind: "permission", runId: "r1" } as unknown as MessageBody],
      },
      ...(["again", ["pause 7", "settled 1"]] as const),
    ],
  ])("%s", async (_title, given, next, expected) => {
    const one = world({ ...given, parts: { faulted: false } });
    expect(await one.next()).toBe(next);
    expect(one.happened).toEqual(["known undefined", ...expected]);
  });

  it("that does not exist is an error", async () => {
    await expect(world({ lease: { runId: "r1" } }).next()).rejects.toThrow("which does not exist");
  });
});

describe("a wait for more messages", () => {
  /** Each pause takes as long as the test says. */
  async function waits(
    until: number,
    pauses: readonly number[],
    more: { overtaken?: boolean; draining?: boolean } = {},
  ) {
    let now = NOW;
    const asked: number[] = [];
    const one = world({
      choice: { act: "wait", until },
      host: { draining: () => more.draining ?? false },
      parts: {
        pause: async (ms: number) => {
          now += pauses[asked.length] ?? ms;
          await new Promise((resolve) => setImmediate(resolve));
          asked.push(ms);
        },
      },
    });
    const { host, inbox } = one.parts as never as { host: { ports: { clock: object } }; inbox: object };
    Object.assign(host.ports.clock, { now: () => now });
    Object.assign(inbox, { overtaken: async () => more.overtaken ?? false });
    return [await one.next(), asked];
  }

  test.each<[string, number, readonly number[], object, readonly number[]]>([
    ["lasts until its end", NOW + 50, [], {}, [50]],
    ["lasts a millisecond too", NOW + 1, [], {}, [1]],
    ["does not begin if its end has come", NOW, [], {}, []],
    ["goes on if it was woken before", NOW + 50, [20, 10], {}, [50, 30, 20]],
    ["ends early for an urgent message", NOW + 50, [20], { overtaken: true }, [50]],
    ["ends early for a drain", NOW + 50, [20], { draining: true }, [50]],
  ])("%s", async (_title, until, pauses, more, asked) => {
    expect(await waits(until, pauses, more)).toEqual(["again", asked]);
  });
});

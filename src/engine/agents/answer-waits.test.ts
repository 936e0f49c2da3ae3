/** Waits for the end of messages, over a store, an ingress and actors made of records: when they look, wait and give up. */
import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { type LogLine, recordingLog } from "../../../test/kit/log.ts";
import { CommitUnknownError, NotFoundError, StoreUnavailableError } from "../../core/errors.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Change } from "../../core/store/change.ts";
import { Answers, type Waiting } from "./answers.ts";
import type { Asking, PostRequest } from "./message-ingress.ts";

const BO = "b".repeat(24) as AgentId;
const ANN = "a".repeat(24) as AgentId;
const RESULT = { outcome: "ok", payloads: [{ text: "yes" }] } as never;
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
};

interface Given {
  /** What each attempt to post leads to; the last one from then on. */
  readonly posts?: readonly (Error | object)[];
  /** The message as the store has it; it may change. */
  readonly message?: object;
  /** Whether Bo's agent is in memory here. */
  readonly isHere?: boolean;
  /** Whether Ann's agent has a run, and who that commits as. */
  readonly run?: boolean;
  readonly owner?: object;
  readonly remote?: boolean;
  /** To whom the address leads. */
  readonly leadsTo?: object;
  readonly refused?: boolean;
}

function world(given: Given = {}) {
  const clock = virtualClock();
  const log: LogLine[] = [];
  const commits: Change[] = [];
  const asked: (Asking & { began: readonly object[]; at: number })[] = [];
  const reads: number[] = [];
  const outside: string[] = [];
  const state: {
    message: object | undefined;
    isHere: boolean;
    fails?: boolean;
    commitFails?: boolean;
    onRead?: () => void;
  } = {
    message: given.message,
    isHere: given.isHere ?? true,
  };
  const nudges: (() => void)[] = [];
  let stopped = 0;
  const store = {
    message: async () => {
      reads.push(clock.monotonic());
      if (state.fails) throw new TypeError("away");
      state.onRead?.();
      return state.message;
    },
    run: async (id: string) =>
      id === "r9" ? { id, agentId: BO, outcome: "ok", body: { seqs: [], calls: [] }, startedAt: 1 } : undefined,
    linesBack: async () => [],
    commit: async (change: Change) => {
      if (state.commitFails) throw new TypeError("away");
      await new Promise((resolve) => setImmediate(resolve));
      commits.push(change);
      return given.refused ? { ok: false, refused: "cycle", detail: "a cycle" } : { ok: true, results: [] };
    },
    outcome: async () => undefined,
  };
  const ingress = {
    post: async (_request: PostRequest, asking: Asking) => {
      const began = asking.begin((given.leadsTo ?? { agentId: BO }) as never);
      const posts = given.posts ?? [{}];
      const next = posts[Math.min(asked.length, posts.length - 1)];
      asked.push({ ...asking, began, at: clock.monotonic() });
      if (next instanceof Error) throw next;
      return { status: "accepted", agentId: BO, seq: 7, ...next };
    },
  };
  const waiter = {
    ...{ run: given.run ? { id: "r1", body: { behalf: "whose" } } : undefined, asOwner: given.owner },
    outsideLane: async (wait: Promise<unknown>) => {
      outside.push("out");
      try {
        return await wait;
      } finally {
        outside.push("in");
      }
    },
  };
  const actors = {
    get: (id: AgentId) => (id === ANN ? waiter : id === BO && state.isHere ? {} : undefined),
  };
  const remote = {
    awaitEnd: (agentId: AgentId, ended: () => void) => {
      if (agentId === BO) nudges.push(ended);
      return () => void stopped++;
    },
  };
  const ports = { store, clock, ids: seededIds("answers"), log: recordingLog(log) };
  const answers = new Answers(ports as never, ingress as never, actors as never, given.remote ? remote : undefined);
  /** The end of the wait as text, once there is one. */
  const ask = (options?: Waiting, request: object = {}) => {
    const end: { is?: unknown; commits?: number } = {};
    const waits = answers.postAndAwait({ to: { agentId: BO }, body: {}, ...request } as never, options);
    waits.then(
      (answer) => {
        Object.assign(end, { is: answer, commits: commits.length });
      },
      (error: Error) => {
        end.is = error.message;
      },
    );
    return end;
  };
  const answered = (): void => answers.settle({ agentId: BO, seq: 7 }, RESULT);
  return { answers, ask, answered, clock, log, commits, asked, reads, outside, state, nudges, stopped: () => stopped };
}
const ended = { state: "recorded", reason: "reset" };

describe("an answer", () => {
  it("comes from the run that ends here, and nothing is read for it", async () => {
    const { ask, answered, reads, clock } = world();
    const end = ask();
    await settle();
    expect(end.is).toBeUndefined();
    answered();
    await clock.advance(5_000, settle);
    expect([end.is, reads]).toEqual([{ result: RESULT }, []]);
  });

  test.each<[string, object | undefined, unknown]>([
    ["of the run that took the message", { state: "answered", runId: "r9" }, { result: { outcome: "ok" } }],
    ["of no run", { state: "recorded", reason: "reset" }, { result: undefined, ended }],
    [
      "of a run that was pruned",
      { state: "answered", runId: "r0" },
      { result: undefined, ended: { state: "answered" } },
    ],
    ["of a message that was pruned", undefined, { result: undefined }],
  ])("is read from the store if the message was settled without one: %s", async (_title, message, expected) => {
    const { ask, answers, state } = world({ message: { state: "waiting" } });
    const end = ask();
    await settle();
    state.message = message;
    answers.settle({ agentId: BO, seq: 7 }, undefined);
    await settle();
    expect(end.is).toMatchObject(expected as object);
  });

  it("of another message is not this one", async () => {
    const { ask, answers } = world();
    const end = ask();
    await settle();
    answers.settle({ agentId: BO, seq: 8 }, RESULT);
    answers.settle({ agentId: ANN, seq: 7 }, RESULT);
    await settle();
    expect(end.is).toBeUndefined();
  });
});

describe("a message that was posted before", () => {
  const posts = [{ status: "duplicate" }];
  it("is answered at once if it has ended", async () => {
    const { ask, reads } = world({ posts, message: { state: "answered", runId: "r9" } });
    const end = ask();
    await settle();
    expect(end.is).toMatchObject({ result: { outcome: "ok" } });
    expect(reads).toEqual([0]);
  });

  test.each<[string, Waiting, number]>([
    ["from its acceptance, if the caller says so", { timeoutMs: 1_000, sinceAccepted: true }, 400],
    ["from now otherwise", { timeoutMs: 1_000 }, 1_000],
    ["not less than no time", { timeoutMs: 100, sinceAccepted: true }, 0],
  ])("is waited for %s", async (_title, options, left) => {
    const { ask, clock, state } = world({ posts });
    state.message = { state: "waiting", acceptedAt: clock.now() - 600 };
    const end = ask(options);
    await clock.advance(Math.max(0, left - 1), settle);
    if (left > 0) expect(end.is).toBeUndefined();
    await clock.advance(1, settle);
    expect(end.is).toBe(`No answer within ${left} ms.`);
  });

  it("counts from now if it is new, whatever the caller says", async () => {
    const { ask, clock } = world();
    const end = ask({ timeoutMs: 1_000, sinceAccepted: true });
    await clock.advance(999, settle);
    expect(end.is).toBeUndefined();
  });
});

it("is waited for half a minute, unless the caller says how long", async () => {
  const { ask, clock, state } = world();
  state.message = { state: "waiting" };
  const end = ask();
  await clock.advance(29_999, settle);
  expect(end.is).toBeUndefined();
  await clock.advance(1, settle);
  expect(end.is).toBe("No answer within 30000 ms.");
});

it("has an error for a message that is too old to be accepted", async () => {
  const { ask } = world({ posts: [{ status: "stale" }] });
  const end = ask();
  await settle();
  expect(end.is).toMatch("older than its channel may deliver");
});

describe("a look at the store", () => {
  const message = { state: "waiting" };
  test.each<[string, Given, readonly number[]]>([
    ["waits a second if the message is new and its agent is here", { message }, [1_000, 2_000]],
    ["is made at once if its agent is elsewhere", { message, isHere: false }, [0, 1_000, 2_000]],
    // The first read tells whether it has ended already.
    [
      "is made at once for a message posted before",
      { message, posts: [{ status: "duplicate" }] },
      [0, 0, 1_000, 2_000],
    ],
  ])("%s", async (_title, given, times) => {
    const { ask, clock, reads } = world(given);
    ask();
    await clock.advance(2_000, settle);
    expect(reads).toEqual(times);
  });

  it("finds the end on another node, then there are no more", async () => {
    const { ask, clock, reads, state } = world({ message, isHere: false });
    const end = ask();
    await clock.advance(1_500, settle);
    state.message = { state: "answered", runId: "r9" };
    await clock.advance(5_000, settle);
    expect(end.is).toMatchObject({ result: { outcome: "ok" } });
    expect(reads).toEqual([0, 1_000, 2_000]);
    expect(clock.timers).toBe(0);
  });

  it("that fails is made again, and is logged", async () => {
    const { ask, clock, state, log } = world({ message, isHere: false });
    state.fails = true;
    const end = ask();
    await clock.advance(1_500, settle);
    expect(log.map(({ message: text }) => text)).toEqual(["could not read a message", "could not read a message"]);
    Object.assign(state, { fails: false, message: { ...ended } });
    await clock.advance(1_000, settle);
    expect(end.is).toEqual({ result: undefined, ended });
  });

  it("is made when another node says that a run has ended, again each time", async () => {
    const { ask, clock, reads, state, nudges, stopped } = world({ message, isHere: false, remote: true });
    const end = ask();
    await clock.advance(100, settle);
    expect([nudges.length, reads]).toEqual([1, [0]]);
    for (const at of [100, 200]) {
      nudges[0]?.();
      await clock.advance(100, settle);
      expect(reads.at(-1)).toBe(at);
    }
    state.message = { ...ended };
    nudges[0]?.();
    await settle();
    expect([end.is, nudges.length, stopped()]).toEqual([{ result: undefined, ended }, 1, 1]);
  });

  it("is made again at once if that is said while it is made", async () => {
    const { ask, clock, reads, state, nudges } = world({ message, isHere: false, remote: true });
    ask();
    await settle();
    state.onRead = () => {
      state.onRead = undefined;
      nudges[0]?.();
    };
    await clock.advance(1_500, settle);
    expect(reads).toEqual([0, 1_000, 1_000]);
  });

  it("asks no other node about an agent of this one", async () => {
    const { ask, clock, nudges } = world({ message, remote: true });
    ask();
    await clock.advance(3_000, settle);
    expect(nudges).toEqual([]);
  });

  it("answers who waits for a message that was accepted before", async () => {
    const { answers, clock } = world({ message: { ...ended } });
    expect(await answers.waitForMessage({ agentId: BO, seq: 7 }, 1_000)).toEqual({ result: undefined, ended });
    await settle();
    expect(clock.timers).toBe(0);
  });
});

describe("a run that waits", () => {
  const run: Given = { run: true, owner: { agentId: ANN } };
  const edges = (commits: readonly Change[]) => commits.flatMap(({ ops }) => ops);

  it("is an edge in the store until its answer, and holds no place meanwhile", async () => {
    const { ask, answered, asked, commits, outside } = world(run);
    const end = ask({ from: ANN });
    await settle();
    const [began] = (asked[0]?.began ?? []) as readonly { id: string }[];
    expect(began).toEqual({ op: "wait.begin", id: began?.id, from: ANN, to: { agentId: BO }, runId: "r1" });
    expect(asked[0]).toMatchObject({ owner: { agentId: ANN }, behalf: "whose" });
    expect([outside, commits]).toEqual([["out"], []]);
    answered();
    await settle();
    expect([end.is, outside]).toEqual([{ result: RESULT }, ["out", "in"]]);
    expect(edges(commits)).toEqual([{ op: "wait.end", id: began?.id }]);
  });

  it("ends the edge before its caller goes on", async () => {
    const { ask, answered } = world(run);
    const end = ask({ from: ANN });
    await settle();
    answered();
    await settle();
    expect([end.is, end.commits]).toEqual([{ result: RESULT }, 1]);
  });

  test.each<[string, Given, Waiting, number, number]>([
    ["a caller that ends its edge itself", run, { from: ANN, edge: "e7" }, 1, 0],
    ["an agent without a run", { run: false }, { from: ANN }, 0, 0],
    ["no agent", run, {}, 0, 0],
  ])("%s has its edge begun and ended here: %j", async (_title, given, options, begins, ends) => {
    const { ask, answered, asked, commits } = world(given);
    const end = ask(options);
    await settle();
    answered();
    await settle();
    expect([end.is, asked[0]?.began.length, edges(commits).length]).toEqual([{ result: RESULT }, begins, ends]);
    if (options.edge) expect(asked[0]?.began).toMatchObject([{ id: "e7" }]);
  });

  it("has its answer also if the edge cannot be ended", async () => {
    const { ask, answered, state, log } = world(run);
    const end = ask({ from: ANN });
    await settle();
    state.commitFails = true;
    answered();
    await settle();
    expect([end.is, log.map(({ message }) => message)]).toEqual([{ result: RESULT }, ["a wait could not be ended"]]);
  });

  it("ends its wait by its signal", async () => {
    const { ask } = world(run);
    const ending = new AbortController();
    const end = ask({ from: ANN, signal: ending.signal });
    await settle();
    ending.abort();
    await settle();
    expect(end.is).toBe("The run that waited has ended.");
  });

  const before: Given = { ...run, posts: [{ status: "duplicate" }], message: { state: "waiting", acceptedAt: 1 } };
  test.each<[string, Given, readonly object[]]>([
    [
      "whose address led to another agent before",
      { ...before, leadsTo: { agentId: "c1" } },
      [{ op: "wait.begin", to: { agentId: BO } }],
    ],
    ["whose address leads to the same agent", before, []],
    ["whose message is new", { ...run, leadsTo: { agentId: "c1" } }, []],
    ["whose address is a key", { ...before, leadsTo: { sessionKey: "k" } }, []],
    ["without a run", { ...before, run: false, leadsTo: { agentId: "c1" } }, []],
  ])("%s waits for the agent that has its message", async (_title, given, begun) => {
    const { ask, commits } = world(given);
    ask({ from: ANN });
    await settle();
    expect(edges(commits)).toMatchObject(begun);
    expect(commits).toHaveLength(begun.length);
  });

  it("does not wait in a cycle", async () => {
    const { ask, outside } = world({ ...before, leadsTo: { agentId: "c1" }, refused: true });
    const end = ask({ from: ANN });
    await settle();
    expect([end.is, outside]).toEqual(["a cycle", []]);
  });
});

describe("a question that the store may have lost", () => {
  const away = new StoreUnavailableError("away");
  const run: Given = { run: true, owner: { agentId: ANN } };

  it("is posted again five times at most, each time twice as late", async () => {
    const { ask, asked, clock } = world({ ...run, posts: [away] });
    const end = ask({ from: ANN }, { key: "k" });
    await clock.advance(60_000, settle);
    expect(asked.map(({ at }) => at)).toEqual([0, 200, 600, 1_400, 3_000]);
    expect(end.is).toBe("away");
  });

  test.each<[string, Given, object, string]>([
    ["without a key", { ...run, posts: [away] }, {}, "away"],
    ["of a caller that is no run", { posts: [away] }, { key: "k" }, "away"],
    ["that was refused", { ...run, posts: [new NotFoundError("no")] }, { key: "k" }, "no"],
    [
      "with a fault",
      { ...run, posts: [Object.assign(new TypeError("oops"), { retryable: true })] },
      { key: "k" },
      "oops",
    ],
  ])("is posted once %s", async (_title, given, request, error) => {
    const { ask, asked, clock } = world(given);
    const end = ask({ from: ANN }, request);
    await clock.advance(60_000, settle);
    expect([asked.length, end.is]).toEqual([1, error]);
  });

  it("has an unknown outcome as long as a first attempt may still be applied", async () => {
    const unknown = new CommitUnknownError("unknown");
    const lost = world({ ...run, posts: [unknown, new TypeError("refused")] });
    const end = lost.ask({ from: ANN }, { key: "k" });
    await lost.clock.advance(60_000, settle);
    expect([end.is, lost.asked.length]).toEqual(["unknown", 2]);
    const known = world({ ...run, posts: [away, new TypeError("refused")] });
    const other = known.ask({ from: ANN }, { key: "k" });
    await known.clock.advance(60_000, settle);
    expect(other.is).toBe("refused");
  });

  it("is not posted again once its run has ended", async () => {
    const { ask, asked, clock } = world({ ...run, posts: [away] });
    const ending = new AbortController();
    const end = ask({ from: ANN, signal: ending.signal }, { key: "k" });
    await settle();
    ending.abort();
    await settle();
    expect([end.is, asked.length, clock.timers]).toEqual(["away", 1, 0]);
  });
});

describe("a program that stops", () => {
  it("suspends the waits of runs, and only those", async () => {
    const of = world({ run: true, owner: {} });
    const run = of.ask({ from: ANN });
    const other = of.ask();
    await settle();
    of.answers.suspend();
    await settle();
    expect([run.is, other.is]).toEqual(["The program is stopping.", undefined]);
  });

  it("ends every wait at last, and keeps no timer", async () => {
    const { ask, answers, clock } = world();
    const end = ask();
    await settle();
    answers.abandon();
    await settle();
    expect([end.is, clock.timers]).toEqual(["The process is stopping.", 0]);
  });
});

it("looks for all waits with one timer", async () => {
  const { ask, clock } = world();
  ask();
  ask();
  await settle();
  // Two timeouts and one look.
  expect(clock.timers).toBe(3);
});

/** Runs as people and tools see, steer, abort and await them, on this node and on others, over a store and actors made of records. */
import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import type { RunId } from "../../core/ids.ts";
import type { Behalf } from "../../core/people/behalf.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { Change, Op } from "../../core/store/change.ts";
import type { PostRequest } from "./message-ingress.ts";
import { RunControl } from "./run-control.ts";

const RUN = "r1" as RunId;
const of = (person: string, more: object = {}): Behalf => ({ person: person as PersonId, ...more });

interface Given {
  /** The state of the run on this node; absent: it is not here. */
  readonly here?: string;
  readonly queued?: boolean;
  readonly behalf?: Behalf;
  readonly record?: object;
  readonly agent?: object;
  readonly shared?: boolean;
  /** What the store answers to each commit; the last one from then on. */
  readonly results?: readonly object[];
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
};

function world({ here, queued, behalf, record, agent, shared = true, results = [{ ok: true, results: [] }] }: Given) {
  const posts: PostRequest[] = [];
  const commits: Change[] = [];
  const happened: unknown[] = [];
  const reads: number[] = [];
  const clock = virtualClock();
  let listening: ((event: object) => void) | undefined;
  const body = { behalf, delivery: { channel: "test", to: "ann" } };
  const end = (reason: string) => void happened.push(`end ${reason}`);
  const run = here === undefined ? undefined : { id: RUN, agentId: "a1", state: here, body, end };
  const abort = () => void happened.push("abort queued");
  const actor = { run, queued: queued ? { runId: RUN, abort } : undefined };
  const stored = { is: record && { id: RUN, agentId: "a1", body, ...record } };
  const store = {
    run: async (id: string) => {
      reads.push(clock.monotonic());
      return id === RUN ? stored.is : undefined;
    },
    linesBack: async () => [],
    agent: async (id: string) => (id === "a1" ? agent : undefined),
    commit: async (change: Change) => {
      commits.push(change);
      return results[Math.min(commits.length, results.length) - 1];
    },
    outcome: async () => undefined,
  };
  const control = new RunControl(
    { store, clock, ids: seededIds("control") } as never,
    {
      actors: { all: () => [{}, actor], get: () => actor },
      membership: { node: 1, shared },
      ingress: {
        post: async (request: PostRequest) => {
          await new Promise((resolve) => setImmediate(resolve));
          posts.push(request);
        },
      },
      emit: (event: object) => void happened.push(event),
      events: {
        listenToEnds: (listen: (event: object) => void) => {
          listening = listen;
          return () => {
            listening = undefined;
          };
        },
      },
    } as never,
  );
  const said = (event: object): void => listening?.(event);
  const wait = (timeoutMs?: number) => {
    const ended: { as?: object } = {};
    void control.wait(RUN, timeoutMs).then((as) => {
      ended.as = as;
    });
    return ended;
  };
  return {
    control,
    posts,
    commits,
    happened,
    reads,
    clock,
    said,
    wait,
    stored,
    actor,
    isHeard: () => listening !== undefined,
  };
}

describe("the state of a run", () => {
  test.each<[string, Given, string]>([
    ["that streams here", { here: "streaming" }, "streaming"],
    ["that waits for a lane", { queued: true }, "queued"],
    ["that does not exist", {}, "unknown"],
    ["that has ended", { record: { state: "ended" } }, "ended"],
    ["of another node", { record: { state: "open" } }, "active"],
    ["that waits for a person", { record: { state: "open", body: { suspended: true } } }, "suspended"],
  ])("%s", async (_title, given, state) => {
    expect(await world(given).control.state(RUN)).toBe(state);
  });
});

describe("a text for a run", () => {
  const open = { state: "open" };
  const held = { runId: RUN, node: 2 };
  test.each<[string, Given, boolean]>([
    ["that streams here", { here: "streaming" }, true],
    ["that executes a tool here", { here: "active" }, false],
    ["of another node", { record: open, agent: held }, true],
    ["of another node, if this one shares its store with none", { record: open, agent: held, shared: false }, false],
    ["that no node holds", { record: open, agent: { runId: RUN } }, false],
    ["that this node holds and does not work on", { record: open, agent: { runId: RUN, node: 1 } }, false],
    ["whose agent works on another one", { record: open, agent: { runId: "r2", node: 2 } }, false],
    ["that has ended", { record: { state: "ended" }, agent: held }, false],
    ["whose agent is gone", { record: open }, false],
  ])("%s", async (_title, given, taken) => {
    const { control, posts } = world(given);
    expect(await control.steer(RUN, "and also")).toBe(taken);
    expect(posts).toHaveLength(taken ? 1 : 0);
    if (taken) {
      expect(posts[0]).toMatchObject({
        ...{ to: { agentId: "a1" }, delivery: { to: "ann" } },
        body: { kind: "user", text: "and also", queue: { mode: "steer" } },
      });
    }
  });

  test.each<[string, Behalf | undefined, Behalf | undefined, object | undefined]>([
    ["of no one into a run for no one", undefined, undefined, undefined],
    ["of no one into a person's run", of("ann"), undefined, { person: "ann" }],
    ["of a person into a run for no one", undefined, of("eve"), { person: "eve" }],
    [
      "of another person",
      of("ann", { untrusted: true }),
      of("eve"),
      { person: "ann", through: ["eve"], untrusted: true },
    ],
  ])("%s has these people on its way", async (_title, behalf, speaker, way) => {
    const { control, posts } = world({ here: "streaming", behalf });
    await control.steer(RUN, "x", { behalf: speaker, key: "k" });
    expect(posts[0]?.key).toBe("k");
    if (way) expect(posts[0]?.behalf).toMatchObject(way);
    else expect(posts[0]?.behalf).toBeUndefined();
  });
});

describe("a wait for a run", () => {
  const result = { outcome: "ok", payloads: [] };
  const end = { type: "end", runId: RUN, result };

  it("ends with the run's end on this node, and leaves nothing behind", async () => {
    const { wait, said, clock, isHeard, reads } = world({ here: "streaming" });
    const ended = wait();
    await clock.advance(1_000, settle);
    said({ ...end, runId: "r2" });
    said({ ...end, type: "step" });
    await settle();
    expect(ended.as).toBeUndefined();
    said(end);
    await settle();
    expect(ended.as).toEqual({ status: "ended", outcome: "ok", result });
    // A run that works here is not looked up.
    expect([isHeard(), clock.timers, reads]).toEqual([false, 0, []]);
  });

  test.each<[string, Given, string]>([
    ["that streams here", { here: "streaming" }, "streaming"],
    ["of another node", { record: { state: "open" } }, "active"],
  ])("lasts fifteen seconds, unless the caller says how long: one %s", async (_title, given, state) => {
    const { wait, clock, isHeard } = world(given);
    const ended = wait();
    const short = wait(100);
    await clock.advance(14_999, settle);
    expect([ended.as, short.as]).toEqual([undefined, { status: "timeout", state }]);
    await clock.advance(1, settle);
    expect([ended.as, clock.timers, isHeard()]).toEqual([{ status: "timeout", state }, 0, false]);
  });

  it("looks every half second for a run of another node", async () => {
    const { wait, clock, reads, stored } = world({ record: { state: "open" } });
    const ended = wait();
    await clock.advance(1_100, settle);
    expect([reads, ended.as]).toEqual([[0, 500, 1_000], undefined]);
    stored.is = { id: RUN, agentId: "a1", body: { seqs: [], calls: [] }, state: "ended", outcome: "aborted" } as never;
    await clock.advance(500, settle);
    expect(ended.as).toMatchObject({ status: "ended", outcome: "aborted", result: { outcome: "aborted" } });
    expect(clock.timers).toBe(0);
  });

  it("looks up a run that has ended here", async () => {
    const record = { state: "ended", outcome: "ok", body: { seqs: [], calls: [] } };
    const { wait } = world({ here: "ended", record });
    const ended = wait();
    await settle();
    expect(ended.as).toMatchObject({ status: "ended", outcome: "ok" });
  });

  test.each<[string, Given, object | undefined]>([
    ["there is no such run", {}, { status: "unknown" }],
    ["it waits for a lane", { queued: true }, undefined],
    ["it ended here and is not stored yet", { here: "ended" }, undefined],
  ])("ends at once only if nothing is known: %s", async (_title, given, expected) => {
    const { wait } = world(given);
    const ended = wait();
    await settle();
    expect(ended.as).toEqual(expected);
  });

  it("goes on for a run that began while it was looked up", async () => {
    const { wait, actor, control } = world({});
    const ended = wait();
    Object.assign(actor, { queued: { runId: RUN } });
    await settle();
    expect([ended.as, control.queued("a1" as never)]).toEqual([undefined, RUN]);
  });
});

describe("a mark to end a run", () => {
  const marked = { ok: true, results: [{ op: "run.abort", marked: true }] };
  const ALSO: Op = { op: "fact.put", key: "k", value: "v" };

  test.each<[string, Given, boolean, readonly unknown[]]>([
    ["that works here ends it at once", { here: "streaming", results: [marked] }, true, ["end person"]],
    ["that works elsewhere is committed", { results: [marked] }, true, []],
    [
      "that has ended changes nothing",
      { here: "streaming", results: [{ ok: true, results: [{ op: "run.abort", marked: false }] }] },
      ...([false, []] as const),
    ],
    ["that does not exist changes nothing", { results: [{ ok: false, refused: "missing", detail: "no" }] }, false, []],
    [
      "that waits for a person wakes its agent",
      {
        results: [
          {
            ok: true,
            results: [...marked.results, { op: "approval.withdraw", woken: "a1" }, { op: "approval.withdraw" }],
          },
        ],
      },
      ...([true, [{ type: "work-found", agentId: "a1" }]] as const),
    ],
  ])("%s", async (_title, given, done, expected) => {
    const { control, happened, commits, clock } = world(given);
    expect(await control.abort(RUN)).toBe(done);
    expect(happened).toEqual(expected);
    expect(commits.map(({ site }) => site)).toEqual(["abort"]);
    const mark = { reason: "person", at: clock.now() };
    expect(commits[0]?.ops).toEqual([{ op: "run.abort", runId: RUN, mark, fresh: undefined }]);
  });

  it("of a run that waits for a lane is not committed", async () => {
    const { control, happened, commits } = world({ queued: true });
    expect([await control.abort(RUN), happened, commits]).toEqual([true, ["abort queued"], []]);
  });

  test.each<[string, object | undefined, number]>([
    ["an open run", { state: "open" }, 1],
    ["a run that has ended", { state: "ended" }, 0],
  ])("withdraws the questions of %s", async (_title, record, count) => {
    const { control, commits } = world({ record, results: [marked] });
    await control.abort(RUN, "stop");
    const about = { op: "approval.withdraw", of: { agentId: "a1" }, reason: "the run was aborted" };
    expect(commits[0]?.ops.slice(1)).toEqual(Array.from({ length: count }, () => about));
    expect(commits[0]?.ops[0]).toMatchObject({ mark: { reason: "stop" } });
  });

  it("is committed with other changes only if it is new; otherwise those are committed alone", async () => {
    const also = (aborted: boolean): readonly Op[] => [{ ...ALSO, value: String(aborted) }];
    const fresh = world({ results: [marked] });
    expect(await fresh.control.abort(RUN, "person", also)).toBe(true);
    expect(fresh.commits[0]?.ops).toMatchObject([{ op: "run.abort", fresh: true }, { value: "true" }]);
    const refusal = { ok: false, refused: "missing", detail: "too late" };
    const late = world({ results: [refusal, { ok: true, results: [] }] });
    expect(await late.control.abort(RUN, "person", also)).toBe(false);
    expect(late.commits.map(({ site, ops }) => [site, ops.length])).toEqual([
      ["abort", 2],
      ["abort.late", 1],
    ]);
    expect(late.commits[1]?.ops).toMatchObject([{ value: "false" }]);
    await expect(world({ results: [refusal] }).control.abort(RUN, "person", also)).rejects.toThrow("too late");
  });
});

/** How a driver opens and passes on a run: its lane, what it reads again, what it says and when. No engine. */
import { describe, expect, it, test } from "vitest";
import { gate } from "../../../../test/kit/gate.ts";
import { DEFAULT_CONTEXT_LIMITS } from "../../../core/history/compaction-settings.ts";
import type { RunId } from "../../../core/ids.ts";
import type { Message } from "../../../core/message/message.ts";
import { CommitRefused } from "../../commit/commit-refused.ts";
import { Lanes } from "../../runs/lanes.ts";
import type { Committing } from "../../runtime/agent-lease.ts";
import { LiveRun } from "../../runtime/live-run.ts";
import { messageTo, NOW, recordedLease } from "./lease.test-kit.ts";
import { RunDriver } from "./run-driver.ts";
import type { RunChoice } from "./take.ts";

const LANES = { main: 1, subagent: 1, cron: 1, nested: 1 };
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
};
const said = (seq: number, more: Partial<Message> = {}): Message =>
  messageTo({ kind: "user", text: "hi" }, { seq, ...more });
const chosen = (messages: readonly Message[], more: object = {}): RunChoice => ({
  ...{ act: "run", collected: false, dropped: [], summarize: [], cap: 1, messages },
  ...more,
});
const runWith = (body: object = {}, more: object = {}): LiveRun =>
  new LiveRun(
    {
      ...{ id: "r1", agentId: "a1", sessionId: "s1", startedAt: 1, step: 3, attempt: 1, ...more },
      body: { lane: "main", node: 3, seqs: [4, 5], calls: [], iterations: 0, deliveries: 0, ...body },
    } as never,
    { timeoutMs: 1_000, maxIterations: 5 },
  );

interface Given {
  readonly woken?: boolean;
  /** What is chosen when the inbox is read again. */
  readonly look?: object;
  readonly draining?: () => boolean;
  readonly commit?: (committing: Committing) => Promise<unknown>;
  readonly tokens?: number;
  readonly tools?: readonly object[];
  /** What is asked between two steps. */
  readonly questions?: () => readonly Message[];
}

function world(given: Given = {}) {
  const happened: string[] = [];
  const note = (what: string): void => void happened.push(what);
  const bounds = {
    limits: DEFAULT_CONTEXT_LIMITS,
    thresholds: { flush: 100, warning: 200, critical: 300, emergency: 400 },
  };
  const recorded = recordedLease({
    lease: {
      ...{ lane: "main", context: { size: { all: given.tokens ?? 0, since: 0 }, overhead: 0, bounds } },
      ...(given.commit && { commit: given.commit }),
    },
    ports: {
      clock: { now: () => NOW, monotonic: () => 0, after: () => () => {} },
      tools: { find: () => undefined, list: () => given.tools ?? [] },
    },
  });
  const lanes = new Lanes(LANES);
  const host = {
    ...{ ports: recorded.ports, lanes, draining: given.draining ?? (() => false) },
    emit: ({ type, messages }: { type: string; messages: readonly { seq: number }[] }) =>
      note(`${type} ${messages.map(({ seq }) => seq)}`),
  };
  const inbox = {
    choose: async (_lease: unknown, busyUntil: unknown) => {
      note(`choose ${busyUntil}`);
      return given.look;
    },
    ...{ taken: () => note("taken"), runBegins: () => note("begins"), runEnded: () => note("ended") },
    lookAtArrivals: async () => note("look"),
    ...{ questions: async () => given.questions?.() ?? [], steerable: async () => [] },
  };
  const actor = { woken: () => given.woken ?? false, contextWorkDue: () => note("due") };
  const driver = new RunDriver(host as never, "a1" as never, inbox as never, actor);
  /** Passes the runs on in its place. */
  const drives = (drive: (run: LiveRun) => Promise<void> = async () => {}) => {
    driver.drive = async (_lease, run) => {
      note(`drive ${run.id}`);
      await settle();
      await drive(run);
    };
  };
  return { ...recorded, driver, drives, lanes, happened };
}
const active = ({ lanes }: ReturnType<typeof world>): number => lanes.counts().main.active;

describe("a run for chosen messages", () => {
  it("is opened in the lane, taken, driven, and leaves the lane", async () => {
    const one = world();
    let during = 0;
    one.drives(async () => {
      during = active(one);
    });
    expect(await one.driver.take(one.lease, chosen([said(4)]), 9)).toBe("again");
    expect(one.commits.map(({ site }) => site)).toEqual(["take"]);
    expect(one.happened).toEqual(["taken", expect.stringMatching(/^drive (?!undefined)/)]);
    expect([during, active(one), one.driver.queued]).toEqual([1, 0, undefined]);
  });

  it("rests if its end has released the agent", async () => {
    const one = world();
    one.drives(async () => {
      one.lease.released = true;
    });
    expect(await one.driver.take(one.lease, chosen([said(4)]), 9)).toBe("rest");
  });

  it("has the id that one of its messages was promised", async () => {
    const one = world();
    one.drives();
    await one.driver.take(one.lease, chosen([said(4), said(5, { asRun: "promised" as RunId })]), 9);
    expect(one.happened).toContain("drive promised");
  });

  it("tells the end of what the queue dropped, after its commit", async () => {
    const one = world();
    one.drives();
    await one.driver.take(one.lease, chosen([said(6)], { dropped: [{ message: said(4), policy: "cap" }] }), 9);
    expect(one.happened).toEqual(["taken", "settled 4", expect.stringMatching(/^drive /)]);
    expect(one.settled()).toMatchObject([{ seq: 4, state: "dropped", reason: "cap" }]);
  });

  test.each<[string, Given, string, readonly string[]]>([
    ["nothing came in between", {}, "again", ["taken", "drive"]],
    [
      "more came: it is read again",
      { woken: true, look: { choice: chosen([said(4)]), seen: 12 } },
      "again",
      ["choose undefined", "taken", "drive"],
    ],
    [
      "a reset came, which goes first",
      { woken: true, look: { choice: { act: "reset" }, seen: 12 } },
      "again",
      ["choose undefined"],
    ],
    [
      "the next message was promised another run",
      { woken: true, look: { choice: chosen([said(4, { asRun: "other" as RunId })]), seen: 12 } },
      ...(["again", ["choose undefined"]] as const),
    ],
    ["the node drains", { draining: () => true }, "rest", []],
    [
      "a commit was refused as conflict",
      { commit: () => Promise.reject(new CommitRefused("conflict", "reset")) },
      "reload",
      [],
    ],
  ])("while it waited for its lane: %s", async (_title, given, next, expected) => {
    const one = world(given);
    one.drives();
    expect(await one.driver.take(one.lease, chosen([said(4)]), 9)).toBe(next);
    expect(one.happened.map((what) => what.replace(/^drive.*/, "drive"))).toEqual(expected);
    expect(active(one)).toBe(0);
    const seen = given.woken ? 12 : 9;
    if (expected.includes("taken"))
      expect(one.commits[0]?.ops).toContainEqual(
        expect.objectContaining({ op: "message.take", unlessResetAfter: seen }),
      );
  });

  it("leaves the lane if its commit fails, and says nothing", async () => {
    const one = world({ commit: () => Promise.reject(new CommitRefused("fenced", "lost")) });
    await expect(one.driver.take(one.lease, chosen([said(4)]), 9)).rejects.toThrow("lost");
    expect([active(one), one.happened]).toEqual([0, []]);
  });

  it("that is aborted while it waits for a lane settles its messages, and only then tells it", async () => {
    const one = world();
    const { commit } = one.lease;
    one.lease.commit = async (committing) => {
      const done = await commit(committing);
      one.happened.push(committing.site);
      return done;
    };
    await one.lanes.enter("main");
    const taken = one.driver.take(one.lease, chosen([said(4, { asRun: "r7" as RunId }), said(5)]), 9);
    await settle();
    expect(one.driver.queued?.runId).toBe("r7");
    one.driver.queued?.abort();
    expect(one.happened).toEqual([]);
    expect([await taken, one.happened, one.driver.queued]).toEqual([
      "again",
      ["abort.queued", "settled 4,5"],
      undefined,
    ]);
    const reason = "run r7 was aborted before it began";
    expect(one.settled()).toEqual([4, 5].map((seq) => ({ seq, from: "waiting", state: "aborted", reason })));
    expect(one.commits.map(({ site }) => site)).toEqual(["abort.queued"]);
    expect(active(one)).toBe(1);
  });
});

describe("a run that is driven", () => {
  /** A run that is to end at its first step. */
  const ending = (reason: "person" | "drain" = "person", body: object = {}): LiveRun => {
    const run = runWith({ behalf: { person: "ann", limits: "day" }, ...body });
    run.end(reason);
    return run;
  };

  it("is the run of its agent until its end, which is told", async () => {
    const one = world();
    const run = ending();
    const driven = one.driver.drive(one.lease, run);
    expect(one.driver.run).toBe(run);
    expect(one.driver.asOwner).toEqual({
      ...{ agentId: "a1", node: 3, epoch: 2, sessionId: "s1" },
      run: { id: "r1", step: 3, evenAborted: undefined },
    });
    await driven;
    expect([one.driver.run, one.driver.asOwner, one.driver.busyUntil]).toEqual([undefined, undefined, undefined]);
    expect(one.happened).toEqual(["begins", "settled 4,5", "ended"]);
  });

  it("that is paused is not told to have ended", async () => {
    const one = world({ draining: () => true });
    await one.driver.drive(one.lease, runWith());
    expect(one.commits.map(({ site }) => site)).toEqual(["pause"]);
    expect([one.happened, one.driver.busyUntil]).toEqual([["begins", "ended"], undefined]);
  });

  it.each([
    ["ends", () => ending(), undefined],
    ["is paused", () => runWith(), () => true],
  ])("and %s while something waits for it was busy until then", async (_, run, draining) => {
    const one = world({ woken: true, draining });
    await one.driver.drive(one.lease, run());
    expect(one.driver.busyUntil).toBe(NOW);
  });

  it("looks at what came while it was being opened", async () => {
    const one = world({ woken: true });
    await one.driver.drive(one.lease, ending());
    expect(one.happened.slice(0, 2)).toEqual(["begins", "look"]);
  });

  it("answers what is asked between two steps, and tells each answer when it is committed", async () => {
    const run = runWith({ iterations: 1, behalf: { person: "ann" } });
    const one = world({
      questions: () => {
        run.end("person");
        return [
          messageTo({ kind: "setting", patch: { verboseLevel: "on" } }, { seq: 8 }),
          messageTo({ kind: "subagents", command: "list" }, { seq: 9 }),
        ];
      },
    });
    const { commit } = one.lease;
    one.lease.commit = async (committing) => {
      const done = await commit(committing);
      one.happened.push(...committing.ops.flatMap((op) => (op.op === "message.settle" ? ["committed"] : [])));
      return done;
    };
    await one.driver.drive(one.lease, run);
    const answered = ["committed", "settled 8", "committed", "settled 9"];
    expect(one.happened).toEqual(["begins", ...answered, "committed", "settled 4,5", "ended"]);
    expect(one.settled().map(({ seq, state }) => `${seq} ${state}`)).toEqual([
      ...["8 recorded", "9 recorded", "4 aborted", "5 aborted"],
    ]);
  });

  it("is not the run of its agent any more if it was lost on its way", async () => {
    const one = world({ commit: () => Promise.reject(new CommitRefused("fenced", "lost")) });
    await expect(one.driver.drive(one.lease, ending())).rejects.toThrow("lost");
    expect([one.driver.run, one.happened]).toEqual([undefined, ["begins", "ended"]]);
  });

  const WRITES = [{ name: "write", rights: ["write"] }];
  test.each<[string, Given, boolean, boolean]>([
    ["a small context needs nothing", { tokens: 99, tools: WRITES }, false, false],
    ["at its first limit a flush is due", { tokens: 100, tools: WRITES }, true, false],
    ["without a tool that writes it may need a summary", { tokens: 100 }, false, true],
    ["nothing is begun while the node drains", { tokens: 100, tools: WRITES, draining: () => true }, false, false],
  ])("is followed by what its context needs: %s", async (_title, given, due, prepares) => {
    const one = world(given);
    const run = runWith({ behalf: { person: "ann" } });
    run.end("person");
    await one.driver.drive(one.lease, run);
    expect(one.driver.background !== undefined).toBe(prepares);
    expect([one.driver.takeContextWork(), one.driver.takeContextWork()]).toEqual([due, false]);
  });

  it("that leaves a small context needs nothing, whatever the run before it left", async () => {
    const one = world({ tokens: 100, tools: WRITES });
    const { context } = one.lease as unknown as { context: { size: object } };
    await one.driver.drive(one.lease, ending());
    context.size = { all: 99, since: 0 };
    await one.driver.drive(one.lease, ending());
    expect(one.driver.takeContextWork()).toBe(false);
  });

  it("is followed by a summary, which says when it is ready", async () => {
    const one = world({ tokens: 200 });
    const start = async (...all: unknown[]) => {
      await settle();
      one.happened.push("summary");
      (all.at(-1) as () => void)();
    };
    one.driver.background = { start } as never;
    await one.driver.drive(one.lease, ending());
    expect(one.happened).toEqual(["begins", "settled 4,5", "summary", "due", "ended"]);
  });

  it("has ended well also if its context cannot be measured", async () => {
    const one = world();
    Object.assign(one.lease.context, { size: undefined });
    await one.driver.drive(one.lease, ending());
    expect(one.log.map(({ message }) => message)).toEqual(["could not prepare the compaction of a context"]);
  });
});

describe("what its context needs", () => {
  test.each([
    [undefined, false],
    [{ isReady: false }, false],
    [{ isReady: true }, true],
  ])("with the summary %j is a turn: %s", (background, due) => {
    const { driver } = world();
    driver.background = background as never;
    expect(driver.takeContextWork()).toBe(due);
  });
});

describe("a flush", () => {
  const WRITES = [{ name: "write", rights: ["write"] }];
  test.each<[string, Given, boolean]>([
    ["is a run of its own in the lane", { tokens: 100, tools: WRITES }, true],
    ["is not made far from the limits", { tokens: 99, tools: WRITES }, false],
    ["is not made if none is due", { tokens: 100 }, false],
    ["is not made while the node drains", { tokens: 100, tools: WRITES, draining: () => true }, false],
  ])("%s", async (_title, given, made) => {
    const one = world(given);
    let during = 0;
    one.drives(async () => {
      during = active(one);
    });
    expect(await one.driver.flush(one.lease)).toBe(made);
    expect([one.commits.map(({ site }) => site), during, active(one)]).toEqual([
      made ? ["flush"] : [],
      made ? 1 : 0,
      0,
    ]);
  });

  it("counts for the same limits as the run before it", async () => {
    const one = world({ tokens: 100, tools: WRITES });
    const run = runWith({ behalf: { person: "ann", limits: { tokens: 5 } } });
    run.end("person");
    await one.driver.drive(one.lease, run);
    one.drives();
    await one.driver.flush(one.lease);
    expect(one.commits.at(-1)?.ops).toContainEqual(
      expect.objectContaining({
        op: "run.open",
        body: expect.objectContaining({ behalf: expect.objectContaining({ limits: { tokens: 5 } }) }),
      }),
    );
  });
});

describe("a wait for another agent", () => {
  it("holds no place in the lane, and takes one again before it goes on", async () => {
    const one = world();
    const place = await one.driver.enter("main");
    const answer = gate<string>();
    const waiting = one.driver.outsideLane(answer.promise);
    await settle();
    expect(active(one)).toBe(0);
    answer.open("yes");
    expect([await waiting, active(one)]).toEqual(["yes", 1]);
    place?.leave();
    expect(active(one)).toBe(0);
  });

  it("outside of any lane is only the wait", async () => {
    expect(await world().driver.outsideLane(Promise.resolve("yes"))).toBe("yes");
  });

  /** Commits that are made while a run waits. */
  async function waitsWith(run: LiveRun, wait: Promise<unknown>) {
    const hold = gate();
    const sites: string[] = [];
    const one = world({
      commit: async ({ site, ops }) => {
        sites.push(`${site} ${ops.map(({ op }) => op)}`);
        if (site === "waits") await hold.promise;
        return { ok: true, results: [] };
      },
    });
    run.end("person");
    const driven = one.driver.drive(one.lease, run);
    const waited = one.driver.outsideLane(wait).catch((error: Error) => error.message);
    await settle();
    const before = [run.step, run.attempt];
    hold.open();
    const result = await waited;
    const after = [run.step, run.attempt];
    await driven;
    return { sites, before, after, result };
  }

  test.each<[string, object, object | undefined, boolean]>([
    ["a run that a crash interrupted", { attempt: 2 }, undefined, true],
    ["a run on trial", { attempt: 1 }, { deaths: [], survived: 0 }, true],
    ["a run that was never interrupted", { attempt: 1 }, undefined, false],
  ])("counts as progress of %s, if it has any to make", async (_title, more, trial, counts) => {
    const run = runWith({}, more);
    run.trial = trial as never;
    const { sites, before, after } = await waitsWith(run, Promise.resolve("yes"));
    expect(sites.filter((site) => site.startsWith("waits"))).toEqual(counts ? ["waits run.step"] : []);
    if (counts) expect([before[0], after]).toEqual([3, [4, 1]]);
  });

  it("that fails while the progress is being committed is an error of the wait, and of nothing else", async () => {
    const { result } = await waitsWith(runWith({}, { attempt: 2 }), Promise.reject(new TypeError("no answer")));
    expect(result).toBe("no answer");
  });
});

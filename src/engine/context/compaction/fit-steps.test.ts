/** Which steps a run takes against a context of a given size, step by step. The sizes are given, the history is real. */

import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { type LogLine, recordingLog } from "../../../../test/kit/log.ts";
import { failure, modelResult, type Reply } from "../../../../test/kit/model.ts";
import { testSettings } from "../../../../test/kit/settings.ts";
import {
  type ContextLimits,
  contextThresholds,
  DEFAULT_CONTEXT_LIMITS,
} from "../../../core/history/compaction-settings.ts";
import { entryLine } from "../../../core/history/entry.ts";
import type { RunId, SessionId } from "../../../core/ids.ts";
import { budgetsOf } from "../../budgets/budget-settings.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import { LiveRun } from "../../runtime/live-run.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";
import { compactAsAsked } from "./compact-on-request.ts";
import { ensureContextFits, recoverFromOverflow } from "./fit-context.ts";
import { AGENT, MadeHistory } from "./histories.test-kit.ts";

const SUMMARY = "## Goal\nto test\n\n## Progress\n- done\n\n## Original Request\nx\n\n## Early Progress\ny";
const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 };
/** Critical at 900, emergency at 1,000. */
const base: ContextLimits = {
  ...DEFAULT_CONTEXT_LIMITS,
  ...{ contextWindow: 10_000, emergencyContextLimit: 1_000, reserveTokens: 0, reserveTokensFloor: 0 },
};
const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

interface Setup {
  readonly reply?: () => Reply | Promise<Reply>;
  readonly limits?: Partial<ContextLimits>;
  readonly overhead?: number;
  readonly memoryFlush?: boolean;
  /** What the history has that a step can leave out. */
  readonly outputs?: boolean;
  readonly images?: boolean;
  readonly background?: object;
}

/** `sizes`: of the context at first, and after each compaction. The last one stays. */
function setup(sizes: readonly number[], { reply = () => SUMMARY, overhead = 0, ...more }: Setup = {}) {
  const history = new MadeHistory();
  for (let n = 0; n < 4; n++) {
    const rounds = more.outputs ? [{ calls: 1, output: 9_000, image: false }] : [];
    history.turn({
      ...{ words: 200, rounds, steered: false, quiet: false, branch: false, usage: false },
      image: more.images === true,
    });
  }
  const left = [...sizes];
  const [first = 0] = left.splice(0, 1);
  const context = { size: { counted: first, since: 0, all: first }, overhead };
  const limits = { ...base, ...more.limits };
  const bounds = { limits, thresholds: contextThresholds(limits) };
  const events: unknown[] = [];
  const log: LogLine[] = [];
  const kinds: string[] = [];
  let asked = 0;
  const run = new LiveRun(
    {
      ...{ id: "run-now" as RunId, agentId: AGENT, sessionId: "s1" as SessionId, startedAt: 0, step: 1, attempt: 1 },
      body: { seqs: [], calls: [], memoryFlush: more.memoryFlush } as never,
    },
    testSettings().current,
    { timeoutMs: 10_000, maxIterations: 9 },
  );
  run.setup = { ...bounds, choice: { model: "m" }, system: "", tools: [], overhead };
  const lease = {
    ...{ agentId: AGENT, sessionId: "s1", record: {}, state: { stats: {} }, context },
    get nextPos() {
      return history.lines.length;
    },
    get leaf() {
      return history.leaf;
    },
    path: async () => history.path,
    commit: async ({ append }: Parameters<AgentLease["commit"]>[0]) => {
      const { entries = [], leaf = history.leaf } = append ?? {};
      history.lines.push(...entries.map(entryLine));
      history.path.push(...entries);
      history.leaf = leaf;
      for (const { type, details } of entries as never as { type: string; details: { kind: string } }[])
        if (type === "compaction") kinds.push(details.kind);
      const [next] = left.splice(0, 1);
      if (next !== undefined) context.size = { counted: next, since: 0, all: next };
    },
  } as unknown as AgentLease;
  const clock = virtualClock();
  const ports = {
    ...{ clock, ids: history.ids, log: recordingLog(log), settings: testSettings() },
    budgets: () => budgetsOf(testSettings().current),
    events: { emit: (_: unknown, event: object) => events.push({ ...event, state: run.state }) },
    store: {
      linesBack: async (_: unknown, { before = history.lines.length, limit }: { before?: number; limit: number }) =>
        history.lines
          .map((line, position) => ({ position, line }))
          .slice(0, before)
          .reverse()
          .slice(0, limit),
    },
    model: {
      call: async () => {
        asked += 1;
        return modelResult(await reply());
      },
    },
  } as unknown as RunPorts;
  const background = more.background as never;
  return {
    ...{ run, events, log, kinds, clock, context, history },
    asked: () => asked,
    ensure: () => ensureContextFits(ports, lease, run, background),
    recover: () => recoverFromOverflow(ports, lease, run, background),
    asAsked: () => compactAsAsked(ports, lease, run, background),
  };
}

describe("before a model call", () => {
  test.each([
    [899, {}, undefined],
    [900, {}, "critical"],
    [999, {}, "critical"],
    [1_000, {}, "emergency"],
    [999, { memoryFlush: true }, undefined],
    [1_000, { memoryFlush: true }, "emergency"],
    [5_000, { limits: { enabled: false } }, undefined],
  ])("a context of %d tokens with %j is compacted for the reason %s", async (tokens, more, reason) => {
    const { ensure, events, kinds } = setup([tokens, 100], more as Setup);
    expect(await ensure()).toEqual({ fits: true });
    expect(kinds).toEqual(reason === undefined ? [] : ["summary"]);
    expect(events[0]).toEqual(reason && { type: "compaction_start", reason, state: "compacting" });
  });

  test.each([
    [[950, 899], ["summary"], true],
    [[950, 900, 899], ["summary", "truncate"], true],
    [[950, 900, 900, 899], ["summary", "truncate", "images"], true],
    // Turns are left out without a summary only in an emergency.
    [[1_000, 1_000, 1_000, 999], ["summary", "truncate", "images"], true],
    [[1_000, 1_000, 1_000, 1_000, 999], ["summary", "truncate", "images", "prune"], true],
    [[1_000, 1_000, 1_000, 1_000, 1_000], ["summary", "truncate", "images", "prune"], false],
  ])("contexts of %j tokens after each step take the steps %j, and ensure: %s", async (sizes, steps, fits) => {
    const { ensure, kinds, run } = setup(sizes, { outputs: true, images: true });
    const room = await ensure();
    expect([kinds, room.fits, run.state]).toEqual([steps, fits, "active"]);
    if (!fits) expect(room).toMatchObject({ kind: "context_overflow", reason: "nothing more can be left out" });
  });

  test.each([
    // A turn has about 257 tokens.
    [560, 2],
    [900, 4],
  ])(
    "with a limit of %i tokens, turns are left out until four fifths of its critical part remain: %i messages",
    async (emergencyContextLimit, messages) => {
      const { ensure, history, kinds } = setup([1_028], {
        reply: () => failure("auth"),
        limits: { emergencyContextLimit },
      });
      await ensure();
      expect(kinds).toEqual(["prune"]);
      expect(history.path.at(-1)).toMatchObject({ details: { kept: { messages } } });
    },
  );

  it("takes no step twice before the next answer", async () => {
    const { ensure, kinds } = setup([1_000], { outputs: true, images: true });
    await ensure();
    const before = [...kinds];
    expect(await ensure()).toMatchObject({ fits: false });
    expect(kinds).toEqual(before);
  });

  test.each([
    [9_000, true],
    [9_001, false],
  ])("instructions and tools of %d of 10,000 tokens leave room: %s", async (overhead, fits) => {
    const { ensure } = setup([100], { overhead });
    const room = await ensure();
    expect(room.fits).toBe(fits);
    if (!room.fits) expect(room.says).toContain(`of about ${overhead} tokens`);
  });
});

describe("a run that has ended", () => {
  it("takes no step", async () => {
    for (const how of ["ensure", "recover"] as const) {
      const made = setup([1_000], { outputs: true });
      made.run.end("abort" as never);
      expect(await made[how]()).toEqual({ fits: true });
      expect(made.kinds).toEqual([]);
    }
  });

  it("appends nothing of a step that was under way", async () => {
    const hold = Promise.withResolvers<Reply>();
    const { ensure, run, kinds, events } = setup([950, 100], { reply: () => hold.promise, outputs: true });
    const fitting = ensure();
    await turn();
    run.end("abort" as never);
    hold.resolve(SUMMARY);
    expect(await fitting).toEqual({ fits: true });
    expect(kinds).toEqual([]);
    expect(events).toMatchObject([{ type: "compaction_start" }, { type: "compaction_end", compacted: false }]);
  });
});

describe("a summary that cannot be used", () => {
  test.each<[string, Reply, string, string]>([
    ["refused", { ...failure("auth"), usage }, "compaction_failure", "auth error"],
    ["empty", { content: [], usage }, "context_overflow", "the model wrote an empty summary"],
    ["no summary", "Certainly!", "context_overflow", "the model continued the conversation instead"],
    ["too large", { ...failure("overflow"), usage }, "context_overflow", "overflow error"],
  ])("because it is %s is why the run ends, if nothing else helps", async (_, reply, kind, reason) => {
    const { ensure, events, run, log } = setup([5_000], { reply: () => reply });
    expect(await ensure()).toEqual({ fits: false, kind, reason });
    expect(events[1]).toEqual({ type: "compaction_end", compacted: false, text: reason, state: "active" });
    expect(log[0]).toMatchObject({ message: "a compaction was not made", fields: { kind: "summary", why: reason } });
    // It was paid for.
    expect(run.body.usage?.input).toBeGreaterThan(0);
  });

  it("because it is not smaller is paid for, and what the events say", async () => {
    const { ensure, events, run, kinds } = setup([950], { reply: () => `${SUMMARY}\n${"word ".repeat(9_000)}` });
    expect(await ensure()).toEqual({ fits: true });
    expect(kinds).toEqual([]);
    expect(events.slice(0, 2)).toEqual([
      { type: "compaction_start", reason: "critical", state: "compacting" },
      { type: "compaction_end", compacted: false, text: "nothing to compact", state: "active" },
    ]);
    expect(run.body.usage).toMatchObject({ input: 10, output: 5 });
  });

  it("is not asked for again before an answer, and after it only when the context has grown by a twentieth", async () => {
    const { ensure, run, asked, context } = setup([920], { reply: () => failure("auth") });
    const sized = (tokens: number): void => {
      context.size = { counted: tokens, since: 0, all: tokens };
    };
    await ensure();
    await ensure();
    sized(999);
    await ensure();
    expect(asked()).toBe(1);
    run.failedMeasures.clear();
    sized(969);
    await ensure();
    expect(asked()).toBe(1);
    sized(970);
    await ensure();
    expect(asked()).toBe(2);
  });

  it("is asked for again after an answer if the context is too large to be sent, or was refused", async () => {
    for (const how of ["ensure", "recover"] as const) {
      const made = setup([920], { reply: () => failure("auth") });
      await made.ensure();
      made.run.failedMeasures.clear();
      if (how === "ensure") made.context.size = { counted: 1_000, since: 0, all: 1_000 };
      // Grown by less than a twentieth of the limit.
      made.run.measuresFailedAt.set("summary", 990);
      await made[how]();
      expect([how, made.asked()]).toEqual([how, 2]);
    }
  });

  it("is forgotten when another step has made the context smaller", async () => {
    const { ensure, run } = setup([950, 100], { reply: () => failure("auth"), outputs: true });
    await ensure();
    expect(run.measuresFailedAt.size).toBe(0);
    expect(run.failedMeasures.has("summary")).toBe(true);
  });

  it("because it takes more than half of the run's time is stopped", async () => {
    const { ensure, clock, run } = setup([5_000], { reply: () => new Promise<Reply>(() => {}) });
    const fitting = ensure();
    await clock.advance(4_999, turn);
    expect(run.state).toBe("compacting");
    await clock.advance(1, turn);
    expect(await fitting).toEqual({ fits: false, kind: "compaction_failure", reason: "the summary took too long" });
    expect(clock.timers).toBe(0);
  });
});

describe("a compaction that a person asks for", () => {
  it("says what it has done, while the run shows that it compacts", async () => {
    const { asAsked, events, kinds, run, history } = setup([100, 50]);
    run.body = { ...run.body, compact: { instructions: "keep the names" } };
    expect(await asAsked()).toMatchObject({
      result: { ok: true, compacted: true, result: { tokensBefore: 100, details: { instructions: "keep the names" } } },
      text: expect.stringMatching(/^⚙️ Compacted: /u),
    });
    expect([kinds, run.state]).toEqual([["summary"], "active"]);
    expect(history.path.at(-1)).toMatchObject({ type: "compaction", details: { reason: "manual", runId: "run-now" } });
    expect(events).toMatchObject([
      { type: "compaction_start", reason: "manual", state: "compacting" },
      { type: "compaction_end", compacted: true, state: "active" },
    ]);
  });

  it("is made once in a run", async () => {
    const { asAsked, asked, kinds } = setup([100, 50]);
    await asAsked();
    expect(await asAsked()).toEqual({
      result: { ok: true, compacted: true, reason: "it was compacted before the program stopped" },
      text: "⚙️ Compacted: it was compacted before the program stopped.",
    });
    expect([asked(), kinds]).toEqual([1, ["summary"]]);
  });

  it("has no result if the run ends before it is committed, and one if the run ends after that", async () => {
    const hold = Promise.withResolvers<Reply>();
    const before = setup([100, 50], { reply: () => hold.promise });
    const ending = before.asAsked();
    await turn();
    before.run.end("abort" as never);
    hold.resolve(SUMMARY);
    expect([await ending, before.kinds]).toEqual([undefined, []]);
    const appended = (): void => after.run.end("abort" as never);
    const after = setup([100, 50], { background: { take: async () => undefined, appended, stop: () => {} } });
    expect(await after.asAsked()).toMatchObject({ result: { compacted: true } });
  });

  test.each<[string, Reply, object]>([
    ["fails", { ...failure("auth"), usage }, { ok: false, compacted: false, reason: "auth error" }],
    [
      "is not smaller",
      { content: [{ type: "text", text: `${SUMMARY}\n${"word ".repeat(9_000)}` }], usage },
      { ok: true, compacted: false, reason: expect.stringContaining("not be smaller") },
    ],
  ])("whose summary %s changes nothing, and is paid for", async (_, reply, result) => {
    const { asAsked, kinds, run } = setup([100], { reply: () => reply });
    expect(await asAsked()).toMatchObject({ result });
    expect([kinds, run.body.usage?.input]).toEqual([[], 10]);
  });
});

describe("after the provider has refused the context", () => {
  it("it is summarised and sent again, whatever its size", async () => {
    const { recover, kinds, events } = setup([50, 49], { outputs: true });
    expect(await recover()).toEqual({ fits: true });
    expect(kinds).toEqual(["summary"]);
    expect(events[0]).toMatchObject({ reason: "overflow" });
  });

  test.each([
    // Half of the second size is the target.
    [
      [900, 800, 400],
      ["summary", "truncate"],
    ],
    [
      [800, 800, 401, 400],
      ["summary", "truncate", "images"],
    ],
    [
      [800, 800, 700, 700, 700],
      ["summary", "truncate", "images", "prune"],
    ],
  ])("a second time, contexts of %j tokens take the steps %j", async (sizes, steps) => {
    const { recover, kinds } = setup(sizes, { outputs: true, images: true });
    await recover();
    expect(await recover()).toEqual({ fits: true });
    expect(kinds).toEqual(steps);
    // A third time nothing is left.
    if (steps.length === 4)
      expect(await recover()).toEqual({
        ...{ fits: false, kind: "context_overflow", reason: "nothing more can be left out" },
      });
  });

  it("it is sent again if one of the steps helped, though the later ones did not", async () => {
    const { recover, run, kinds } = setup([800, 800, 700], { outputs: true });
    await recover();
    run.failedMeasures.add("prune");
    expect([await recover(), kinds]).toEqual([{ fits: true }, ["summary", "truncate"]]);
  });

  it("and compaction is off, the run ends", async () => {
    const { recover, kinds } = setup([800], { limits: { enabled: false }, outputs: true });
    expect(await recover()).toMatchObject({ fits: false, kind: "context_overflow" });
    expect(kinds).toEqual([]);
  });
});

describe("a summary in the background", () => {
  it("is told of a summary that was appended, and of no other step", async () => {
    const told: number[] = [];
    const background = { take: async () => undefined, appended: () => told.push(kinds.length), stop: () => {} };
    const { ensure, kinds } = setup([950, 900, 899], { background, outputs: true });
    await ensure();
    expect([kinds, told]).toEqual([["summary", "truncate"], [1]]);
  });

  it("that comes when the run has just ended is not appended", async () => {
    const details = { kind: "summary" };
    const entry = { type: "compaction", summary: "s", firstKeptEntryId: "e", tokensBefore: 950, details, timestamp: 1 };
    const take = async (): Promise<object> => {
      run.end("abort" as never);
      return { before: 950, after: 10, entry };
    };
    const { ensure, run, kinds } = setup([950, 100], { background: { take, appended: () => {}, stop: () => {} } });
    expect(await ensure()).toEqual({ fits: true });
    expect([kinds, run.failedMeasures.size]).toEqual([[], 0]);
  });

  it("that is late is not followed by a second one", async () => {
    const background = { take: async () => "late", appended: () => {}, stop: () => {} };
    const { ensure, asked } = setup([5_000], { background });
    expect(await ensure()).toEqual({ fits: false, kind: "compaction_failure", reason: "the summary took too long" });
    expect(asked()).toBe(0);
  });
});

import { describe, expect, it, test } from "vitest";
import { TestEngine, type TestEngineOptions } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { failure, inTurn, type Reply, stall } from "../../../test/kit/model.ts";
import { DEFAULT_CONTEXT_LIMITS } from "../../core/history/compaction-settings.ts";
import type { RunId } from "../../core/ids.ts";
import type { RunOutcome, RunRecord, RunResult } from "../../core/run/run.ts";
import { compactSession } from "../context/compaction/compact-session.ts";
import { readRunResult } from "./run-result.ts";

const SUMMARY = "## Goal\nto test\n\n## Progress\n- done\n\n## Original Request\nx\n\n## Early Progress\ny";
const words = "word ".repeat(40);

/** A window of 500 tokens, of which the last 125 are kept. */
const small = {
  ...DEFAULT_CONTEXT_LIMITS,
  contextWindow: 500,
  memoryFlush: { ...DEFAULT_CONTEXT_LIMITS.memoryFlush, enabled: false },
};
const report = { chars: 3, parts: [{ name: "prompt", source: "profile" as const, chars: 3 }], missing: ["SOUL.md"] };

interface Case extends TestEngineOptions {
  readonly outcome: RunOutcome;
  /** Leads to the end of the run under test. Default: one message. */
  act?(engine: TestEngine): Promise<void>;
  readonly expects?: Partial<RunResult["meta"]> | { readonly payloads: RunResult["payloads"] };
}

const compact = async (engine: TestEngine): Promise<void> => {
  await engine.send({ kind: "compact" });
  await engine.settle();
};
const talkAndCompact = async (engine: TestEngine, script?: TestEngine["script"]): Promise<void> => {
  for (const n of [1, 2, 3, 4]) await engine.tell(`q${n} ${words}`);
  if (script) engine.script = script;
  await compact(engine);
};
const abortDuring = async (engine: TestEngine): Promise<void> => {
  await engine.tell("go");
  const [run] = await engine.runs();
  await engine.system.runs.abort(run?.id as never);
  await engine.settle();
  await engine.advance(5_000);
};
const uncounted = (text: string): Reply => ({ content: [{ type: "text", text }], usage: undefined });
const said = (content: string): readonly { type: "text"; text: string }[] => [{ type: "text", text: content }];
const prompt = { model: "scripted", system: "abc", report };

const CASES: Readonly<Record<string, Case>> = {
  "an answer": { outcome: "ok" },
  "an answer of several blocks after a tool": {
    outcome: "ok",
    tools: { work: {} },
    script: inTurn(
      { call: [{ name: "work" }] },
      { content: [...said("one "), { type: "thinking", thinking: "x" }, ...said("two")] },
    ),
  },
  "an empty answer": { outcome: "ok", script: () => ({ content: [] }) },
  "an answer with a report of its prompt": {
    outcome: "ok",
    system: { resolveModel: () => prompt },
    expects: { systemPromptReport: report },
  },
  "an answer and messages that a tool sent": {
    outcome: "ok",
    tools: {
      send: {
        execute: () => ({
          content: [],
          deliveries: [
            { target: { channel: "test", to: "ben" }, payload: { text: "hello" } },
            { target: { channel: "test", to: "cat" }, payload: { mediaUrl: "x" } },
          ],
        }),
      },
    },
    script: inTurn({ call: [{ name: "send" }] }, "sent"),
  },
  "an error of the model": { outcome: "error", script: () => failure("auth") },
  "an error of the model after some text": {
    outcome: "error",
    script: () => ({ ...failure("auth"), content: [...said("I was")] }),
  },
  "too many turns": {
    outcome: "error",
    tools: { work: {} },
    script: () => ({ call: [{ name: "work" }] }),
    settings: { runs: { maxIterations: 2 } },
  },
  "a budget error that was announced before": {
    outcome: "error",
    settings: { budgets: { agent: { tokens: 1 } } },
    act: async (engine) => {
      await engine.tell("one");
      await engine.tell("two");
    },
    expects: { payloads: [] },
  },
  "an abort": { outcome: "aborted", script: (call) => stall(call, gate<Reply>().promise), act: abortDuring },
  "an abort after some text": {
    outcome: "aborted",
    script: (call) => stall(call, gate<Reply>().promise, "I was about to"),
    act: abortDuring,
  },
  "an abort with open calls": {
    outcome: "aborted",
    tools: { stubborn: { execute: () => gate<string>().promise }, later: {} },
    script: () => ({ call: [{ name: "stubborn", with: { a: 1 } }, { name: "later" }] }),
    act: abortDuring,
    expects: {
      pendingToolCalls: [
        { id: "call-1-0", name: "stubborn", arguments: { a: 1 } },
        { id: "call-1-1", name: "later", arguments: {} },
      ],
    },
  },
  "a timeout": {
    outcome: "timeout",
    script: (call) => stall(call, gate<Reply>().promise, "I was"),
    act: async (engine) => {
      await engine.tell("go");
      await engine.advance(600_000);
    },
  },
  "a compaction": {
    outcome: "ok",
    system: { contextLimits: () => small },
    script: () => uncounted("answer"),
    act: (engine) => talkAndCompact(engine, () => uncounted(SUMMARY)),
  },
  "a compaction that was skipped": {
    outcome: "ok",
    act: async (engine) => {
      await engine.tell("go");
      await compact(engine);
    },
    expects: {
      compaction: {
        ok: true,
        compacted: false,
        reason: "the summary would not be smaller than the messages it replaces",
      },
    },
  },
  "a compaction that failed": {
    outcome: "error",
    system: { contextLimits: () => small },
    script: () => uncounted("answer"),
    act: (engine) => talkAndCompact(engine, () => failure("auth")),
    expects: { compaction: { ok: false, compacted: false, reason: "auth error" } },
  },
};

describe("the live result equals the one looked up later, for", () => {
  test.each(Object.entries(CASES))("%s", async (_name, { outcome, act, expects, ...options }) => {
    const engine = await TestEngine.open(options);
    const ends: RunResult[] = [];
    engine.system.events.listen((event) => {
      if (event.type === "end") ends.push(event.result);
    });
    await (act ? act(engine) : engine.tell("go"));
    const live = ends.at(-1);
    expect(live?.outcome).toBe(outcome);
    expect(live && { ...live, ...live.meta }).toMatchObject(expects ?? {});
    const stored = await readRunResult(engine.store, live?.runId as never);
    expect(stored).toEqual(live);
    expect(JSON.parse(JSON.stringify(stored))).toEqual(JSON.parse(JSON.stringify(live)));
  });
});

it("measures the same duration live and by lookup while the clock moves during the commits", async () => {
  const options: { hooks?: object } = {};
  const engine = await TestEngine.open({ system: options });
  const move = (ms: number): undefined => engine.clock.jump(ms) as undefined;
  options.hooks = { sessionFor: async () => move(3), opsOnRunEnd: async () => move(7) ?? [] };
  await engine.restart(options);
  const answer = engine.system.postAndAwait({ ...engine.person(), body: { kind: "user", text: "go" } });
  await engine.settle();
  const { result } = await answer;
  expect(result?.meta.durationMs).toBe(3);
  expect(await readRunResult(engine.store, result?.runId as never)).toEqual(result);
});

it("answers a request to compact with the stored result if the live one was missed", async () => {
  const engine = await TestEngine.open({ system: { contextLimits: () => small }, script: () => uncounted("answer") });
  for (const n of [1, 2, 3, 4]) await engine.tell(`q${n} ${words}`);
  const agentId = await engine.agentId();
  engine.script = () => uncounted(SUMMARY);
  const postAndAwait: TestEngine["system"]["postAndAwait"] = async (posting, waiting) => {
    const answer = engine.system.postAndAwait(posting, waiting);
    await engine.settle();
    const { result } = await answer;
    return { result: await readRunResult(engine.store, result?.runId as never) };
  };
  expect(await compactSession({ postAndAwait }, { agentId })).toMatchObject({ ok: true, compacted: true });
});

describe("a run that an older version ended", () => {
  const old = async (outcome: RunOutcome, body: Partial<RunRecord["body"]>): Promise<RunResult | undefined> => {
    const engine = await TestEngine.open();
    await engine.tell("go");
    const [run] = (await engine.runs()) as [RunRecord];
    const { answer: _answer, ...rest } = run.body;
    const store = {
      ...engine.store,
      run: async () => ({ ...run, outcome, body: { ...rest, ...body } as RunRecord["body"] }),
    };
    return readRunResult(store, run.id);
  };

  it("still has its answer", async () => {
    expect(await old("ok", {})).toMatchObject({
      payloads: [{ text: "answer to go", replyToId: "m1" }],
      meta: { agentMeta: { provider: "scripted", usage: { total: 15 } }, pendingToolCalls: [] },
    });
  });

  it("still has its error", async () => {
    const error = { kind: "model", message: "no" } as const;
    expect(await old("error", { error })).toMatchObject({ payloads: [{ text: "no", isError: true }], meta: { error } });
  });

  it("is still aborted", async () => {
    expect(await old("aborted", {})).toMatchObject({ payloads: [], meta: { aborted: true } });
  });
});

it.each([
  ["is not known", undefined],
  ["has not ended", { agentId: "a1", body: { lastPos: 4 } }],
])("of a run that %s there is no result, and history is not read", async (_title, run) => {
  const store = { run: async () => run, linesBack: async () => Promise.reject(new TypeError("not read")) };
  expect(await readRunResult(store as never, "r1" as RunId)).toBeUndefined();
});

it.each([
  [4, [["a1", { before: 5, limit: 1 }]]],
  [0, [["a1", { before: 1, limit: 1 }]]],
  [undefined, []],
])("the answer of a run whose last line is at %s is read by its place", async (lastPos, reads) => {
  const seen: unknown[] = [];
  const run = {
    id: "r1",
    agentId: "a1",
    startedAt: 1,
    endedAt: 2,
    outcome: "ok",
    body: { lastPos, seqs: [], calls: [] },
  };
  const store = {
    run: async () => run,
    linesBack: async (...given: unknown[]) => {
      seen.push(given);
      return [{ line: "not a line" }];
    },
  };
  expect(await readRunResult(store as never, "r1" as RunId)).toMatchObject({ runId: "r1", outcome: "ok" });
  expect(seen).toEqual(reads);
});

/** What a model is asked for a summary, and what is done with each kind of answer. */
import { getEventListeners } from "node:events";
import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { recordingLog } from "../../../../test/kit/log.ts";
import { failure, modelResult, type Reply } from "../../../../test/kit/model.ts";
import type { Entry } from "../../../core/history/entry.ts";
import type { ModelRequest, ModelResult } from "../../../core/ports/model.ts";
import { AGENT } from "./histories.test-kit.ts";
import type { CompactionPlan } from "./plan-compaction.ts";
import { summarise } from "./summarise.ts";
import { SUMMARY_SYSTEM_PROMPT } from "./summary-prompt.ts";

const SUMMARY = "## Goal\nto test\n\n## Progress\n- done";
const PREFIX = "## Original Request\nx\n\n## Early Progress\ny";
const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 };

let count = 0;
const spoken = (text: string): Entry =>
  ({
    ...{ type: "message", id: `e${++count}`, parentId: null, timestamp: 1, role: "user" },
    content: [{ type: "text", text }],
  }) as unknown as Entry;
const planOf = (more: Partial<CompactionPlan>): CompactionPlan =>
  ({ history: [], prefix: [], ...more }) as unknown as CompactionPlan;

type Summarising = Parameters<typeof summarise>[1];
type Answer = (request: ModelRequest, n: number, signal: AbortSignal) => Reply | Promise<Reply>;

/** Asks for a summary of one message unless told otherwise. */
function setup(answer: Answer, more: Partial<Summarising> = {}) {
  const clock = virtualClock();
  const asked: ModelRequest[] = [];
  const ended = new AbortController();
  const call = async (request: ModelRequest, signal: AbortSignal): Promise<ModelResult> => {
    asked.push(request);
    return modelResult(await answer(request, asked.length, signal), asked.length);
  };
  const summarising: Summarising = {
    agentId: AGENT,
    choice: { model: "m", thinking: "high" },
    sessionId: "s",
    plan: planOf({ history: [spoken("hello")] }),
    contextWindow: 10_000,
    signal: ended.signal,
    patienceMs: 60_000,
    ...more,
  };
  const outcome = summarise({ model: { call } as never, clock, log: recordingLog([]) }, summarising);
  return { outcome, asked, clock, ended };
}
const textOf = (request: ModelRequest | undefined): string =>
  (request?.messages[0]?.content[0] as { text: string } | undefined)?.text ?? "";
/** Everything that can happen without a timer. */
const turn = (): Promise<void> => new Promise((done) => setImmediate(done));
const inContent = (...texts: string[]): Reply => ({ content: texts.map((text) => ({ type: "text", text })), usage });

describe("a summary", () => {
  it("is the text of the answer without the space around it, with its model and its cost", async () => {
    const { outcome, asked } = setup(() => inContent("\n\n## Goal\nto ", "test\n\n## Progress\n- done \n"));
    expect(await outcome).toEqual({
      ok: true,
      said: { history: SUMMARY, prefix: undefined, provider: "scripted", model: "scripted-1", usage },
    });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ model: "m", system: SUMMARY_SYSTEM_PROMPT, tools: [], sessionId: "s", tries: 1 });
    expect(asked[0]).not.toHaveProperty("thinking");
  });

  it("updates the one before it, without what the program has put behind that", async () => {
    const previous = { summary: "## Goal\nold\n\n<read-files>\n/secret\n</read-files>", details: {} };
    const { outcome, asked } = setup(() => SUMMARY, {
      plan: planOf({ history: [spoken("hello")], previous } as never),
    });
    await outcome;
    expect(textOf(asked[0])).toContain("## Goal\nold");
    expect(textOf(asked[0])).not.toContain("/secret");
  });

  it("of a long conversation is written in portions, each from the one before", async () => {
    const history = Array.from({ length: 4 }, (_, n) => spoken(`part ${n} ${"x".repeat(360)}`));
    const { outcome, asked } = setup((_, n) => `## Goal\nround ${n}\n\n## Progress\n- done`, {
      plan: planOf({ history }),
      contextWindow: 250,
    });
    expect(await outcome).toMatchObject({
      ok: true,
      said: { history: "## Goal\nround 4\n\n## Progress\n- done", usage: { input: 40, output: 20 } },
    });
    expect(asked.map((request) => /round (\d)/.exec(textOf(request))?.[1])).toEqual([undefined, "1", "2", "3"]);
  });

  it("of a turn that is cut in two has both parts", async () => {
    const { outcome, asked } = setup((_, n) => (n === 1 ? SUMMARY : PREFIX), {
      plan: planOf({ history: [spoken("before")], prefix: [spoken("begun")] }),
      instructions: "the names",
    });
    expect(await outcome).toMatchObject({ ok: true, said: { history: SUMMARY, prefix: PREFIX } });
    expect(textOf(asked[0])).toContain("the names");
    expect(textOf(asked[1])).toContain("begun");
    expect(textOf(asked[1])).not.toContain("to test");
  });

  it("of a turn that is cut in two and is the first one has that part alone", async () => {
    const { outcome } = setup(() => PREFIX, { plan: planOf({ prefix: [spoken("begun")] }) });
    expect(await outcome).toMatchObject({ ok: true, said: { history: undefined, prefix: PREFIX } });
  });

  it("has nothing of what the model thought", async () => {
    const { outcome } = setup(() => ({
      content: [
        { type: "thinking", thinking: "hm" },
        { type: "text", text: SUMMARY },
      ],
      usage,
    }));
    expect(await outcome).toMatchObject({ ok: true, said: { history: SUMMARY } });
  });

  it("of nothing is none, and costs nothing", async () => {
    const { outcome, asked } = setup(() => SUMMARY, { plan: planOf({}) });
    expect(await outcome).toEqual({ ok: false, why: "empty", reason: "nothing to summarise" });
    expect(asked).toEqual([]);
  });
});

describe("an answer that is not a summary", () => {
  test.each<[string, Reply, string, number]>([
    ["empty", inContent(" \n"), "empty", 2],
    ["a continuation", inContent("Certainly!"), "no-summary", 2],
    ["a refusal", { ...failure("auth"), usage }, "auth", 1],
  ])("%s is asked for again at most once, and every answer is counted", async (_, reply, why, calls) => {
    const { outcome, asked } = setup(() => reply);
    expect(await outcome).toMatchObject({ ok: false, why, usage: { input: 10 * calls, output: 5 * calls } });
    expect(asked).toHaveLength(calls);
  });

  it("is forgotten if the second one is a summary, which is asked for in stronger words", async () => {
    const { outcome, asked } = setup((_, n) => (n === 1 ? inContent("Certainly!") : inContent(SUMMARY)));
    const [first = "", second = ""] = await outcome.then(() => asked.map(textOf));
    expect(second.startsWith(first.slice(0, 20))).toBe(true);
    expect(second.length).toBeGreaterThan(first.length);
    expect(await outcome).toMatchObject({ ok: true, said: { history: SUMMARY, usage: { input: 20, output: 10 } } });
  });

  it("for the beginning of a turn leaves no summary at all", async () => {
    const { outcome } = setup((_, n) => (n === 1 ? SUMMARY : failure("request")), {
      plan: planOf({ history: [spoken("before")], prefix: [spoken("begun")] }),
    });
    expect(await outcome).toMatchObject({ ok: false, why: "request" });
  });
});

describe("a portion that is too large for the model", () => {
  it("is halved twice, and what the refusals cost is counted", async () => {
    const { outcome, asked } = setup(() => ({ ...failure("overflow"), usage }), {
      plan: planOf({ history: [spoken("x".repeat(4_000))] }),
      contextWindow: 2_000,
    });
    expect(await outcome).toMatchObject({ ok: false, why: "overflow", usage: { input: 30 } });
    expect(asked).toHaveLength(3);
    const [first = 0, second = 0, third = 0] = asked.map((request) => textOf(request).length);
    expect(first - second).toBe(1_600);
    expect(second - third).toBe(800);
  });

  it("is summarised in the smaller ones", async () => {
    const { outcome } = setup((_, n) => (n === 1 ? { ...failure("overflow"), usage } : inContent(SUMMARY)));
    expect(await outcome).toMatchObject({ ok: true, said: { usage: { input: 20 } } });
  });
});

describe("a call that fails for a moment", () => {
  it("is repeated after a wait, with its number", async () => {
    const { outcome, asked, clock } = setup((_, n) => (n === 1 ? failure("transient") : SUMMARY));
    await clock.advance(30_000, turn);
    expect(await outcome).toMatchObject({ ok: true });
    expect(asked.map(({ tries }) => tries)).toEqual([1, 2]);
    expect(clock.timers).toBe(0);
  });

  it("is not repeated if the wait would be longer than the patience", async () => {
    const { outcome, asked } = setup(() => failure("rate", { retryAfterMs: 60_001 }));
    expect(await outcome).toMatchObject({ ok: false, why: "rate" });
    expect(asked).toHaveLength(1);
    const patient = setup((_, n) => (n === 1 ? failure("rate", { retryAfterMs: 60_000 }) : SUMMARY));
    await patient.clock.advance(60_000, turn);
    expect(await patient.outcome).toMatchObject({ ok: true });
  });

  it("is not repeated after the summary was stopped", async () => {
    const { outcome, asked, ended } = setup(() => failure("transient"));
    await turn();
    ended.abort();
    expect(await outcome).toMatchObject({ ok: false, why: "aborted" });
    expect(asked).toHaveLength(1);
  });
});

describe("a summary that is stopped", () => {
  it("ends at once, even if the model does not listen", async () => {
    const { outcome, ended, asked } = setup(() => new Promise<Reply>(() => {}));
    await turn();
    expect(asked).toHaveLength(1);
    ended.abort();
    expect(await outcome).toMatchObject({ ok: false, why: "aborted" });
  });

  it("before it begins asks no model", async () => {
    const { outcome, asked } = setup(() => SUMMARY, { signal: AbortSignal.abort() });
    expect(await outcome).toMatchObject({ ok: false, why: "aborted" });
    expect(asked).toEqual([]);
  });

  it.each<[string, () => Reply]>([
    ["ended", () => SUMMARY],
    ["failed", () => failure("auth")],
    [
      "thrown",
      () => {
        throw new Error("no route");
      },
    ],
  ])("later than it has %s finds no listener left behind", async (_, reply) => {
    const signal = new AbortController().signal;
    const { outcome, clock } = setup(reply, { signal });
    await clock.advance(600_000, turn);
    await outcome;
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

describe("limited spending", () => {
  const permit = { maxTokens: 77 } as never;
  const run = async (permission: unknown, reply: Reply = SUMMARY) => {
    const settled: unknown[] = [];
    const gate = {
      before: async () => permission as never,
      after: (one: unknown, { content }: ModelResult) => settled.push([one, content.length]),
    };
    const { outcome, asked } = setup(() => reply, { gate });
    return { outcome: await outcome, asked, settled };
  };

  it("allows a call with its limit, and gets the result", async () => {
    const { outcome, asked, settled } = await run({ kind: "go", permit });
    expect(outcome.ok).toBe(true);
    expect(asked[0]).toMatchObject({ maxTokens: 77 });
    expect(settled).toEqual([[permit, 1]]);
  });

  it("is told of a call whose end nobody has heard: it may have cost something", async () => {
    const results: ModelResult[] = [];
    const gate = {
      before: async () => ({ kind: "go", permit }) as never,
      after: (_: unknown, result: ModelResult) => results.push(result),
    };
    const stopped = setup(() => new Promise<Reply>(() => {}), { gate });
    await turn();
    stopped.ended.abort();
    await stopped.outcome;
    const broken = setup(
      (_, n) => {
        if (n === 1) throw new Error("no route");
        return SUMMARY;
      },
      { gate },
    );
    await broken.clock.advance(60_000, turn);
    await broken.outcome;
    expect(results).toMatchObject([
      { unheard: true, error: { class: "aborted" } },
      { unheard: true, error: { class: "transient", message: expect.stringContaining("no route") } },
      { content: [{ type: "text" }] },
    ]);
    expect(results[2]?.unheard).toBeUndefined();
  });

  it("that does not count this call settles nothing", async () => {
    const { outcome, settled } = await run({ kind: "go" });
    expect([outcome.ok, settled]).toEqual([true, []]);
  });

  test.each([
    [{ kind: "reached", reached: { text: "the day's limit" } }, "request", "the day's limit"],
    [{ kind: "ended" }, "aborted", "aborted"],
  ])("that says %j stops the summary before the call", async (permission, why, reason) => {
    const { outcome, asked, settled } = await run(permission);
    expect(outcome).toMatchObject({ ok: false, why, reason });
    expect([asked, settled]).toEqual([[], []]);
  });
});

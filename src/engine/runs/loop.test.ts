import { describe, expect, it } from "vitest";
import { z } from "zod";
import { channel } from "../../../test/kit/channel.ts";
import { virtualClock } from "../../../test/kit/clock.ts";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { failure, inTurn, lastText, type Reply, stall } from "../../../test/kit/model.ts";
import { DEFAULT_CONTEXT_LIMITS } from "../../core/history/compaction-settings.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { RunResult } from "../../core/run/run.ts";
import { SUMMARY_SYSTEM_PROMPT } from "../context/compaction/summary-prompt.ts";
import { LiveRun } from "../runtime/live-run.ts";
import type { RunEvent } from "../runtime/run-events.ts";
import { NOT_STARTED, UNKNOWN_OUTCOME } from "./call-tool.ts";
import { OVERFLOW_TEXT, runLoop, TOOL_LIMIT_TEXT } from "./loop.ts";

const ask = (engine: TestEngine, text = "go") =>
  engine.system.postAndAwait({ ...engine.person(), body: { kind: "user", text } }, { timeoutMs: 3600_000 });

async function resultOf(engine: TestEngine, text = "go", ms = 0): Promise<RunResult> {
  const answer = ask(engine, text);
  await engine.advance(ms);
  const { result } = await answer;
  if (!result) throw new TypeError("no run");
  return result;
}

const liveRun = async (engine: TestEngine): Promise<RunId> => (await engine.runs()).at(-1)?.id as RunId;

describe("the result of a run", () => {
  it("has every field", async () => {
    const engine = await TestEngine.open({
      script: async ({ n }) => (n === 1 ? { call: [{ name: "work" }] } : "the answer"),
      tools: { work: {} },
    });
    await engine.say("go");
    const result = await resultOf(engine, "again");
    const agentId = await engine.agentId();
    const [run] = await engine.runs();
    expect(result).toEqual({
      runId: (await engine.runs()).at(-1)?.id,
      agentId,
      outcome: "ok",
      payloads: [{ text: "the answer" }],
      meta: {
        durationMs: 0,
        aborted: false,
        agentMeta: {
          sessionId: run?.sessionId,
          provider: "scripted",
          model: "scripted-1",
          usage: { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, total: 15 },
        },
        stopReason: "stop",
        pendingToolCalls: [],
      },
      didSendViaMessagingTool: false,
      messagingToolSentTexts: [],
      messagingToolSentTargets: [],
    });
    expect((await engine.store.agent(agentId))?.state.stats).toMatchObject({
      scripted: { "scripted-1": { total: 45 } },
    });
  });

  it("names the message it replies to", async () => {
    const engine = await TestEngine.open();
    const source = { connector: "test", channelId: "ann", messageId: "m77" };
    const answer = engine.system.postAndAwait({ ...engine.person(), body: { kind: "user", text: "go" }, source });
    await engine.settle();
    expect((await answer).result?.payloads).toEqual([{ text: "answer to go", replyToId: "m77" }]);
    expect(engine.channel().calls[0]?.payload.replyToId).toBe("m77");
  });

  it("measures its duration from the take to the rest, with tools and waits", async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({ script: (call) => stall(call, hold.promise) });
    const answer = ask(engine);
    await engine.advance(1_500);
    hold.open("late");
    await engine.settle();
    expect((await answer).result?.meta.durationMs).toBe(1_500);
  });
});

describe("tool calls", () => {
  it("get the agent as it is at the time of the call", async () => {
    const seen: unknown[] = [];
    const engine = await TestEngine.open({
      script: async ({ n }) => (n === 1 ? { call: [{ name: "look" }] } : "done"),
      tools: {
        look: {
          execute: (_input, { agent, agentId, runId }) => {
            seen.push([agent.id === agentId, agent.runId === runId, agent.descriptor.type, agent.state.stats]);
            return "seen";
          },
        },
      },
    });
    await engine.say("go");
    await engine.settle();
    expect(seen).toEqual([
      [true, true, "user", { scripted: { "scripted-1": expect.objectContaining({ total: 15 }) } }],
    ]);
  });

  it("run in parallel if the tools allow it, with their results in the order of the calls", async () => {
    const holds = { a: gate<string>(), b: gate<string>() };
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "a" }, { name: "b" }] }, "done"),
      tools: {
        a: { parallel: true, execute: () => holds.a.promise },
        b: { parallel: true, execute: () => holds.b.promise },
      },
    });
    await engine.tell("go");
    expect(engine.executions.map(({ name }) => name)).toEqual(["a", "b"]);
    holds.b.open("second");
    await engine.settle();
    holds.a.open("first");
    await engine.settle();
    expect((await engine.transcript()).slice(1)).toEqual([
      "assistant: a() b()",
      "tool: first",
      "tool: second",
      "assistant: done",
    ]);
  });

  it("run one after the other if one tool forbids parallel calls, each after its intent", async () => {
    let now = 0;
    let most = 0;
    const slow = async () => {
      most = Math.max(most, ++now);
      await Promise.resolve();
      now -= 1;
      return "ok";
    };
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "a" }, { name: "b" }, { name: "a" }] }, "done"),
      tools: { a: { parallel: true, execute: slow }, b: { parallel: false, execute: slow } },
    });
    await engine.tell("go");
    expect(most).toBe(1);
    expect(engine.commits.filter(({ site }) => site === "result")).toHaveLength(3);
  });

  it("are committed as intended before they are executed", async () => {
    const seen: string[] = [];
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "work" }] }, "done"),
      tools: {
        work: {
          execute: async (_input, { runId, callId }) => {
            const run = await engine.store.run(runId);
            seen.push(run?.body.calls.find((call) => call.callId === callId)?.state ?? "nowhere");
            return "ok";
          },
        },
      },
    });
    await engine.tell("go");
    expect(seen).toEqual(["intended"]);
  });

  it("that are invalid return errors to the model, and the run continues", async () => {
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "nobody" }, { name: "strict", with: { n: "x" } }, { name: "thrower" }] }, "done"),
      tools: {
        strict: { input: z.object({ n: z.number() }), parallel: true },
        thrower: {
          parallel: true,
          execute: () => {
            throw new TypeError("it broke");
          },
        },
      },
    });
    await engine.tell("go");
    const results = (await engine.transcript()).slice(2, 5);
    expect(results[0]).toBe("tool: Unknown tool: nobody");
    expect(results[1]).toMatch(/^tool: Invalid arguments for strict/);
    expect(results[2]).toBe("tool: it broke");
    expect((await engine.entries()).filter(({ role }) => role === "tool").map(({ isError }) => isError)).toEqual([
      true,
      true,
      true,
    ]);
    expect(engine.shown()).toEqual(["done"]);
  });

  it("with the same id are all executed, and each gets a result", async () => {
    let times = 0;
    const engine = await TestEngine.open({
      script: inTurn(
        {
          call: [
            { id: "x", name: "work" },
            { id: "x", name: "work" },
          ],
        },
        "done",
      ),
      tools: { work: { execute: () => `result ${++times}` } },
    });
    await engine.tell("go");
    expect((await engine.transcript()).slice(1)).toEqual([
      "assistant: work() work()",
      "tool: result 1",
      "tool: result 2",
      "assistant: done",
    ]);
  });

  it("that were cut off at the length limit are never executed, and the model reads why", async () => {
    const engine = await TestEngine.open({
      script: ({ n }) =>
        n === 1
          ? {
              stopReason: "length",
              content: [{ type: "toolCall", id: "c1", name: "work", arguments: {} }],
            }
          : "done",
      tools: { work: {} },
    });
    await engine.tell("go");
    expect(engine.executions).toEqual([]);
    expect((await engine.transcript())[2]).toMatch(/^tool: Not executed: the answer was cut off/);
    expect((await engine.entries()).find(({ role }) => role === "tool")).toMatchObject({ isError: true });
    expect(engine.shown()).toEqual(["done"]);
  });

  it("with malformed arguments are never executed; the others are, and the model continues", async () => {
    const engine = await TestEngine.open({
      script: ({ n }) =>
        n === 1
          ? {
              stopReason: "tool_calls",
              content: [
                { type: "toolCall", id: "c1", name: "work", arguments: {}, malformed: true },
                { type: "toolCall", id: "c2", name: "work", arguments: {} },
              ],
            }
          : "done",
      tools: { work: {} },
    });
    await engine.tell("go");
    expect(engine.executions).toHaveLength(1);
    expect((await engine.transcript()).join("\n")).toContain(
      "tool: Not executed: the arguments are not a complete JSON",
    );
    expect((await engine.entries()).filter(({ role }) => role === "tool").map(({ isError }) => isError)).toEqual([
      true,
      false,
    ]);
    expect(engine.shown()).toEqual(["done"]);
  });

  it("that are cut off three times in a row end the run, and one that is whole in between begins the count again", async () => {
    const cut = {
      stopReason: "length",
      content: [{ type: "toolCall", id: "c", name: "work", arguments: {} }],
    } as const;
    const engine = await TestEngine.open({
      script: ({ n }) => (n === 3 ? { call: [{ name: "work" }] } : cut),
      tools: { work: {} },
    });
    const result = await resultOf(engine);
    expect(engine.requests).toHaveLength(6);
    expect(engine.executions).toHaveLength(1);
    expect(engine.shown()).toEqual([expect.stringContaining("cut off at their length limit three times in a row")]);
    expect(result).toMatchObject({ outcome: "error", meta: { error: { kind: "tool_limit" } } });
  });

  it("whose output is unreadable become an error, and history stays readable", async () => {
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "odd" }] }, "done"),
      tools: { odd: { execute: () => ({ content: [{ type: "resource", uri: "x" }] }) as never } },
    });
    await engine.tell("go");
    await engine.restart();
    await engine.tell("again");
    expect(engine.logged("warn")).toEqual([]);
    expect(JSON.parse(engine.sentBytes.at(-1) ?? "[]")[0].content[0].text).toBe("go");
  });

  it("stop at the iteration limit, with a text for the person", async () => {
    const engine = await TestEngine.open({
      script: () => ({ call: [{ name: "work" }] }),
      tools: { work: {} },
      system: { runs: { maxIterations: 4 } },
    });
    const result = await resultOf(engine);
    expect(engine.requests).toHaveLength(4);
    expect(engine.shown()).toEqual([TOOL_LIMIT_TEXT]);
    expect(TOOL_LIMIT_TEXT).toBe("Tool execution limit reached.");
    expect(result).toMatchObject({ outcome: "error", meta: { error: { kind: "tool_limit" } } });
  });
});

describe("the ops of a tool", () => {
  const fact = (key: string) => ({ op: "fact.put", key, value: "yes" }) as const;

  it("are committed together with its result (M12)", async () => {
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "note" }] }, "done"),
      tools: { note: { execute: () => ({ content: [{ type: "text", text: "noted" }], ops: [fact("seen")] }) } },
    });
    await engine.tell("go");
    expect(await engine.store.fact("seen")).toBe("yes");
    const [result] = engine.commits.filter(({ site }) => site === "result");
    expect(result?.ops.map(({ op }) => op)).toEqual(["fact.put", "run.step", "entries.append"]);
  });

  it("have no effect if the process dies before that commit, and take effect once when the call is repeated", async () => {
    const engine = await TestEngine.open({
      script: ({ request }) => (request.messages.at(-1)?.role === "tool" ? "done" : { call: [{ name: "note" }] }),
      tools: { note: { execute: () => ({ content: [{ type: "text", text: "noted" }], ops: [fact("seen")] }) } },
    });
    engine.onCommit = (change) => (change.site === "result" ? "die-before" : "go");
    await engine.tell("go");
    expect(await engine.store.fact("seen")).toBeUndefined();
    await engine.restart();
    expect(await engine.store.fact("seen")).toBe("yes");
  });

  it("return an error to the model if the store refuses one of them, and none is applied", async () => {
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "post" }] }, ({ request }) => `it said ${lastText(request, "tool")}`),
      tools: {
        post: {
          execute: () => ({
            content: [{ type: "text", text: "posted" }],
            ops: [
              fact("half"),
              {
                op: "message.post",
                to: { agentId: "nobody0000000000000000000" as AgentId },
                message: { body: { kind: "system", text: "hi" }, acceptedAt: 1 },
              },
            ],
          }),
        },
      },
    });
    await engine.tell("go");
    expect(await engine.store.fact("half")).toBeUndefined();
    expect(engine.shown()).toEqual([expect.stringContaining("There is no agent")]);
    expect(await engine.states()).toEqual(["answered"]);
  });

  it("end the run visibly if the store does not know one of them, without endless retries", async () => {
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "odd" }] }, "done"),
      tools: { odd: { execute: () => ({ content: [], ops: [{ op: "nonsense" } as never] }) } },
    });
    await engine.tell("go");
    await engine.advance(10 * 60_000);
    expect(await engine.states()).toEqual([expect.stringMatching(/failed|answered/)]);
    expect(engine.shown()).toHaveLength(1);
  });

  it("wake another agent at once if they post a message to it", async () => {
    const engine = await TestEngine.open({
      script: ({ request }) => {
        const text = lastText(request);
        if (!text.includes("pass it on") || request.messages.at(-1)?.role === "tool") return `heard ${text}`;
        return { call: [{ name: "post" }] };
      },
      tools: {
        post: {
          execute: async () => ({
            content: [{ type: "text", text: "posted" }],
            ops: [
              {
                op: "message.post",
                to: { agentId: await engine.agentId("bob") },
                message: {
                  body: { kind: "system", text: "psst" },
                  delivery: engine.person("bob").delivery,
                  acceptedAt: 1,
                },
              },
            ],
          }),
        },
      },
    });
    await engine.tell("hello", { name: "bob" });
    await engine.tell("pass it on", { name: "ann" });
    expect(engine.shown()).toContain("heard <system_message>psst</system_message>");
  });
});

describe("a message that a tool sends", () => {
  const sender = (texts: readonly string[], to = "ann", more: object = {}) => ({
    execute: () => ({
      content: [{ type: "text" as const, text: "sent" }],
      deliveries: texts.map((text) => ({ target: { channel: "test", to }, payload: { text, ...more } })),
    }),
  });

  it("is committed with the tool's step and sent before the run ends", async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "send" }] }, (call) => stall(call, hold.promise)),
      tools: { send: sender(["news"]) },
    });
    await engine.tell("go");
    expect(engine.shown()).toEqual(["news"]);
    hold.open("and the answer");
    await engine.settle();
    expect(engine.shown()).toEqual(["news", "and the answer"]);
  });

  it("is not repeated by the final reply to the same target", async () => {
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "send" }] }, " news \n"),
      tools: { send: sender(["news"]) },
    });
    const result = await resultOf(engine);
    expect(engine.shown()).toEqual(["news"]);
    expect((await engine.deliveries()).map(({ state, reason }) => [state, reason])).toEqual([
      ["sent", undefined],
      ["suppressed", "already sent by a tool"],
    ]);
    expect(result).toMatchObject({
      didSendViaMessagingTool: true,
      messagingToolSentTexts: ["news"],
      messagingToolSentTargets: [{ channel: "test", to: "ann" }],
    });
  });

  it("to another person does not replace the reply to the person who asked", async () => {
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "bob" }, { name: "ann" }] }, "news"),
      tools: { bob: sender(["news"], "bob"), ann: sender(["something else"], "ann") },
    });
    await engine.tell("go");
    expect(engine.channel().calls.map(({ target, payload }) => `${target.to}: ${payload.text}`)).toEqual([
      "bob: news",
      "ann: something else",
      "ann: news",
    ]);
  });

  it("never hides an error of the run, even with the same text", async () => {
    const engine = await TestEngine.open({
      script: () => ({ call: [{ name: "send" }] }),
      tools: { send: sender([TOOL_LIMIT_TEXT]) },
      system: { runs: { maxIterations: 1 } },
    });
    await engine.tell("go");
    expect(engine.shown()).toEqual([TOOL_LIMIT_TEXT, TOOL_LIMIT_TEXT]);
  });

  it("is also recognised by the reply if it was split", async () => {
    const one = channel("test");
    one.maxTextLength = 10;
    const engine = await TestEngine.open({
      channels: [one],
      script: inTurn({ call: [{ name: "send" }] }, "many words that do not fit"),
      tools: { send: sender(["many words that do not fit"]) },
    });
    const result = await resultOf(engine);
    expect(engine.shown()).toEqual(["many words", "that do", "not fit"]);
    expect(result.messagingToolSentTexts).toEqual(["many words that do not fit"]);
  });

  it("is reported in the result even without text", async () => {
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "send" }] }, "here"),
      tools: {
        send: {
          execute: () => ({
            content: [{ type: "text" as const, text: "sent" }],
            deliveries: [{ target: { channel: "test", to: "ann" }, payload: { mediaUrl: "/a.png" } }],
          }),
        },
      },
    });
    const result = await resultOf(engine);
    expect(result).toMatchObject({
      didSendViaMessagingTool: true,
      messagingToolSentTexts: [],
      messagingToolSentTargets: [{ channel: "test", to: "ann" }],
    });
  });

  it("is sent once if the process dies after its step", async () => {
    const engine = await TestEngine.open({
      script: ({ request }) => (request.messages.at(-1)?.role === "tool" ? "done" : { call: [{ name: "send" }] }),
      tools: { send: sender(["news"]) },
    });
    engine.onCommit = (change) => (change.site === "result" ? "die-after" : "go");
    await engine.tell("go");
    await engine.restart();
    expect(engine.shown()).toEqual(["news", "done"]);
    expect(engine.executions).toHaveLength(1);
  });
});

describe("the final reply", () => {
  for (const [text, reason] of [
    ["NO_REPLY", "silent reply"],
    ["", "empty answer"],
    ["  \n ", "empty answer"],
  ] as const) {
    it(`${JSON.stringify(text)} is suppressed with its reason, and the message counts as answered`, async () => {
      const engine = await TestEngine.open({ script: () => text });
      await engine.tell("go");
      expect(engine.channel().calls).toEqual([]);
      expect(await engine.deliveries()).toMatchObject([{ state: "suppressed", reason }]);
      expect(await engine.states()).toEqual(["answered"]);
    });
  }

  it("that is too long is sent in parts, each a separate delivery, and only the first is a reply", async () => {
    const one = channel("test");
    one.maxTextLength = 12;
    const engine = await TestEngine.open({ channels: [one], script: () => "one two three four five" });
    await engine.tell("go");
    expect(one.calls.map(({ id, payload }) => [id.split(".")[1], payload.text, payload.replyToId])).toEqual([
      ["0", "one two", "m1"],
      ["1", "three four", undefined],
      ["2", "five", undefined],
    ]);
  });

  it("is sent to the complete address of the message it answers", async () => {
    const engine = await TestEngine.open({ channels: [channel("test"), channel("other")] });
    await engine.tell("one");
    const delivery = { channel: "other", accountId: "work", to: "x", threadId: "t" };
    await engine.tell("two", { delivery });
    expect(engine.channel("other").calls.map(({ target }) => target)).toEqual([delivery]);
    await engine.tell("three", { delivery: { channel: "other", to: "y" } });
    expect(engine.channel("other").calls.at(-1)?.target).toEqual({ channel: "other", to: "y" });
  });

  it("is not created without a target, and the message still counts as answered", async () => {
    const engine = await TestEngine.open();
    await engine.tell("go", { delivery: undefined });
    expect(await engine.deliveries()).toEqual([]);
    expect(await engine.states()).toEqual(["answered"]);
  });
});

describe("errors of the model", () => {
  for (const [errorClass, kind, text] of [
    ["auth", "model", "Inference failed. auth error"],
    ["request", "model", "Inference failed. request error"],
    ["overflow", "context_overflow", OVERFLOW_TEXT],
  ] as const) {
    it(`of the class ${errorClass} end the run at once, and the person gets a message`, async () => {
      const engine = await TestEngine.open({ script: () => failure(errorClass) });
      const result = await resultOf(engine);
      expect(engine.requests).toHaveLength(1);
      expect(result).toMatchObject({ outcome: "error", meta: { error: { kind } }, payloads: [{ isError: true }] });
      expect(engine.shown()).toEqual([text]);
      expect(await engine.states()).toEqual(["failed"]);
    });
  }

  it.each([
    ["auth", false],
    ["request", false],
    ["transient", undefined],
    ["rate", undefined],
  ] as const)(
    "of the class %s (a provider's 401 and 400 are the first two) are retryable: %s",
    async (errorClass, retryable) => {
      const engine = await TestEngine.open({ script: () => failure(errorClass) });
      expect((await resultOf(engine, "go", 120_000)).meta.error).toEqual({
        ...{ kind: "model", message: `Inference failed. ${errorClass} error`, retryable },
      });
      expect(await engine.transcript()).toEqual(["user: go"]);
    },
  );

  it("of a summary that is needed to go on are told with the overflow that follows", async () => {
    const engine = await TestEngine.open({
      system: { contextLimits: () => ({ ...DEFAULT_CONTEXT_LIMITS, contextWindow: 500 }) },
      script: ({ request }) =>
        request.system === SUMMARY_SYSTEM_PROMPT
          ? failure("auth")
          : { content: [{ type: "text", text: "fine" }], usage: undefined },
    });
    await engine.tell("word ".repeat(50));
    await engine.tell("word ".repeat(2_000));
    const message = `${OVERFLOW_TEXT} ⚙️ Compaction failed: auth error`;
    expect((await engine.runs()).at(-1)?.body.error).toEqual({ kind: "compaction_failure", message });
    expect(engine.shown().at(-1)).toBe(message);
  });

  it("keep the text so far with a mark, and leave no call open", async () => {
    const engine = await TestEngine.open({
      script: inTurn(
        {
          ...failure("request"),
          content: [
            { type: "text", text: "half a" },
            { type: "toolCall", id: "c", name: "work", arguments: {} },
          ],
        },
        "fine",
      ),
      tools: { work: {} },
    });
    await engine.tell("go");
    expect((await engine.entries()).at(-1)).toMatchObject({ role: "assistant", stopReason: "error" });
    expect(await engine.transcript()).toEqual(["user: go", "assistant: half a"]);
    await engine.tell("again");
    expect(engine.shown().at(-1)).toBe("fine");
  });

  it("that the port throws against its contract are handled like the others", async () => {
    const engine = await TestEngine.open({
      script: () => {
        throw new TypeError("undefined is not a function");
      },
    });
    const result = await resultOf(engine, "go", 60_000);
    expect(result.outcome).toBe("error");
    expect(engine.requests).toHaveLength(3);
  });
});

describe("an abort", () => {
  it("right after the take ends the run without a reply", async () => {
    const engine = await TestEngine.open();
    const { commit } = engine.store;
    (engine.store as { commit: typeof commit }).commit = async (change) => {
      const result = await commit(change);
      const opened = change.ops.find((op) => op.op === "run.open");
      if (opened) {
        const ops = [{ op: "run.abort", runId: opened.runId, mark: { reason: "person", at: 1 } }] as const;
        await commit({ id: "elsewhere" as never, site: "abort", at: 1, ops });
      }
      return result;
    };
    await engine.tell("go");
    expect(await engine.runs()).toMatchObject([{ outcome: "aborted" }]);
    expect(engine.shown()).toEqual([]);
  });

  it("while the model streams keeps the text so far with a mark, and sends nothing", async () => {
    const engine = await TestEngine.open({ script: (call) => stall(call, new Promise(() => {}), "so far") });
    const answer = ask(engine);
    await engine.settle();
    expect(await engine.system.runs.abort(await liveRun(engine))).toBe(true);
    await engine.settle();
    const { result } = await answer;
    expect(result).toMatchObject({ outcome: "aborted", payloads: [], meta: { aborted: true, stopReason: "aborted" } });
    expect(await engine.states()).toEqual(["aborted"]);
    expect(await engine.deliveries()).toEqual([]);
    expect((await engine.entries()).at(-1)).toMatchObject({ stopReason: "aborted", content: [{ text: "so far" }] });
    expect((await engine.store.agent(await engine.agentId()))?.state.abortedLastRun).toBe(true);
  });

  it("while a tool works signals the tool, waits for a short time, and records what the tool may have done", async () => {
    let told = false;
    const engine = await TestEngine.open({
      script: () => ({ call: [{ name: "stubborn" }, { name: "later" }] }),
      tools: {
        stubborn: {
          execute: (_input, { signal }) => {
            signal.addEventListener("abort", () => {
              told = true;
            });
            return new Promise(() => {});
          },
        },
        later: {},
      },
    });
    const answer = ask(engine);
    await engine.settle();
    await engine.system.runs.abort(await liveRun(engine));
    await engine.settle();
    expect(told).toBe(true);
    expect(await engine.states()).toEqual(["taken"]);
    await engine.advance(5_000);
    expect(await engine.transcript()).toEqual([
      "user: go",
      "assistant: stubborn() later()",
      `tool: ${UNKNOWN_OUTCOME}`,
      `tool: ${NOT_STARTED}`,
    ]);
    expect((await answer).result?.meta.pendingToolCalls.map(({ name }) => name)).toEqual(["stubborn", "later"]);
    expect(engine.executions).toHaveLength(1);
  });

  it("while the context is summarised ends the run without another call of the model", async () => {
    const engine = await TestEngine.open({
      system: { contextLimits: () => ({ ...DEFAULT_CONTEXT_LIMITS, contextWindow: 500 }) },
      script: (call) => {
        if (call.request.system === SUMMARY_SYSTEM_PROMPT) return stall(call, new Promise(() => {}));
        return { content: [{ type: "text", text: "word ".repeat(60) }], usage: undefined };
      },
    });
    for (const said of ["one", "two", "three"]) await engine.tell(`${said} ${"word ".repeat(60)}`);
    // What is summarised in the background is no answer.
    const answers = () => engine.requests.filter(({ system }) => system !== SUMMARY_SYSTEM_PROMPT).length;
    expect([engine.requests.length, answers()]).toEqual([3, 2]);
    await engine.system.runs.abort(await liveRun(engine));
    await engine.advance(10_000);
    expect(answers()).toBe(2);
    expect((await engine.states()).at(-1)).toBe("aborted");
  });

  it("that is marked before the rest wins: no reply is delivered", async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({ script: () => hold.promise });
    await engine.tell("go");
    const runId = await liveRun(engine);
    // The mark is set in the store alone, as another node would do it.
    const ops = [{ op: "run.abort", runId, mark: { reason: "person", at: 1 } }] as const;
    await engine.store.commit({ id: "elsewhere" as never, site: "abort", at: 1, ops });
    hold.open("too late");
    await engine.settle();
    expect(await engine.runs()).toMatchObject([{ outcome: "aborted" }]);
    expect(engine.shown()).toEqual([]);
    expect(await engine.states()).toEqual(["aborted"]);
  });

  it("after the rest has no effect and returns false, as for an unknown run", async () => {
    const engine = await TestEngine.open();
    await engine.tell("go");
    expect(await engine.system.runs.abort(await liveRun(engine))).toBe(false);
    expect(await engine.system.runs.abort("nobody" as RunId)).toBe(false);
    expect(engine.shown()).toEqual(["answer to go"]);
  });

  it("lets the waiting messages continue", async () => {
    const engine = await TestEngine.open({
      script: (call) => (lastText(call.request) === "one" ? stall(call, new Promise(() => {})) : "fine"),
    });
    await engine.tell("one");
    await engine.tell("two");
    await engine.system.runs.abort(await liveRun(engine));
    await engine.settle();
    expect(await engine.states()).toEqual(["aborted", "answered"]);
  });

  it("also ends the run if the model ignores the signal", async () => {
    const engine = await TestEngine.open({ script: () => new Promise<never>(() => {}) });
    await engine.tell("go");
    await engine.system.runs.abort(await liveRun(engine));
    await engine.advance(60_000);
    expect(await engine.states()).toEqual(["aborted"]);
  });
});

it("a message that steers, posted while the run is taken, enters between its first two steps", async () => {
  const engine = await TestEngine.open({ script: inTurn({ call: [{ name: "work" }] }, "done"), tools: { work: {} } });
  const { commit } = engine.store;
  let isFirst = true;
  engine.store.commit = async (change) => {
    const result = await commit(change);
    if (change.site !== "take" || !isFirst) return result;
    isFirst = false;
    await engine.send({ kind: "user", text: "two", queue: { mode: "steer" } });
    return result;
  };
  await engine.tell("one");
  expect(engine.requests.map(({ messages }) => messages.filter(({ role }) => role === "user").length)).toEqual([1, 2]);
  expect(await engine.runs()).toHaveLength(1);
});

it("a run whose agent another node holds commits nothing, and leaves no timer", async () => {
  const clock = virtualClock();
  const record = { id: "r1", agentId: "a1", sessionId: "s", startedAt: 0, step: 1, attempt: 1, body: { calls: [] } };
  const run = new LiveRun(record as never, { timeoutMs: 1_000, maxIterations: 5 });
  run.end("lost");
  const commit = async (): Promise<never> => {
    throw new TypeError("nothing may be committed");
  };
  const looped = runLoop({ clock } as never, { commit } as never, run);
  await expect(looped).rejects.toMatchObject({ refused: "fenced" });
  expect(clock.timers).toBe(0);
});

describe("the run's time limit", () => {
  it("ends a run whose model takes too long, with a text for the person", async () => {
    const engine = await TestEngine.open({
      script: (call) => stall(call, new Promise(() => {}), "let me see"),
      system: { runs: { timeoutMs: 10_000 } },
    });
    const answer = ask(engine);
    await engine.advance(10_000);
    const payloads = [{ text: "The run took longer than 10 seconds and was ended.", isError: true }];
    expect((await answer).result).toMatchObject({ outcome: "timeout", meta: { error: { kind: "timeout" } }, payloads });
    expect(engine.channel().calls[0]?.payload).toMatchObject({ isError: true });
    expect(engine.shown()).toEqual(["The run took longer than 10 seconds and was ended."]);
    expect(await engine.states()).toEqual(["failed"]);
    expect(await engine.transcript()).toEqual(["user: go", "assistant: let me see"]);
  });

  it("ends a run whose tool hangs", async () => {
    const engine = await TestEngine.open({
      script: () => ({ call: [{ name: "hang" }] }),
      tools: { hang: { execute: () => new Promise(() => {}) } },
      system: { runs: { timeoutMs: 10_000 } },
    });
    await engine.tell("go");
    await engine.advance(20_000);
    expect(await engine.runs()).toMatchObject([{ outcome: "timeout" }]);
    expect((await engine.transcript()).at(-1)).toBe(`tool: ${UNKNOWN_OUTCOME}`);
  });
});

describe("a drain", () => {
  it("lets a running tool finish without a signal, records its result, and the run continues after the restart", async () => {
    const hold = gate<string>();
    let told = false;
    const engine = await TestEngine.open({
      script: ({ request }) => (request.messages.at(-1)?.role === "tool" ? "done" : { call: [{ name: "slow" }] }),
      tools: {
        slow: {
          replay: "never",
          execute: (_input, { signal }) => {
            signal.addEventListener("abort", () => {
              told = true;
            });
            return hold.promise;
          },
        },
      },
    });
    await engine.tell("go");
    const drained = engine.system.drain();
    await engine.settle();
    expect(told).toBe(false);
    hold.open("finished");
    await engine.settle();
    await drained;
    expect(await engine.runs()).toMatchObject([{ state: "open", body: { paused: true, calls: [] } }]);
    await engine.restart();
    expect(engine.executions).toHaveLength(1);
    expect(await engine.transcript()).toEqual(["user: go", "assistant: slow()", "tool: finished", "assistant: done"]);
    expect(engine.shown()).toEqual(["done"]);
  });

  it("leaves calls that have not started, and they start once after the restart", async () => {
    const hold = gate<string>();
    const engine = await TestEngine.open({
      script: ({ request }) =>
        request.messages.at(-1)?.role === "tool" ? "done" : { call: [{ name: "one" }, { name: "two" }] },
      tools: { one: { replay: "never", execute: () => hold.promise }, two: { replay: "never" } },
    });
    await engine.tell("go");
    const drained = engine.system.drain();
    await engine.settle();
    hold.open("one done");
    await engine.settle();
    await drained;
    expect(engine.executions.map(({ name }) => name)).toEqual(["one"]);
    await engine.restart();
    expect(engine.executions.map(({ name }) => name)).toEqual(["one", "two"]);
    expect((await engine.transcript()).slice(2, 4)).toEqual(["tool: one done", "tool: two done"]);
  });

  it("gives way to an abort", async () => {
    const engine = await TestEngine.open({
      script: () => ({ call: [{ name: "hang" }] }),
      tools: { hang: { execute: () => new Promise(() => {}) } },
    });
    await engine.tell("go");
    const runId = await liveRun(engine);
    const drained = engine.system.drain();
    await engine.settle();
    await engine.system.runs.abort(runId);
    await engine.advance(10_000);
    await drained;
    expect(await engine.runs()).toMatchObject([{ outcome: "aborted" }]);
  });
});

describe("the events of a run", () => {
  it("cover every phase, numbered without gaps", async () => {
    const events: RunEvent[] = [];
    const engine = await TestEngine.open({
      script: async (call) => {
        call.onEvent({ type: "thinking", delta: "hm" });
        call.onEvent({ type: "text", delta: "w" });
        return call.n === 1 ? { call: [{ name: "work" }] } : "done";
      },
      tools: {
        work: {
          execute: (_input, { progress }) => {
            progress("half");
            return "ok";
          },
        },
      },
    });
    engine.system.events.listen((event) => events.push(event));
    await engine.tell("go");
    expect(events.map(({ type }) => type)).toEqual([
      "start",
      "delta",
      "delta",
      "step",
      "tool_start",
      "tool_update",
      "tool_end",
      "step",
      "delta",
      "delta",
      "end",
    ]);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index + 1));
    expect(new Set(events.map(({ runId }) => runId)).size).toBe(1);
  });

  it("say of each call how it ended, and of its progress at most 10,000 characters", async () => {
    const events: RunEvent[] = [];
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "good" }, { name: "bad" }] }, "done"),
      tools: {
        good: {
          execute: (_input, { progress }) => {
            progress("x".repeat(10_001));
            return "fine";
          },
        },
        bad: { execute: () => ({ content: [{ type: "text", text: "no" }], isError: true }) },
      },
    });
    engine.system.events.listen((event) => events.push(event));
    await engine.tell("go");
    const ends = events.flatMap((event) => (event.type === "tool_end" ? [[event.name, event.isError]] : []));
    expect(ends).toEqual([
      ["good", false],
      ["bad", true],
    ]);
    expect(events.flatMap((event) => (event.type === "tool_update" ? [event.text] : []))).toEqual(["x".repeat(10_000)]);
  });

  it("begin again with `restart` after a crash, which voids the streamed text", async () => {
    const engine = await TestEngine.open({ script: (call) => stall(call, new Promise(() => {}), "half") });
    await engine.tell("go");
    engine.script = () => "whole";
    const events: RunEvent[] = [];
    engine.crash();
    await engine.retire();
    engine.make();
    engine.system.events.listen((event) => events.push(event));
    await engine.system.load();
    await engine.system.start();
    await engine.settle();
    expect(events.map(({ type }) => type)).toEqual(["restart", "end"]);
    expect(events[0]).toMatchObject({ attempt: 2, seq: 1 });
  });

  it("do not slow or break the run if a listener is slow or throws", async () => {
    const engine = await TestEngine.open();
    const seen: string[] = [];
    engine.system.events.listen(() => {
      throw new TypeError("bad listener");
    });
    engine.system.events.listen(() => new Promise(() => {}) as never);
    const stop = engine.system.events.listen(({ type }) => seen.push(type));
    await engine.tell("one");
    expect(engine.shown()).toEqual(["answer to one"]);
    expect(seen).toEqual(["start", "end"]);
    stop();
    await engine.tell("two");
    expect(seen).toHaveLength(2);
  });
});

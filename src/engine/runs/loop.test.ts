import { describe, expect, it } from "vitest";
import { channel } from "../../../test/kit/channel.ts";
import { virtualClock } from "../../../test/kit/clock.ts";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { inTurn, type Reply, stall } from "../../../test/kit/model.ts";
import { testSettings } from "../../../test/kit/settings.ts";
import { LiveRun } from "../runtime/live-run.ts";
import { UNKNOWN_OUTCOME } from "./call-tool.ts";
import { ask, liveRun, resultOf } from "./loop.test-kit.ts";
import { runLoop } from "./loop.ts";

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
  const run = new LiveRun(record as never, testSettings().current, { timeoutMs: 1_000, maxIterations: 5 });
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
      settings: { runs: { timeoutSeconds: 10 } },
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
      settings: { runs: { timeoutSeconds: 10 } },
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

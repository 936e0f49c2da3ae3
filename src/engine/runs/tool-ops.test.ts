import { describe, expect, it } from "vitest";
import { channel } from "../../../test/kit/channel.ts";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { inTurn, lastText, type Reply, stall } from "../../../test/kit/model.ts";
import type { AgentId } from "../../core/ids.ts";
import { resultOf } from "./loop.test-kit.ts";

describe("the ops of a tool", () => {
  const fact = (key: string) => ({ op: "fact.put", key, value: "yes" }) as const;

  it("are committed together with its result", async () => {
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
    const text = "Tool execution limit reached.";
    const engine = await TestEngine.open({
      script: () => ({ call: [{ name: "send" }] }),
      tools: { send: sender([text]) },
      settings: { runs: { maxIterations: 1 } },
    });
    await engine.tell("go");
    expect(engine.shown()).toEqual([text, text]);
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

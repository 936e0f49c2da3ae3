import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";

const report = (chars: number) => ({ chars, parts: [], missing: ["SOUL.md"] });

describe("an agent's state after a run", () => {
  it("has the report of the system prompt, which is not sent to the model", async () => {
    let chars = 10;
    const engine = await TestEngine.open({
      system: { resolveModel: () => ({ model: "m", system: "s", report: report(chars) }) },
    });
    await engine.say("one");
    await engine.settle();
    const state = async () => (await engine.store.agent(await engine.agentId()))?.state;
    expect((await state())?.systemPromptReport).toEqual(report(10));
    expect(engine.requests[0]).not.toHaveProperty("report");
    chars = 20;
    const { result } = await engine.system.postAndAwait({ ...engine.person(), body: { kind: "user", text: "two" } });
    expect(result?.meta.systemPromptReport).toEqual(report(20));
    expect((await state())?.systemPromptReport).toEqual(report(20));
    await engine.system.post({ ...engine.person(), body: { kind: "reset", by: "person" } });
    await engine.settle();
    expect((await state())?.systemPromptReport).toBeUndefined();
  });

  it("has the token counts of the last call, the model that answered, and the origin of the message", async () => {
    const engine = await TestEngine.open();
    await engine.say("one");
    await engine.settle();
    expect((await engine.store.agent(await engine.agentId()))?.state).toMatchObject({
      systemSent: true,
      modelProvider: "scripted",
      model: "scripted-1",
      inputTokens: 10,
      outputTokens: 5,
      totalTokens: 10,
      chatType: "direct",
      origin: { provider: "test", from: "ann", to: "ann" },
      lastChannel: "test",
      lastTo: "ann",
    });
  });
});

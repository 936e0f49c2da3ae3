import { describe, expect, it } from "vitest";
import { Nest } from "../agents/engine.test-kit.ts";

const report = (chars: number) => ({ chars, parts: [], missing: ["SOUL.md"] });

describe("what a run leaves in its agent's state", () => {
  it("says what the system prompt was made of, and keeps it out of what the model is sent", async () => {
    let chars = 10;
    const nest = await Nest.open({ system: { voice: () => ({ model: "m", system: "s", report: report(chars) }) } });
    await nest.say("one");
    await nest.settle();
    const state = async () => (await nest.store.agent(await nest.agentId()))?.state;
    expect((await state())?.systemPromptReport).toEqual(report(10));
    expect(nest.requests[0]).not.toHaveProperty("report");
    chars = 20;
    const { result } = await nest.system.postAndAwait({ ...nest.person(), body: { kind: "user", text: "two" } });
    expect(result?.meta.systemPromptReport).toEqual(report(20));
    expect((await state())?.systemPromptReport).toEqual(report(20));
    await nest.system.post({ ...nest.person(), body: { kind: "reset", by: "person" } });
    await nest.settle();
    expect((await state())?.systemPromptReport).toBeUndefined();
  });

  it("says what the last call counted, which model answered, and where its message came from", async () => {
    const nest = await Nest.open();
    await nest.say("one");
    await nest.settle();
    expect((await nest.store.agent(await nest.agentId()))?.state).toMatchObject({
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

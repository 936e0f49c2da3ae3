import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { inTurn, lastText, type Reply } from "../../../test/kit/model.ts";
import { TestTools } from "../../../test/kit/tools.ts";

describe("an agent system", () => {
  it("creates one agent for two hundred first messages at once, and answers them in the order of acceptance", async () => {
    const engine = await TestEngine.open();
    const accepted = await Promise.all(Array.from({ length: 200 }, (_, n) => engine.say(`n${n}`)));
    await engine.settle();
    const agents = await engine.store.agents({ limit: 1000 });
    expect(agents).toHaveLength(1);
    expect(accepted.filter((one) => one.status !== "stale" && one.created)).toHaveLength(1);
    expect(new Set(accepted.map((one) => one.status !== "stale" && one.agentId))).toEqual(new Set([agents[0]?.id]));
    const inOrder = accepted
      .map((one, n) => ({ seq: one.status === "stale" ? 0 : one.seq, n }))
      .sort((a, b) => a.seq - b.seq);
    expect(engine.shown()).toEqual(inOrder.map(({ n }) => `answer to n${n}`));
  });

  it("creates one agent per person on the same channel, with separate contexts", async () => {
    const engine = await TestEngine.open();
    await Promise.all([engine.say("I am ann", { name: "ann" }), engine.say("I am bob", { name: "bob" })]);
    await engine.settle();
    expect(await engine.store.agents({ limit: 9 })).toHaveLength(2);
    for (const bytes of engine.sentBytes) expect(bytes.includes("ann") && bytes.includes("bob")).toBe(false);
  });
});

describe("runs at the same time", () => {
  it("are limited to one per agent, for every kind of message", async () => {
    let now = 0;
    let most = 0;
    const engine = await TestEngine.open({
      script: async ({ request }) => {
        most = Math.max(most, ++now);
        await Promise.resolve();
        now -= 1;
        return lastText(request);
      },
    });
    await Promise.all(Array.from({ length: 30 }, (_, n) => engine.say(`n${n}`)));
    await engine.settle();
    expect(most).toBe(1);
    expect(await engine.states()).toEqual(Array(30).fill("answered"));
  });

  it("are limited by the width of the lane; the other runs wait", async () => {
    const holds = new Map<string, (reply: Reply) => void>();
    const engine = await TestEngine.open({
      script: ({ request }) => new Promise<Reply>((resolve) => holds.set(lastText(request), resolve)),
      settings: { lanes: { main: 2, subagent: 1, cron: 1, nested: 1 } },
    });
    for (const name of ["a", "b", "c"]) await engine.tell(name, { name });
    expect([...holds.keys()]).toEqual(["a", "b"]);
    expect(engine.system.lanes.counts().main).toEqual({ size: 2, active: 2, waiting: 1 });
    holds.get("b")?.("done");
    await engine.settle();
    expect([...holds.keys()]).toEqual(["a", "b", "c"]);
    holds.get("a")?.("done");
    holds.get("c")?.("done");
    await engine.settle();
    expect(engine.system.lanes.counts().main).toEqual({ size: 2, active: 0, waiting: 0 });
  });
});

describe("silent messages", () => {
  it("are recorded without a model call and are in the context of the next run", async () => {
    const engine = await TestEngine.open();
    await engine.tell("one");
    await engine.send({ kind: "system", text: "it rains", silent: true, origin: "weather" });
    await engine.settle();
    expect(engine.requests).toHaveLength(1);
    expect(await engine.states()).toEqual(["answered", "recorded"]);
    expect(engine.shown()).toEqual(["answer to one"]);
    await engine.tell("two");
    expect(engine.sentBytes.at(-1)).toContain("it rains");
  });

  it("are recorded after the active run, never between a call and its result", async () => {
    const tools = new TestTools({ work: {} });
    const held = tools.hold("work");
    const engine = await TestEngine.open({ tools: tools.specs, script: inTurn({ call: [{ name: "work" }] }, "done") });
    await engine.tell("go");
    await engine.send({ kind: "system", text: "psst", silent: true });
    await engine.settle();
    held.release("worked");
    await engine.settle();
    expect(await engine.transcript()).toEqual([
      "user: go",
      "assistant: work()",
      "tool: worked",
      "assistant: done",
      "user: <system_message>psst</system_message>",
    ]);
  });

  it("survive a crash before they are recorded", async () => {
    const engine = await TestEngine.open();
    await engine.tell("one");
    engine.onCommit = (change) => (change.site === "record" ? "die-before" : "go");
    await engine.send({ kind: "system", text: "psst", silent: true });
    await engine.settle();
    await engine.restart();
    expect(await engine.states()).toEqual(["answered", "recorded"]);
    expect(engine.requests).toHaveLength(1);
  });
});

describe("a message without content", () => {
  it("is recorded with its reason, calls no model, and settles the wait for it", async () => {
    const engine = await TestEngine.open();
    const answer = await engine.system.postAndAwait({ ...engine.person(), body: { kind: "user", text: "  " } });
    expect(answer).toEqual({ result: undefined, ended: { state: "recorded", reason: "it says nothing" } });
    expect([engine.requests.length, engine.shown()]).toEqual([0, []]);
    await engine.tell("hello");
    expect(engine.shown()).toEqual(["answer to hello"]);
    expect(await engine.states()).toEqual(["recorded", "answered"]);
  });
});

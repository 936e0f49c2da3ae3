import { describe, expect, it } from "vitest";
import { channel } from "../../../test/kit/channel.ts";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { lastText, type Reply, stall } from "../../../test/kit/model.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import { type AgentId, messageId } from "../../core/ids.ts";

const text = (words: string) => ({ kind: "user", text: words }) as const;

describe("first messages", () => {
  it("that arrive two hundred at once create one agent, and are answered in the order of acceptance", async () => {
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

  it("of people on the same channel create one agent per person, with separate contexts", async () => {
    const engine = await TestEngine.open();
    await Promise.all([engine.say("I am ann", { name: "ann" }), engine.say("I am bob", { name: "bob" })]);
    await engine.settle();
    expect(await engine.store.agents({ limit: 9 })).toHaveLength(2);
    for (const bytes of engine.sentBytes) expect(bytes.includes("ann") && bytes.includes("bob")).toBe(false);
  });

  it("to an invalid or unknown agent are refused with a typed error, and nothing is stored", async () => {
    const engine = await TestEngine.open();
    const bad: AgentDescriptor = { type: "user", connector: "test", userId: "", channelId: "c" };
    await expect(engine.system.post({ to: { descriptor: bad }, body: text("hi") })).rejects.toMatchObject({
      code: "invalid_input",
    });
    await expect(
      engine.system.post({ to: { agentId: "nobody0000000000000000000" as AgentId }, body: text("hi") }),
    ).rejects.toMatchObject({ code: "not_found" });
    await expect(
      engine.system.post({ to: { strategy: "most-recent-foreground" }, body: text("hi") }),
    ).rejects.toMatchObject({ code: "not_found" });
    expect(await engine.store.agents({ limit: 9 })).toEqual([]);
  });
});

describe("concurrent runs", () => {
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
      system: { lanes: { main: 2, subagent: 1, cron: 1, nested: 1 } },
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

  it("that arrive during a run are recorded after it, never between a call and its result", async () => {
    const hold = gate<string>();
    const engine = await TestEngine.open({
      script: ({ request }) => (request.messages.at(-1)?.role === "tool" ? "done" : { call: [{ name: "work" }] }),
      tools: { work: { execute: () => hold.promise } },
    });
    await engine.tell("go");
    await engine.send({ kind: "system", text: "psst", silent: true });
    await engine.settle();
    hold.open("worked");
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

describe("a drain", () => {
  it("resolves for every caller only when it is complete", async () => {
    const hold = gate<string>();
    const engine = await TestEngine.open({
      script: ({ request }) => (request.messages.at(-1)?.role === "tool" ? "done" : { call: [{ name: "work" }] }),
      tools: { work: { execute: () => hold.promise } },
    });
    await engine.tell("go");
    const ends: string[] = [];
    const both = [
      engine.system.drain().then(() => ends.push("one")),
      engine.system.drain().then(() => ends.push("two")),
    ];
    await engine.settle();
    expect(ends).toEqual([]);
    hold.open("worked");
    await engine.settle();
    await Promise.all(both);
    expect(ends).toHaveLength(2);
  });

  it("leaves only work open that resumes after the restart", async () => {
    const engine = await TestEngine.open({ script: (call) => stall(call, new Promise(() => {})) });
    await engine.tell("one");
    await engine.say("two");
    await engine.drain();
    expect(await engine.states()).toEqual(["taken", "waiting"]);
    engine.script = ({ request }) => `answer to ${lastText(request)}`;
    await engine.restart();
    expect(engine.shown()).toEqual(["answer to one", "answer to two"]);
  });

  it("keeps messages that are posted during and after it; they are handled after the restart", async () => {
    const engine = await TestEngine.open();
    await engine.tell("one");
    const draining = engine.system.drain();
    await engine.say("two");
    await engine.settle();
    await draining;
    await engine.say("three");
    await engine.say("four", { name: "new person" });
    await engine.settle();
    expect(await engine.states()).toEqual(["answered", "waiting", "waiting"]);
    await engine.restart();
    expect(await engine.states()).toEqual(["answered", "answered", "answered"]);
    expect(engine.shown()).toHaveLength(4);
  });

  it("stops every connector first, even if one of them fails to stop", async () => {
    const engine = await TestEngine.open({ channels: [channel("a"), channel("b")] });
    await expect(engine.drain()).resolves.toBeUndefined();
    expect((await engine.store.nodes()).every(({ left }) => left)).toBe(true);
  });
});

describe("starting", () => {
  it("is refused before loading", async () => {
    const engine = TestEngine.unloaded();
    await expect(engine.system.start()).rejects.toMatchObject({
      code: "invariant",
      message: "AgentSystem must load before starting",
    });
  });

  it("handles messages that were accepted between loading and starting", async () => {
    const engine = TestEngine.unloaded();
    await engine.system.load();
    await engine.say("early");
    await engine.settle();
    expect(await engine.states()).toEqual(["waiting"]);
    await engine.system.start();
    await engine.settle();
    expect(engine.shown()).toEqual(["answer to early"]);
  });
});

describe("connectors", () => {
  it("post a person's message once, even if the channel delivers it several times", async () => {
    const engine = await TestEngine.open();
    const host = engine.hosts.get("test");
    const incoming = {
      connector: "test",
      userId: "u1",
      channelId: "c1",
      messageId: "77",
      text: "hi",
      delivery: { channel: "test", to: "c1" },
    };
    const [one, two] = await Promise.all([host?.accept(incoming), host?.accept(incoming)]);
    await engine.settle();
    expect([one?.status, two?.status].sort()).toEqual(["accepted", "duplicate"]);
    expect(engine.shown()).toHaveLength(1);
    const edited = await host?.accept({ ...incoming, revision: 1, text: "hi there" });
    expect(edited?.status).toBe("accepted");
    const stale = await host?.accept({ ...incoming, messageId: "1", sentAt: 1_000 });
    expect(stale).toEqual({ status: "stale" });
  });

  it("get a message id that contains the agent and the position", async () => {
    const engine = await TestEngine.open();
    const accepted = await engine.hosts.get("test")?.accept({
      connector: "test",
      userId: "u",
      channelId: "c",
      messageId: "1",
      text: "hi",
      delivery: { channel: "test", to: "c" },
    });
    await engine.settle();
    if (!accepted || !("agentId" in accepted)) throw new TypeError("not accepted");
    expect(accepted.messageId).toBe(messageId(accepted.agentId, 1));
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

import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { lastText, type Reply, stall } from "../../../test/kit/model.ts";
import type { ChangeId, RunId } from "../../core/ids.ts";

describe("a reset", () => {
  it("overtakes waiting messages, which then run in the new session", async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({ script: (call) => (call.n === 1 ? stall(call, hold.promise) : "fine") });
    await engine.tell("one");
    await engine.say("two");
    await engine.send({ kind: "reset", by: "daily" });
    await engine.settle();
    hold.open("first");
    await engine.settle();
    expect(await engine.transcript()).toEqual([
      "user: one",
      "assistant: first",
      "--- reset",
      "user: two",
      "assistant: fine",
    ]);
    expect(JSON.parse(engine.sentBytes[1] ?? "").map((message: { role: string }) => message.role)).toEqual(["user"]);
  });

  it("overtakes a message even if it arrives between the read of the inbox and the take", async () => {
    const engine = await TestEngine.open();
    await engine.tell("one");
    const agentId = await engine.agentId();
    engine.onCommit = ({ site, at }) => {
      if (site !== "take") return "go";
      engine.onCommit = () => "go";
      const message = { body: { kind: "reset", by: "person" }, acceptedAt: at } as const;
      void engine.store.commit({
        id: "in-between" as ChangeId,
        site: "accept",
        at,
        ops: [{ op: "message.post", to: { agentId }, message }],
      });
      return "go";
    };
    await engine.tell("two");
    expect(await engine.transcript()).toEqual([
      "user: one",
      "assistant: answer to one",
      "--- reset",
      "user: two",
      "assistant: answer to two",
    ]);
    expect(await engine.states()).toEqual(["answered", "answered", "recorded"]);
    expect(engine.logged("error")).toEqual([]);
  });

  it("ends the active run if a person asks for it, and leaves the partial answer in the old session", async () => {
    const engine = await TestEngine.open({ script: (call) => stall(call, new Promise(() => {}), "so far") });
    await engine.tell("one");
    await engine.send({ kind: "reset", by: "person" });
    await engine.settle();
    expect(await engine.transcript()).toEqual(["user: one", "assistant: so far", "--- reset"]);
    expect(await engine.states()).toEqual(["aborted", "recorded"]);
    expect(engine.shown()).toEqual(["Session reset."]);
  });

  it("waits for the end of the active run if it is the daily one", async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({ script: (call) => stall(call, hold.promise) });
    await engine.tell("one");
    await engine.send({ kind: "reset", by: "daily" });
    await engine.advance(60_000);
    expect(await engine.states()).toEqual(["taken", "waiting"]);
    hold.open("done");
    await engine.settle();
    expect(await engine.states()).toEqual(["answered", "recorded"]);
  });

  it("keeps the agent's id and its history, changes its session, and opens the new session with the text of the reset", async () => {
    const engine = await TestEngine.open();
    await engine.tell("one");
    const agentId = await engine.agentId();
    const before = await engine.store.agent(agentId);
    const lines = (await engine.entries()).length;
    await engine.send({ kind: "reset", by: "person", text: "be brief" });
    await engine.tell("two");
    const after = await engine.store.agent(agentId);
    expect(after?.sessionId).not.toBe(before?.sessionId);
    expect((await engine.entries()).length).toBe(lines + 3);
    const sent = JSON.parse(engine.sentBytes.at(-1) ?? "");
    expect(sent.map(({ content }: { content: { text: string }[] }) => content[0]?.text)).toEqual([
      `<system_message origin="${agentId}">be brief</system_message>`,
      "two",
    ]);
  });

  it("overtakes a message that waits for a place in the lane", async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({
      script: (call) => (lastText(call.request) === "busy" ? stall(call, hold.promise) : "fine"),
      settings: { lanes: { main: 1, subagent: 1, cron: 1, nested: 1 } },
    });
    await engine.tell("hello", { name: "ann" });
    await engine.tell("busy", { name: "bob" });
    await engine.tell("work", { name: "ann" });
    await engine.send({ kind: "reset", by: "person" }, { name: "ann" });
    await engine.settle();
    hold.open("done");
    await engine.settle();
    const ann = await engine.agentId("ann");
    expect(await engine.states(ann)).toEqual(["answered", "answered", "recorded"]);
    expect((await engine.transcript(ann)).slice(2)).toEqual(["--- reset", "user: work", "assistant: fine"]);
  });

  it("is not hidden by a stale decision about a permission", async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({ script: (call) => (call.n === 1 ? stall(call, hold.promise) : "fine") });
    await engine.tell("one");
    await engine.say("two");
    await engine.send({ kind: "permission", runId: "gone" as RunId, callId: "c", approved: true });
    await engine.send({ kind: "reset", by: "daily" });
    await engine.settle();
    hold.open("first");
    await engine.settle();
    expect(await engine.transcript()).toEqual([
      "user: one",
      "assistant: first",
      "--- reset",
      "user: two",
      "assistant: fine",
    ]);
    expect(await engine.states()).toEqual(["answered", "answered", "recorded", "recorded"]);
  });
});

describe("a stop", () => {
  const busy = () =>
    TestEngine.open({
      script: (call) => (lastText(call.request) === "long" ? stall(call, new Promise(() => {})) : "fine"),
    });
  const stop = (engine: TestEngine) =>
    engine.hosts.get("test")?.command({
      connector: "test",
      userId: "ann",
      channelId: "ann",
      messageId: "stop-1",
      delivery: { channel: "test", to: "ann" },
      command: { name: "stop" },
    });

  it("ends the active run, keeps the session, and lets waiting messages run", async () => {
    const engine = await busy();
    await engine.tell("long");
    await engine.say("two");
    await stop(engine);
    await engine.settle();
    expect(await engine.states()).toEqual(["aborted", "answered", "recorded"]);
    expect((await engine.transcript()).some((line) => line.startsWith("--- reset"))).toBe(false);
    expect(engine.shown()).toHaveLength(2);
  });

  it("tells the person if no run is active, and ignores a repeated delivery", async () => {
    const engine = await busy();
    await engine.tell("one");
    await stop(engine);
    await engine.settle();
    expect(engine.shown()).toEqual(["fine", "No active inference to stop."]);
    await engine.tell("long");
    expect(await stop(engine)).toMatchObject({ status: "duplicate" });
    await engine.settle();
    expect((await engine.runs()).at(-1)?.state).toBe("open");
  });
});

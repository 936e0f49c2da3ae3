import { describe, expect, it, test } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { gate } from "../../../../test/kit/gate.ts";
import { inTurn, lastText, type Reply, stall } from "../../../../test/kit/model.ts";
import { dieAt } from "../../../../test/kit/store.ts";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import { inheritsParent } from "../../../core/agent/thread-settings.ts";
import type { AgentId, SessionKey } from "../../../core/ids.ts";
import { referenceTo } from "../../../core/message/stored-file.ts";
import type { Behalf } from "../../../core/people/behalf.ts";
import type { PersonId } from "../../../core/people/person.ts";

const group: AgentDescriptor = { type: "user", connector: "test", userId: "ann", channelId: "g", peerKind: "group" };
const thread = (threadId: string | number): AgentDescriptor => ({ ...group, threadId }) as AgentDescriptor;
const delivery = { channel: "test", to: "g" };

async function tell(engine: TestEngine, descriptor: AgentDescriptor, text: string): Promise<void> {
  await engine.system.post({ to: { descriptor }, body: { kind: "user", text }, delivery });
  await engine.settle();
}
const agentOf = async (engine: TestEngine, key: string) => engine.store.agentByKey(key as SessionKey);

describe("a thread's agent", () => {
  it("begins with the context of its parent conversation, and is separate from then on", async () => {
    const engine = await TestEngine.open();
    await tell(engine, group, "one");
    await tell(engine, thread(7), "in the thread");
    expect(engine.heard()).toEqual(["one", "answer to one", "in the thread"]);
    await tell(engine, group, "two");
    expect(engine.heard()).toEqual(["one", "answer to one", "two"]);
    await tell(engine, thread(7), "more");
    expect(engine.heard()).toEqual(["one", "answer to one", "in the thread", "answer to in the thread", "more"]);
    const [parent, child] = await Promise.all([
      agentOf(engine, "agent:main:test:group:g"),
      agentOf(engine, "agent:main:test:group:g:thread:7"),
    ]);
    const [header, start, first] = await engine.entries(child?.id);
    expect(header).toMatchObject({ type: "session", parentSession: parent?.sessionId, descriptor: thread(7) });
    expect(start).toMatchObject({ type: "start", sessionId: child?.sessionId });
    expect(first).not.toHaveProperty("runId");
    await engine.restart();
    await tell(engine, thread(7), "again");
    expect(engine.heard().slice(0, 3)).toEqual(["one", "answer to one", "in the thread"]);
  });

  it("refers to the files of its parent's conversation", async () => {
    const engine = await TestEngine.open();
    const behalf = { person: "test:ann" as PersonId };
    const file = await engine.system.files?.put({ data: Buffer.from("the plan"), name: "plan.txt", behalf });
    const files = file ? [referenceTo(file)] : [];
    await engine.system.post({ to: { descriptor: group }, body: { kind: "user", text: "keep it", files }, behalf });
    await engine.settle();
    await tell(engine, thread(7), "in the thread");
    const child = await agentOf(engine, "agent:main:test:group:g:thread:7");
    expect(await engine.store.holdsFile(child?.id as AgentId, file?.id ?? "")).toBe(true);
    expect(engine.sentBytes.at(-1)).toContain("the plan");
  });

  it("begins empty without a parent conversation, and if it does not inherit", async () => {
    const engine = await TestEngine.open({ settings: { session: { thread: { inheritParent: false } } } });
    await tell(engine, thread(1), "alone");
    expect(engine.heard()).toEqual(["alone"]);
    await tell(engine, group, "one");
    await tell(engine, thread(2), "apart");
    expect(engine.heard()).toEqual(["apart"]);
  });

  it("inherits only the parent's current session, with the text of its reset", async () => {
    const engine = await TestEngine.open();
    await tell(engine, group, "old");
    await engine.system.post({ to: { descriptor: group }, body: { kind: "reset", by: "person", text: "Be brief." } });
    await tell(engine, group, "new");
    await tell(engine, thread(1), "in the thread");
    const words = engine.heard();
    expect(words).toHaveLength(4);
    expect(words[0]).toContain("Be brief.");
    expect(words.slice(1)).toEqual(["new", "answer to new", "in the thread"]);
  });

  it("does not inherit the parent's open run", async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({
      script: async (call) => (call.n === 2 ? stall(call, hold.promise) : `answer to ${lastText(call.request)}`),
    });
    await tell(engine, group, "one");
    await tell(engine, group, "two");
    await tell(engine, thread(1), "meanwhile");
    expect(engine.heard()).toEqual(["one", "answer to one", "meanwhile"]);
    hold.open("answer to two");
    await engine.settle();
    await tell(engine, thread(2), "later");
    expect(engine.heard()).toEqual(["one", "answer to one", "two", "answer to two", "later"]);
  });

  it("begins empty if the first run of its parent is open", async () => {
    const engine = await TestEngine.open({ script: inTurn(() => new Promise<never>(() => {}), "done") });
    await tell(engine, group, "one");
    await tell(engine, thread(1), "meanwhile");
    expect(engine.heard()).toEqual(["meanwhile"]);
  });

  test.each<[string, Behalf | undefined, readonly string[] | undefined, boolean]>([
    ["those who spoke in its parent", { person: "eve" as PersonId }, ["eve"], false],
    ["no group, which speaks through its members", undefined, undefined, false],
    ["untrusted text of its parent", { person: "eve" as PersonId, untrusted: true }, ["eve"], true],
  ])("has heard %s", async (_title, behalf, speakers, untrusted) => {
    const engine = await TestEngine.open();
    await engine.system.post({ to: { descriptor: group }, body: { kind: "user", text: "one" }, delivery });
    await engine.system.post({ to: { descriptor: group }, body: { kind: "user", text: "two" }, delivery, behalf });
    await engine.settle();
    await tell(engine, thread(1), "in the thread");
    const child = await agentOf(engine, "agent:main:test:group:g:thread:1");
    expect([child?.state.speakers, child?.state.untrusted ?? false]).toEqual([speakers, untrusted]);
    expect(child?.state.groupId).toBe("g");
  });

  it("does not hold a file that its parent no longer holds", async () => {
    const engine = await TestEngine.open();
    const behalf = { person: "test:ann" as PersonId };
    const file = await engine.system.files?.put({ data: Buffer.from("the plan"), name: "plan.txt", behalf });
    if (!file) throw new TypeError("no file");
    const body = { kind: "user", text: "keep it", files: [referenceTo(file)] } as const;
    await engine.system.post({ to: { descriptor: group }, body: { ...body, files: [...body.files] }, behalf });
    await engine.settle();
    await engine.put({ op: "file.remove", id: file.id });
    await tell(engine, thread(7), "in the thread");
    const child = await agentOf(engine, "agent:main:test:group:g:thread:7");
    expect(await engine.states(child?.id)).toEqual(["answered"]);
    expect(await engine.store.holdsFile(child?.id as AgentId, file.id)).toBe(false);
  });

  it("is created once by two hundred first messages at the same time", async () => {
    const engine = await TestEngine.open();
    await tell(engine, group, "one");
    const said = Array.from({ length: 200 }, (_, n) =>
      engine.system.post({ to: { descriptor: thread(9) }, body: { kind: "user", text: `${n}` }, delivery }),
    );
    const accepted = await Promise.all(said);
    await engine.settle();
    expect(new Set(accepted.map((one) => one.status !== "stale" && one.agentId)).size).toBe(1);
    expect(await engine.store.agents({ limit: 9 })).toHaveLength(2);
    const child = await agentOf(engine, "agent:main:test:group:g:thread:9");
    const entries = await engine.entries(child?.id);
    expect(entries.filter(({ type }) => type === "session" || type === "start")).toHaveLength(2);
    expect(await engine.states(child?.id)).toEqual(Array.from({ length: 200 }, () => "answered"));
  });

  it.each(["before", "after"] as const)(
    "is complete or does not exist if the process dies %s its creation",
    async (moment) => {
      const engine = await TestEngine.open();
      await tell(engine, group, "one");
      engine.onCommit = dieAt("accept", moment, 2);
      void engine.system.post({
        to: { descriptor: thread(3) },
        body: { kind: "user", text: "first" },
        delivery,
        key: "k",
      });
      await engine.settle();
      expect(engine.alive).toBe(false);
      await engine.restart();
      await engine.system.post({
        to: { descriptor: thread(3) },
        body: { kind: "user", text: "first" },
        delivery,
        key: "k",
      });
      await engine.settle();
      expect(engine.heard()).toEqual(["one", "answer to one", "first"]);
      expect(engine.shown()).toEqual(["answer to one", "answer to first"]);
    },
  );
});

describe("inheritsParent", () => {
  it.each([
    [{ inheritParent: true }, true],
    [{ inheritParent: false }, false],
    [{ inheritParent: true, byChannel: { TEST: { inheritParent: false } } }, false],
    [{ inheritParent: false, byChannel: { test: { inheritParent: true } } }, true],
    [{ inheritParent: true, byChannel: { other: { inheritParent: false } } }, true],
  ])("for a thread with %j returns %j", (settings, expected) => {
    expect(inheritsParent(settings, thread(1))).toBe(expected);
    expect(inheritsParent(settings, { type: "heartbeat" })).toBe(false);
  });
});

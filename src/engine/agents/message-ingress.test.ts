/** Posts messages: recipients, people, files, order and refusals. */
import { describe, expect, it, test } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import type { AgentId, SessionKey } from "../../core/ids.ts";
import type { MessageBody } from "../../core/message/message.ts";
import { referenceTo } from "../../core/message/stored-file.ts";
import type { Behalf } from "../../core/people/behalf.ts";
import type { PersonId } from "../../core/people/person.ts";
import { accepted, commit, putPerson, storedMessage } from "./agent-system.test-kit.ts";
import type { PostRequest } from "./message-ingress.ts";

const ANN: Extract<AgentDescriptor, { type: "user" }> = {
  ...{ type: "user", connector: "test", userId: "ann", channelId: "ann" },
};
const body = { kind: "user", text: "hi" } as const;
const person = (id: string): PersonId => id as PersonId;

describe("post", () => {
  it("reaches one agent by its id, its descriptor and its session key", async () => {
    const engine = await TestEngine.open();
    const { agentId } = accepted(await engine.tell("hello"));
    const sessionKey = (await engine.store.agent(agentId))?.sessionKey as SessionKey;
    const addresses: PostRequest["to"][] = [
      { agentId },
      { descriptor: ANN },
      { descriptor: ANN, sessionKey, profile: "other" },
    ];
    for (const to of addresses) expect(accepted(await engine.tell("again", { to })).agentId).toBe(agentId);
    expect(engine.shown()).toHaveLength(4);
  });

  test.each<[string, PostRequest["to"], string]>([
    ["an unknown strategy target", { strategy: "most-recent-foreground" }, "No recent foreground agent found."],
    ["an unknown agent", { agentId: "x".repeat(24) as AgentId }, "There is no agent"],
    ["an empty user id", { descriptor: { ...ANN, userId: "" } }, "Invalid agent descriptor"],
    [
      "an empty user id with a key",
      { descriptor: { ...ANN, userId: "" }, sessionKey: "k" as SessionKey },
      "Invalid agent descriptor",
    ],
    ["a long address", { descriptor: { ...ANN, userId: "x".repeat(100_001) } }, "at most 100000 are accepted"],
    ["an unknown system agent", { descriptor: { type: "system", tag: "other" } }, "Unknown system agent tag: other"],
  ])("rejects %s and stores nothing", async (_title, to, text) => {
    const engine = await TestEngine.open();
    await expect(engine.system.post({ to, body })).rejects.toThrow(text);
    expect(await engine.store.agents({ limit: 9 })).toEqual([]);
  });

  test.each([
    "null",
    '"user"',
    "{}",
    '{"type":"other"}',
    '{"type":"user"}',
    '{"type":"user","connector":"test","userId":7,"channelId":"c"}',
    '{"type":"system"}',
  ])("rejects the malformed descriptor %s with a typed error", async (json) => {
    const engine = await TestEngine.open();
    for (const sessionKey of [undefined, "k" as SessionKey]) {
      const to = { descriptor: JSON.parse(json), sessionKey };
      await expect(engine.system.post({ to, body })).rejects.toMatchObject({ code: "invalid_input" });
    }
    expect(await engine.store.agents({ limit: 9 })).toEqual([]);
  });

  test.each([
    ["of the program", {}],
    ["of the configuration", { doctor: { prompt: "You look." } }],
  ])("creates a system agent %s", async (_title, systemAgents) => {
    const engine = await TestEngine.open({ settings: { systemAgents } });
    const { agentId } = accepted(
      await engine.system.post({ to: { descriptor: { type: "system", tag: "doctor" } }, body }),
    );
    expect((await engine.store.agent(agentId))?.descriptor).toEqual({ type: "system", tag: "doctor" });
  });

  it("creates an agent for the message's person, with the names of the conversation", async () => {
    const engine = await TestEngine.open();
    const sender = { connector: "test", userId: "ann" };
    const { agentId } = accepted(await engine.tell("hi", { sender, about: { subject: "Team", space: undefined } }));
    const agent = await engine.store.agent(agentId);
    expect(agent).toMatchObject({ person: "test:ann", profile: "main", state: { subject: "Team" } });
    expect(agent?.state).not.toHaveProperty("space");
  });

  it("creates an erased agent again", async () => {
    const engine = await TestEngine.open();
    await engine.tell("one");
    const { agentId } = accepted(await engine.tell("two"));
    await commit(engine, { op: "agent.erase", agentId, tombstone: "x" });
    const again = accepted(await engine.tell("three"));
    expect(again).toMatchObject({ status: "accepted", seq: 1 });
    expect(again.agentId).not.toBe(agentId);
    expect(engine.shown().at(-1)).toBe("answer to three");
  });

  it("refuses a message that is older than its channel may send, and starts no run", async () => {
    const engine = await TestEngine.open();
    const source = { connector: "test", messageId: "m", sentAt: engine.clock.now() - 11 };
    expect(await engine.tell("old", { source, replayHorizonMs: 10 })).toEqual({ status: "stale" });
    expect(engine.requests).toEqual([]);
  });

  it("returns the store's error and accepts the next message", async () => {
    const engine = await TestEngine.open();
    engine.onCommit = ({ site }) => (site === "accept" ? "full" : "go");
    await expect(engine.say("lost")).rejects.toMatchObject({ code: "store_full" });
    engine.onCommit = () => "go";
    await engine.tell("kept");
    expect(engine.shown()).toEqual(["answer to kept"]);
  });
});

describe("the people of a message", () => {
  const sender = { connector: "test", userId: "ann" };
  test.each<[string, Partial<PostRequest>, Behalf | undefined]>([
    ["nobody by default", {}, undefined],
    ["the sender's record", { sender }, { person: person("ann") }],
    ["the account of a sender without a record", { sender: { ...sender, userId: "7" } }, { person: person("test:7") }],
    [
      "the named person instead of the sender",
      { sender, behalf: { person: person("eve") } },
      { person: person("eve") },
    ],
    [
      "the sender through the quoted people",
      { sender: { ...sender, others: ["bob"] } },
      { person: person("ann"), through: [person("bob")] },
    ],
    [
      "the sender, untrusted with words of unknown people",
      { sender: { ...sender, untrusted: true } },
      { person: person("ann"), untrusted: true },
    ],
  ])("are %s", async (_title, more, behalf) => {
    const engine = await TestEngine.open();
    for (const id of ["ann", "bob"]) await putPerson(engine, id);
    expect((await storedMessage(engine, await engine.tell("hi", more))).behalf).toEqual(behalf);
  });

  it.each([
    ["a sender", { sender }],
    ["no sender", {}],
  ])("mark every file of a message with %s as untrusted, even a file that an agent made", async (_, of) => {
    const engine = await TestEngine.open();
    const behalf = { person: person("test:ann") };
    const made = { data: Buffer.from("text"), name: "n.txt", behalf, from: "behalf" } as const;
    const file = await engine.system.files?.put(made);
    if (!file) throw new TypeError("no files");
    expect(file.behalf).toEqual(behalf);
    const text: MessageBody = { kind: "user", text: "look", files: [referenceTo(file)] };
    const stored = await storedMessage(engine, await engine.send(text, of));
    expect(stored.body).toMatchObject({ files: [{ id: file.id, untrusted: true }] });
    await engine.settle();
    expect((await engine.store.agent(await engine.agentId()))?.state.untrusted).toBe(true);
    expect((await engine.entries()).find(({ role }) => role === "user")?.untrusted).toEqual({ from: "file:n.txt" });
  });

  it("leave a long text that the person typed without a mark, although it becomes a file", async () => {
    const textLimits = { messageCharacters: 4_000, toolResultCharacters: 9_000, answerCharacters: 9_000 };
    const engine = await TestEngine.open({ settings: { limits: textLimits } });
    await engine.system.post({
      ...engine.person("ann"),
      longText: "file",
      sender,
      body: { kind: "user", text: "x".repeat(5_000) },
    });
    await engine.settle();
    const agent = await engine.store.agent(await engine.agentId());
    expect(agent?.state.untrusted).toBeUndefined();
    expect(await engine.store.files({ limit: 2 })).toMatchObject([{ behalf: { person: "test:ann" } }]);
  });
});

it("marks a long text that others wrote as a file too", async () => {
  const textLimits = { messageCharacters: 4_000, toolResultCharacters: 9_000, answerCharacters: 9_000 };
  const engine = await TestEngine.open({ settings: { limits: textLimits } });
  const body: MessageBody = { kind: "user", text: "x".repeat(5_000) };
  await engine.system.post({
    ...engine.person("ann"),
    longText: "file",
    sender: { connector: "test", userId: "ann", untrusted: true },
    body,
  });
  expect(await engine.store.files({ limit: 2 })).toMatchObject([{ behalf: { person: "test:ann", untrusted: true } }]);
});

describe("files of a message", () => {
  it("stay as long as an agent refers to them; unused ones are removed", async () => {
    const engine = await TestEngine.open();
    const { files } = engine.system;
    if (!files) throw new TypeError("no files");
    const behalf = { person: person("test:ann") };
    const put = (name: string) => files.put({ data: Buffer.from(name), name, behalf });
    const [sent, unused] = [await put("sent.txt"), await put("unused.txt")];
    await engine.send({ kind: "user", text: "look", files: [referenceTo(sent)] }, { behalf });
    await engine.settle();
    engine.clock.jump(2 * files.limits.unusedMs);
    await files.sweep();
    expect([await files.find(sent.id), await files.find(unused.id)]).toMatchObject([{ id: sent.id }, undefined]);
  });

  const limits = { messageCharacters: 4_000, toolResultCharacters: 9_000, answerCharacters: 9_000 };
  const long = { kind: "user", text: "x".repeat(4_200) } as const;
  const behalf = { person: person("test:ann") };

  it("contain a text that is too long, in addition to the message's own files", async () => {
    const engine = await TestEngine.open({ settings: { limits: limits } });
    const { files } = engine.system;
    if (!files) throw new TypeError("no files");
    const own = referenceTo(await files.put({ data: Buffer.from("own"), name: "own.txt", behalf }));
    const posted = await engine.send({ ...long, files: [own], replyToId: "m0" }, { behalf, longText: "file" });
    const { body: kept } = await storedMessage(engine, posted);
    if (kept.kind !== "user") throw new TypeError("not a text");
    expect(kept).toMatchObject({ replyToId: "m0", files: [{ id: own.id }, { name: "message.txt" }] });
    expect(kept.text.length).toBeLessThan(2_000);
    const whole = await files.find(kept.files?.[1]?.id ?? "");
    expect(whole && Buffer.from((await files.read(whole)) ?? []).toString()).toBe(long.text);
    const short = await engine.send({ kind: "user", text: "fits" }, { behalf, longText: "file" });
    expect((await storedMessage(engine, short)).body).toEqual({ kind: "user", text: "fits" });
  });

  test.each<[string, Partial<PostRequest>, boolean]>([
    ["the caller does not ask for a file", { behalf }, true],
    ["an agent wrote it", { behalf, longText: "file", body: { kind: "system", text: long.text } }, true],
    ["the node stores no files", { behalf, longText: "file" }, false],
    ["it belongs to nobody", { longText: "file" }, true],
    [
      "the rest of the message fills half of the limit",
      { behalf, longText: "file", body: { ...long, replyToId: "m".repeat(2_001) } },
      true,
    ],
  ])("do not replace a text that is too long if %s: it is refused", async (_title, more, stores) => {
    const engine = await TestEngine.open({
      system: { ...(stores ? {} : { files: undefined }) },
      settings: { limits: limits },
    });
    const posted = engine.system.post({ ...engine.person(), body: long, ...more });
    await expect(posted).rejects.toMatchObject({ code: "too_large" });
    expect(await engine.store.agents({ limit: 9 })).toEqual([]);
  });
});

describe("messages that arrive together", () => {
  /** An engine whose first lookup of an agent takes until the test opens the gate. */
  async function slowLookup() {
    const engine = await TestEngine.open();
    const hold = gate();
    const lookUp = engine.store.agentByKey;
    engine.store.agentByKey = async (key) => {
      engine.store.agentByKey = lookUp;
      await hold.promise;
      return lookUp(key);
    };
    return { engine, hold };
  }

  it("keep their order within a conversation if the first takes longer to prepare", async () => {
    const { engine, hold } = await slowLookup();
    const posted = ["one", "two", "three"].map((text) => engine.say(text));
    await engine.settle();
    expect(engine.requests).toEqual([]);
    hold.open();
    expect((await Promise.all(posted)).map((one) => accepted(one).seq)).toEqual([1, 2, 3]);
  });

  test.each<[string, Partial<PostRequest>]>([
    ["person", { to: { descriptor: { ...ANN, userId: "bob", channelId: "bob" } } }],
    ["profile", { to: { descriptor: ANN, profile: "work" } }],
  ])("do not wait for those of another %s", async (_title, other) => {
    const { engine, hold } = await slowLookup();
    const slow = engine.say("slow");
    await engine.tell("fast", other);
    expect(engine.shown()).toEqual(["answer to fast"]);
    hold.open();
    await slow;
  });

  it("are accepted after one that was refused", async () => {
    const engine = await TestEngine.open();
    const wrong = engine.say("wrong", { to: { descriptor: { ...ANN, userId: "" }, sessionKey: "k" as SessionKey } });
    const right = engine.say("right", { to: { descriptor: ANN, sessionKey: "k" as SessionKey } });
    await expect(wrong).rejects.toThrow("Invalid agent descriptor");
    expect(await right).toMatchObject({ status: "accepted" });
  });
});

describe("agentFor", () => {
  it("finds the agent the owner wrote to last, right after a restart too", async () => {
    const engine = await TestEngine.open({ settings: { owner: { accounts: ["test:bob"] } } });
    for (const name of ["ann", "bob", "mallory"]) {
      await engine.tell("hi", { name });
      await engine.advance(1_000);
    }
    const bob = await engine.agentId("bob");
    expect(await engine.system.agentFor("most-recent-foreground")).toBe(bob);
    await engine.restart();
    expect(engine.system.loaded).toBe(0);
    expect(await engine.system.agentFor("most-recent-foreground")).toBe(bob);
    expect(await engine.system.agentFor("heartbeat")).toBeUndefined();
  });

  it("ignores silent messages, system messages, and agents that are not conversations", async () => {
    const engine = await TestEngine.open({ settings: { owner: { accounts: ["test:ann", "test:bob"] } } });
    for (const name of ["ann", "bob"]) {
      await engine.tell("hi", { name });
      await engine.advance(1_000);
    }
    const bob = await engine.agentId("bob");
    await engine.send({ kind: "system", text: "psst", silent: true }, { name: "ann" });
    await engine.send({ kind: "system", text: "hello" }, { name: "ann" });
    await engine.system.post({ to: { descriptor: { type: "heartbeat" } }, body });
    await engine.settle();
    expect(await engine.system.agentFor("most-recent-foreground")).toBe(bob);
    expect(await engine.system.agentFor("heartbeat")).not.toBe(bob);
    await engine.system.post({ to: { strategy: "most-recent-foreground" }, body: { kind: "system", text: "news" } });
    await engine.settle();
    expect(await engine.transcript(bob)).toContain("user: <system_message>news</system_message>");
  });
});

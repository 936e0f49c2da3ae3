/** A new run: the messages it takes, the people it acts for, and its prompt. */
import { describe, expect, it, test } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { gate } from "../../../../test/kit/gate.ts";
import { inTurn } from "../../../../test/kit/model.ts";
import { configDefaults } from "../../../config/config-schema.ts";
import { freshState } from "../../../core/agent/fresh-state.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import type { MessageBody } from "../../../core/message/message.ts";
import type { QueueMode } from "../../../core/message/queue.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { RunBody } from "../../../core/run/run.ts";
import type { PostRequest } from "../message-ingress.ts";

const SOURCE = { connector: "test", channelId: "ann" };
type Sent = { readonly body: MessageBody; readonly minutes?: number } & Partial<PostRequest>;
const task = (text: string): Sent => ({ body: { kind: "user", text }, source: undefined });
let ids = 0;
const said = (text: string, more: Partial<PostRequest> = {}): Sent => ({
  ...{ body: { kind: "user", text }, source: { ...SOURCE, messageId: `x${++ids}` } },
  ...more,
});
const system = (text: string): Sent => ({ body: { kind: "system", text } });
const report = (text: string): Sent => ({
  body: { kind: "report", text, childId: "c".repeat(24) as AgentId, childRunId: "r1" as RunId },
});
const queue = (mode: QueueMode, more: object = {}) => ({
  queue: { ...configDefaults.queue, byChannel: {}, mode, debounceMs: 0, ...more },
});

/** The messages come while a run is active; the next run takes what its mode collects. */
async function taken(messages: readonly Sent[], mode: QueueMode = "collect", more: object = {}) {
  const hold = gate<string>();
  const engine = await TestEngine.open({ script: inTurn(() => hold.promise, "done"), settings: queue(mode, more) });
  await engine.tell("first");
  for (const { minutes = 0, ...message } of messages) {
    engine.clock.jump(minutes * 60_000);
    await engine.system.post({ ...engine.person(), ...message });
  }
  hold.open("ready");
  await engine.advance(5_000);
  const [, run] = await engine.runs();
  if (!run) throw new TypeError("no run");
  const prompts = (await engine.transcript()).filter((line) => line.startsWith("user: ")).slice(1);
  return { engine, run, prompts: prompts.map((line) => line.slice("user: ".length)) };
}

test.each<[string, readonly Sent[], Partial<RunBody>]>([
  ["takes one message", [said("a")], { seqs: [2], merged: undefined, said: undefined }],
  ["merges two of a person", [said("a"), said("b")], { seqs: [2, 3], merged: [2], said: undefined }],
  ["counts no task of an agent as a person's word", [task("a")], { said: 0 }],
  ["counts the person's words beside a task", [task("a"), said("b")], { said: 1 }],
  ["has no person's time without a person", [system("x")], { humanAt: undefined, said: undefined }],
  [
    "compacts with the person's instructions",
    [{ body: { kind: "compact", instructions: "short" } }],
    { compact: { instructions: "short" } },
  ],
  ["compacts without instructions", [{ body: { kind: "compact", instructions: "" } }], { compact: {} }],
  [
    "names its trigger",
    [{ body: { kind: "trigger", text: "x", trigger: { type: "cron", id: "j1" } } }],
    { trigger: { type: "cron", id: "j1" }, compact: undefined },
  ],
  [
    "names the last writer",
    [
      said("a", { body: { kind: "user", text: "a", sender: { id: "7" } } }),
      said("b", { body: { kind: "user", text: "b", sender: { id: "8" } } }),
      said("c"),
    ],
    { person: "test:8" },
  ],
  [
    "names no writer without a channel",
    [{ ...task("a"), body: { kind: "user", text: "a", sender: { id: "7" } } }],
    { person: undefined },
  ],
  [
    "names the person that an agent works for",
    [{ body: { kind: "system", text: "x", person: "test:9" } }],
    { person: "test:9" },
  ],
])("a run %s", async (_title, messages, body) => {
  const { run } = await taken(messages);
  expect({ ...body, ...run.body }).toEqual({ ...run.body, ...body });
});

it("answers where its last message came from, with the wishes of that one", async () => {
  const wishes = { model: "m2", timeoutSeconds: 5 };
  const last = said("b", { body: { kind: "user", text: "b", wishes }, delivery: { channel: "test", to: "ann" } });
  const { run, engine } = await taken([last]);
  expect(run.body).toMatchObject({ wishes, replyToId: last.source?.messageId, delivery: { to: "ann" } });
  expect(run.body.behalf).toMatchObject({ person: "test:ann", roots: [run.id] });
  expect(engine.channel().calls.at(-1)?.target.to).toBe("ann");
});

it("has the time of the newest message of a person", async () => {
  const { run, engine } = await taken([said("a"), { ...said("b"), minutes: 3 }, { ...system("x"), minutes: 3 }]);
  const [, , b] = (await engine.store.messages(run.agentId, { limit: 9 })).toReversed();
  expect(run.body.humanAt).toBe(b?.acceptedAt);
});

describe("the prompt of a run", () => {
  const OVERFLOW = "[Queue overflow] Dropped 2 messages due to cap.\nSummary:\n- lost\n- gone";
  const [lost, gone, a, b] = ["lost", "gone", "a", "b"].map((text) => said(text));
  const burst = (text: string): Sent => said(text, { body: { kind: "user", text, burst: "text" } });
  test.each<[string, readonly Sent[], QueueMode, object, string]>([
    [
      "collects messages under a title",
      [said("a"), said("b")],
      "collect",
      {},
      "[Queued messages while agent was busy]\n\n---\nQueued #1\na\n\n---\nQueued #2\nb",
    ],
    [
      "collects reports under their own title",
      [report("one"), report("two")],
      "collect",
      {},
      "[Queued announce messages while agent was busy]",
    ],
    [
      "collects reports and messages under the usual title",
      [report("one"), said("two")],
      "collect",
      {},
      "[Queued messages while agent was busy]",
    ],
    ["joins the parts of one message", [burst("a"), burst("b")], "queue", {}, "a\nb"],
    [
      "puts a line about dropped messages before collected ones",
      [lost, gone, a, b].filter((one) => one !== undefined),
      ...(["collect", { cap: 2, drop: "summarize" }] as const),
      `[Queued messages while agent was busy]\n\n${OVERFLOW}\n\n---\nQueued #1\na\n\n---\nQueued #2\nb`,
    ],
  ])("%s", async (_title, messages, mode, more, prompt) => {
    const { prompts } = await taken(messages, mode, more);
    expect(prompts[0]?.startsWith(prompt)).toBe(true);
  });

  it("settles what the queue dropped with the policy and the run", async () => {
    const { engine, run } = await taken([said("lost"), said("a")], "collect", { cap: 1, drop: "old" });
    const [, dropped] = (await engine.store.messages(run.agentId, { limit: 9 })).toReversed();
    expect(dropped).toMatchObject({ state: "dropped", reason: "cap 1 (old)", runId: run.id });
  });
});

describe("a message of another person", () => {
  const eve = { behalf: { person: "eve" as PersonId } };
  const named = (name: string): Partial<PostRequest> => ({
    ...eve,
    body: { kind: "user", text: "hi", sender: { id: "7", name } },
  });

  test.each<[string, Partial<PostRequest>, RegExp]>([
    ["with the name that they chose", named("Chosen"), /^<speaker id="eve" role="\w+" name="Chosen"\/>/],
    ["without a name", eve, /^<speaker id="eve" role="\w+"\/>/],
    ["not if it is the agent's own person", { behalf: { person: "test:ann" as PersonId } }, /^hi/],
    ["not in a message of the system", { ...eve, body: { kind: "system", text: "hi" } }, /^(?!<speaker)/],
  ])("names its speaker %s", async (_title, more, prompt) => {
    const { prompts } = await taken([said("hi", more)], "queue");
    expect(prompts[0]).toMatch(prompt);
  });

  it("names the speaker of a joined prompt once, and by the name in the record", async () => {
    const engine = await TestEngine.open({ settings: queue("queue") });
    const person = { id: "eve", role: "guest", name: "Eve of the record", accounts: ["test:eve"], grants: [] } as const;
    await engine.put({ op: "person.put", person: { ...person, createdAt: 1, createdBy: "owner" } });
    await engine.tell("first");
    const body = (text: string): MessageBody => ({ kind: "user", text, burst: "text", sender: { id: "7", name: "E" } });
    await engine.say("", { body: body("a"), ...eve });
    await engine.say("", { body: body("b"), ...eve });
    await engine.advance(5_000);
    const prompt = engine.heard(1).at(-1) ?? "";
    expect(prompt.split("<speaker")).toHaveLength(2);
    expect(prompt).toMatch(/^<speaker id="eve" role="guest" name="Eve of the record"\/>\s*a\nb$/);
  });

  it("is not named as a speaker in the task of a promised run", async () => {
    const engine = await TestEngine.open();
    await engine.tell("first");
    await engine.drain();
    const message = { ...said("hi"), ...eve, asRun: "r9" as RunId, acceptedAt: engine.clock.now() };
    await engine.put({ op: "message.post", to: { agentId: await engine.agentId() }, message });
    await engine.restart();
    expect([(await engine.runs()).at(-1)?.id, engine.heard(1).at(-1)]).toEqual(["r9", "hi"]);
  });

  it("stays known in the session, and on the way of later runs", async () => {
    const { engine } = await taken([said("hi", eve)]);
    expect((await engine.agent()).state.speakers).toEqual(["eve"]);
    await engine.tell("more");
    expect((await engine.runs()).at(-1)?.body.behalf).toMatchObject({ person: "test:ann", through: ["eve"] });
  });
});

it("begins the session that a trigger asks for with the run itself", async () => {
  const speakers = ["eve" as PersonId];
  let begins = false;
  const engine = await TestEngine.open({
    system: { hooks: { sessionFor: async () => (begins ? { ...freshState(1), speakers, label: "fork" } : undefined) } },
  });
  await engine.tell("old");
  const before = await engine.agent();
  begins = true;
  await engine.tell("new");
  const after = await engine.agent();
  expect(after.sessionId).not.toBe(before.sessionId);
  expect(after.state).toMatchObject({ label: "fork", speakers });
  expect((await engine.runs()).map(({ sessionId }) => sessionId)).toEqual([before.sessionId, after.sessionId]);
  expect((await engine.runs())[1]?.body.behalf).toMatchObject({ person: "test:ann", through: ["eve"] });
  expect((await engine.transcript()).slice(2, 4)).toEqual(["--- reset", "user: new"]);
});

it("counts messages that steer a run, and names each by its id", async () => {
  const hold = gate<string>();
  const engine = await TestEngine.open({
    settings: queue("steer"),
    script: inTurn({ call: [{ name: "work" }] }, "done"),
    tools: { work: { execute: () => hold.promise } },
  });
  await engine.tell("one");
  for (const message of [said("two"), task("three")]) await engine.system.post({ ...engine.person(), ...message });
  await engine.settle();
  hold.open("worked");
  await engine.settle();
  const [run] = await engine.runs();
  expect(run?.body).toMatchObject({ seqs: [1, 2, 3], said: 2 });
  const steered = (await engine.transcript()).filter((line) => /^user: (two|three)/.test(line));
  expect(steered).toEqual([expect.stringMatching(/^user: two\n\[message_id: x\d+\]$/), "user: three"]);
});

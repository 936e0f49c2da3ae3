/** Messages whose handling throws (M48): they are tried again, settled as failed and reported, and never block their inbox. */
import { expect, it, test } from "vitest";
import { TestEngine, type TestEngineOptions } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { type Reply, stall } from "../../../test/kit/model.ts";
import { CorruptDataError, StoreFullError } from "../../core/errors.ts";
import type { AgentId, ChangeId, RunId } from "../../core/ids.ts";
import type { MessageBody, NewMessage } from "../../core/message/message.ts";
import type { Op } from "../../core/store/change.ts";
import type { EngineChange } from "../../core/store/commit-sites.ts";
import { accepted, queueOf } from "./agent-system.test-kit.ts";

const BY = { person: "olga", surface: "cli" };
/** `/memory` throws. */
const NO_NOTES = { memory: () => Promise.reject(new TypeError("no notes")) };
const TRIED = { times: 1, reason: "x", nextAt: 0 };
const ALL_TRIES_MS = 71_000;

/** The messages that a change takes or settles. */
const handled = (ops: readonly Op[]): readonly number[] =>
  ops.flatMap((op) =>
    op.op === "message.take" ? op.seqs : op.op === "message.settle" ? op.settlements.map(({ seq }) => seq) : [],
  );

/** Makes every change fail that handles one of these messages, as a fault in its handling does. */
function poison(engine: TestEngine, seqs: readonly number[], error: () => Error = () => new TypeError("no colour")) {
  let tries = 0;
  engine.onCommit = ({ site, ops }: EngineChange) => {
    if (site === "message.failed" || site === "inbox.drop" || !handled(ops).some((seq) => seqs.includes(seq)))
      return "go";
    tries += 1;
    throw error();
  };
  return () => tries;
}

/** An engine whose agent has answered message 1. */
async function open(options: TestEngineOptions = {}) {
  const engine = await TestEngine.open(options);
  const { agentId } = accepted(await engine.tell("one"));
  return { engine, agentId };
}

const runId = "r" as RunId;
test.each<MessageBody>([
  { kind: "user", text: "two" },
  { kind: "user", text: "" },
  { kind: "system", text: "two" },
  { kind: "system", text: "two", silent: true },
  { kind: "trigger", text: "two", trigger: { type: "webhook", id: "h" } },
  { kind: "report", text: "two", childId: "c".repeat(24) as AgentId, childRunId: runId },
  { kind: "reset", by: "person" },
  { kind: "setting", patch: { label: "x" } },
  { kind: "branch", entryId: "none" },
  { kind: "stop" },
  { kind: "describe", by: "x", description: "d", systemPrompt: "p" },
  { kind: "restore" },
  { kind: "subagents", command: "list" },
  { kind: "compact" },
  { kind: "command", name: "status", text: "" },
  { kind: "command", name: "think", text: "low", inTurn: true },
  { kind: "permission", runId, callId: "c", approved: false },
  { kind: "permission", runId, callId: "c", approved: true, text: "late" },
])("fails a message of kind $kind after its tries and answers the next one", async (body) => {
  const { engine, agentId } = await open();
  const tries = poison(engine, [2]);
  await engine.send(body);
  await engine.settle();
  expect(tries()).toBe(1);
  await engine.say("three");
  for (const [ms, count] of [
    [999, 1],
    [1, 2],
    [9_999, 2],
    [1, 3],
    [59_999, 3],
    [1, 4],
  ] as const) {
    await engine.advance(ms);
    expect(tries()).toBe(count);
  }
  expect(await engine.states()).toEqual(["answered", "failed", "answered"]);
  expect(await engine.store.message(agentId, 2)).toMatchObject({ reason: "no colour." });
  await engine.advance(3_600_000);
  expect(tries()).toBe(4);
});

it("tells the person who wrote it, in a delivery and in one entry, and ends the caller's wait", async () => {
  const { engine, agentId } = await open();
  poison(engine, [2]);
  const answer = engine.system.postAndAwait(
    { ...engine.person(), body: { kind: "command", name: "status", text: "" } },
    { timeoutMs: 600_000 },
  );
  await engine.advance(ALL_TRIES_MS);
  expect(await answer).toMatchObject({ result: undefined });
  const text = "⚠️ This could not be handled: no colour. It was tried 4 times and is not tried again.";
  expect(engine.shown()).toEqual(["answer to one", text]);
  expect((await engine.transcript()).slice(2)).toEqual([
    "user: <system_message>Message 2 (command) could not be handled: no colour.</system_message>",
  ]);
  const [last] = engine.commits.filter(({ site }) => site === "message.failed");
  expect(last?.ops.map(({ op }) => op).sort()).toEqual(["delivery.add", "entries.append", "message.settle"]);
  expect(await engine.agent(agentId)).toMatchObject({ waiting: 0, node: undefined });
});

test.each<[string, MessageBody]>([
  ["The event of a webhook", { kind: "trigger", text: "two", trigger: { type: "webhook", id: "h" } }],
  ["The report of a sub-agent", { kind: "report", text: "two", childId: "c".repeat(24) as AgentId, childRunId: runId }],
  ["A message to the agent", { kind: "system", text: "two" }],
])("tells the person who would have got the answer, whoever wrote it: %s", async (what, body) => {
  const { engine } = await open();
  poison(engine, [2]);
  await engine.send(body);
  await engine.advance(ALL_TRIES_MS);
  expect(await engine.states()).toEqual(["answered", "failed"]);
  const text = `⚠️ ${what} could not be handled: no colour. It was tried 4 times and is not tried again.`;
  expect(engine.shown()).toEqual(["answer to one", text]);
});

it("says nothing about a silent message that is for no person", async () => {
  const { engine } = await open();
  poison(engine, [2]);
  await engine.send({ kind: "system", text: "two", silent: true }, { delivery: undefined });
  await engine.advance(ALL_TRIES_MS);
  expect([await engine.states(), engine.shown()]).toEqual([["answered", "failed"], ["answer to one"]]);
});

it("sends a notice that could not be recorded", async () => {
  const { engine } = await open();
  poison(engine, [2]);
  await engine.send({ kind: "system", text: "The job failed.", silent: true, said: "notice" });
  await engine.advance(ALL_TRIES_MS);
  expect(engine.shown()).toEqual(["answer to one", "The job failed."]);
});

it("settles the message alone if its end cannot be reported", async () => {
  const { engine } = await open({
    system: { hooks: { opsOnSettle: () => Promise.reject(new TypeError("no ops")) } },
  });
  poison(engine, [2]);
  await engine.say("two");
  await engine.advance(ALL_TRIES_MS);
  expect(await engine.states()).toEqual(["answered", "failed"]);
  expect(await engine.tell("three")).toMatchObject({ seq: 3 });
  expect(engine.shown()).toEqual(["answer to one", "answer to three"]);
});

it("counts tries across restarts, and each only once", async () => {
  const { engine } = await open();
  let tries = poison(engine, [2]);
  await engine.say("two");
  await engine.settle();
  expect(tries()).toBe(1);
  for (const ms of [1_000, 10_000, 60_000]) {
    await engine.restart();
    tries = poison(engine, [2]);
    await engine.advance(ms - 1);
    expect(tries()).toBe(0);
    await engine.advance(1);
    expect(tries()).toBe(1);
  }
  expect(await engine.states()).toEqual(["answered", "failed"]);
});

it("counts nothing while tries cannot be committed", async () => {
  const { engine, agentId } = await open();
  let tries = 0;
  engine.onCommit = ({ site, ops }) => {
    if (site === "message.tried") return "unknown-lost";
    if (!handled(ops).includes(2)) return "go";
    tries += 1;
    throw new TypeError("no colour");
  };
  await engine.say("two");
  await engine.advance(300_000);
  expect(tries).toBeGreaterThan(4);
  expect((await engine.store.message(agentId, 2))?.tried).toBeUndefined();
  engine.onCommit = () => "go";
  await engine.advance(60_000);
  expect(await engine.states()).toEqual(["answered", "answered"]);
});

test.each<[string, () => Error]>([
  ["a retryable error", () => new StoreFullError("full")],
  ["a full disk", () => Object.assign(new Error("no space left"), { code: "ENOSPC" })],
  ["a full disk behind another error", () => Object.assign(new Error("quota"), { code: "EDQUOT" })],
])("does not count %s", async (_, error) => {
  const { engine, agentId } = await open();
  const tries = poison(engine, [2], error);
  await engine.say("two");
  await engine.advance(300_000);
  expect(tries()).toBeGreaterThan(4);
  expect((await engine.store.message(agentId, 2))?.tried).toBeUndefined();
  engine.onCommit = () => "go";
  await engine.advance(60_000);
  expect(await engine.states()).toEqual(["answered", "answered"]);
});

it("leaves a message as it is if stored data is corrupt, and drops it", async () => {
  const { engine, agentId } = await open();
  const tries = poison(engine, [2], () => new CorruptDataError("corrupt"));
  await engine.say("two");
  await engine.advance(300_000);
  expect(tries()).toBeLessThan(4);
  expect(await engine.states()).toEqual(["answered", "waiting"]);
  expect(engine.system.degraded.get(agentId)).toBe("corrupt");
  await engine.say("three");
  await engine.system.dropMessage({ agentId, seq: 2, by: BY });
  await engine.settle();
  expect(await engine.states()).toEqual(["answered", "dropped", "answered"]);
  expect(engine.system.degraded.size).toBe(0);
});

it("takes the messages of a collected set one by one after it has failed", async () => {
  const hold = gate<Reply>();
  const { engine } = await open({ settings: { queue: queueOf({ mode: "collect" }) } });
  engine.script = (one) => stall(one, hold.promise);
  await engine.tell("two");
  for (const text of ["three", "four", "five"]) await engine.say(text);
  const tries = poison(engine, [4]);
  engine.script = ({ request }) => `answer to ${request.messages.length}`;
  hold.open("done");
  await engine.settle();
  expect([tries(), await engine.states()]).toEqual([1, ["answered", "answered", "waiting", "waiting", "waiting"]]);
  await engine.advance(1_000);
  expect((await engine.states()).slice(2)).toEqual(["answered", "waiting", "waiting"]);
  await engine.advance(ALL_TRIES_MS);
  expect((await engine.states()).slice(2)).toEqual(["answered", "failed", "answered"]);
});

it("records silent messages one by one after they have failed together", async () => {
  const { engine } = await open();
  poison(engine, [3]);
  engine.at("accept", () => undefined);
  for (const text of ["two", "three", "four"]) await engine.send({ kind: "system", text, silent: true });
  await engine.advance(2 * ALL_TRIES_MS);
  expect(await engine.states()).toEqual(["answered", "recorded", "failed", "recorded"]);
});

it("does not end the run that a failing question comes to", async () => {
  const hold = gate<Reply>();
  const engine = await TestEngine.open({
    tools: { look: {} },
    system: { commands: NO_NOTES },
  });
  let calls = 0;
  engine.script = (one) => {
    calls += 1;
    return calls === 1 ? stall(one, hold.promise) : "done";
  };
  await engine.tell("one");
  await engine.send({ kind: "command", name: "memory", text: "" });
  await engine.settle();
  hold.open({ call: [{ name: "look" }] });
  await engine.settle();
  expect([engine.shown(), await engine.states()]).toEqual([["done"], ["answered", "waiting"]]);
  await engine.advance(ALL_TRIES_MS);
  expect(await engine.states()).toEqual(["answered", "failed"]);
});

it.each(["stop", "reset"] as const)("lets a %s overtake a message that is tried again", async (kind) => {
  const { engine } = await open();
  poison(engine, [2]);
  await engine.say("two");
  await engine.settle();
  await engine.send(kind === "stop" ? { kind } : { kind, by: "person" });
  await engine.settle();
  expect(await engine.states()).toEqual(["answered", "waiting", "recorded"]);
});

it("drops a message that is tried again and answers the next one at once", async () => {
  const { engine, agentId } = await open();
  poison(engine, [2]);
  await engine.send({ kind: "command", name: "status", text: "" });
  await engine.settle();
  await engine.say("three");
  await engine.system.dropMessage({ agentId, seq: 2, by: BY });
  await engine.settle();
  expect(await engine.states()).toEqual(["answered", "dropped", "answered"]);
});

it("removes an agent whose message is tried again", async () => {
  const { engine, agentId } = await open({ system: { commands: NO_NOTES } });
  await engine.send({ kind: "command", name: "memory", text: "" });
  await engine.advance(1_000);
  expect((await engine.store.message(agentId, 2))?.tried).toMatchObject({ times: 2, reason: "no notes." });
  const removed = engine.system.lifecycle.remove(agentId);
  await engine.advance(5_000);
  await removed;
  expect(await engine.store.agent(agentId)).toMatchObject({ waiting: 0, stopped: { removed: true } });
});

it("drains at once while a message is tried again", async () => {
  const { engine } = await open();
  poison(engine, [2]);
  await engine.say("two");
  await engine.settle();
  await engine.drain();
  expect(await engine.states()).toEqual(["answered", "waiting"]);
});

it("names the agents whose messages keep failing", async () => {
  const { engine, agentId } = await open();
  poison(engine, [2]);
  await engine.say("two");
  await engine.settle();
  const { failing } = await engine.system.diagnose();
  expect(failing).toMatchObject([{ agentId, seq: 2, kind: "user", times: 1, reason: "no colour." }]);
  const { waiting } = await engine.system.whatWaits(agentId);
  expect(waiting.map(({ will }) => will)).toEqual([
    `failed 1 time (no colour.) and is tried again at ${new Date(engine.clock.now() + 1_000).toISOString()}`,
  ]);
});

it("answers what an earlier version stored with values beyond their limits", async () => {
  const { engine, agentId } = await open({ settings: { queue: queueOf({ mode: "collect" }) } });
  engine.crash();
  const bodies: readonly MessageBody[] = [
    { kind: "command", name: "queue", text: "debounce:2h", inTurn: true },
    { kind: "command", name: "queue", text: "cap:100000", inTurn: true },
    { kind: "setting", queue: { debounceMs: 7_200_000 } },
    { kind: "setting", patch: { queueCap: 100_000 } },
    { kind: "user", text: "six", queue: { debounceMs: 1e15, cap: 1e15 } },
  ];
  for (const body of bodies) {
    const message = { body, delivery: engine.person().delivery, acceptedAt: engine.clock.now() };
    await engine.put({ op: "message.post", to: { agentId }, message });
  }
  await engine.restart();
  await engine.advance(ALL_TRIES_MS);
  expect(await engine.states()).toEqual(["answered", "recorded", "recorded", "recorded", "recorded", "answered"]);
  const said = engine.shown().slice(1);
  expect(said.slice(0, 2).every((text) => text.includes("from 0 to 60 minutes, a cap from 1 to 10000"))).toBe(true);
  expect(said.slice(2)).toEqual([
    "⚙️ queueDebounceMs: expected a whole number from 0 to 3600000. Nothing was changed.",
    "⚙️ queueCap: expected a whole number from 1 to 10000. Nothing was changed.",
    "answer to six",
  ]);
});

it("drops a message that cannot be read", async () => {
  const { engine, agentId } = await open();
  const unreadable = { body: null, acceptedAt: 1 } as object as NewMessage;
  engine.onCommit = ({ site }) => (site === "take" ? "full" : "go");
  await engine.say("two");
  await engine.settle();
  const { node, epoch } = await engine.agent(agentId);
  const owner = { agentId, node: node ?? 0, epoch };
  const ops = [{ op: "message.tried", seq: 2, message: { ...unreadable, tried: TRIED } }] as const;
  await engine.store.commit({ id: "garble" as ChangeId, site: "test", at: 1, owner, ops });
  engine.onCommit = () => "go";
  await engine.say("three");
  await engine.advance(60_000);
  expect(engine.system.degraded.get(agentId)).toBe(
    `Message 2 of agent ${agentId} cannot be read. It was left unchanged. \`rookery agents inbox ${agentId} --drop 2\` drops it.`,
  );
  await engine.system.dropMessage({ agentId, seq: 2, by: BY });
  await engine.settle();
  expect(engine.shown()).toEqual(["answer to one", "answer to three"]);
});

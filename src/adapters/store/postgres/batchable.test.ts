import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { AgentState } from "../../../core/agent/state.ts";
import type { AgentId, ChangeId, EntryId, RunId } from "../../../core/ids.ts";
import type { RunBody } from "../../../core/run/run.ts";
import { type Change, CONVERSATIONS_FACT, type Op } from "../../../core/store/change.ts";
import { BatchGroup, batchWire, isBatchable } from "./batchable.ts";

const owner = { agentId: "a" as AgentId, node: 1, epoch: 1 };
const body = { lane: "main", seqs: [1], calls: [], iterations: 1, deliveries: 1 } as RunBody;
const release: Op = { op: "agent.release" };
const settle: Op = { op: "message.settle", settlements: [{ seq: 1, from: "taken", state: "answered" }] };
const end: Op = { op: "run.end", runId: "r" as RunId, body, outcome: "ok" };
const append: Op = { op: "entries.append", position: 2, lines: ["{}"], leaf: "e" as EntryId };
const state: Op = { op: "state.put", state: {} as AgentState };
const change = (ops: readonly Op[]): Change => ({ id: "c" as ChangeId, site: "rest", at: 0, owner, ops });

it.each([
  ["the usual end of a run", true, [settle, end, release, append, state]],
  ["a release before the messages are settled", false, [release, settle]],
  ["a release before the run has ended", false, [settle, release, end]],
  ["the end of a failed run", false, [settle, { ...end, outcome: "error" } as Op]],
  ["two releases", false, [release, release]],
  ["an op on many agents", false, [{ op: "agents.claim", node: 1, limit: 1 } as Op]],
])("%s: batchable is %s", (_, batchable, ops) => {
  expect(isBatchable(change(ops))).toBe(batchable);
});

const open: Op = { op: "run.open", runId: "r" as RunId, body };
const step: Op = { op: "run.step", runId: "r" as RunId, body } as Op;
const leaf: Op = { op: "leaf.move", leaf: "e" as EntryId } as Op;
const fact = (key: string): Op => ({ op: "fact.put", key, value: "v" });
const post = (to: object, more: object = {}): Op =>
  ({ op: "message.post", to, message: { body: { kind: "user", text: "t" }, acceptedAt: 1 }, ...more }) as Op;
const toB = (more: object = {}): Op => post({ agentId: "b" }, more);
const move = (more: object = {}): Op =>
  ({ op: "delivery.move", id: "d", from: "pending", attempts: 0, to: "sending", ...more }) as Op;

it.each([
  ["a run that begins and goes on", false, [open, step]],
  ["a run that begins and ends", false, [open, end]],
  ["a run that goes on and ends", false, [step, end]],
  ["a run that begins", true, [open, append]],
  ["a new line and another leaf", false, [append, leaf]],
  ["the state twice", false, [state, state]],
  ["a message to another agent", true, [toB()]],
  ["a message to its own agent", false, [post({ agentId: "a" })]],
  ["a message by a key, of an owner", false, [post({ sessionKey: "k" })]],
  ["two messages with two keys of requests", true, [toB({ request: { key: "1" } }), toB({ request: { key: "2" } })]],
  ["two messages with one key of a request", false, [toB({ request: { key: "1" } }), toB({ request: { key: "1" } })]],
  ["two messages with one dedupe key", false, [toB({ dedupe: { key: "1" } }), toB({ dedupe: { key: "1" } })]],
  ["a request and a dedupe key with the same text", true, [toB({ dedupe: { key: "1" }, request: { key: "1" } })]],
  ["two facts", true, [fact("1"), fact("2")]],
  ["a fact twice", false, [fact("1"), fact("1")]],
  ["two facts that the database takes for one", false, [fact("1\0"), fact("1\uFFFD")]],
  ["a delivery that moves", true, [move()]],
  ["a delivery that moves to the tail", false, [move({ toTail: true })]],
  ["a delivery that moves with something else", false, [move(), fact("1")]],
])("%s: batchable is %s", (_, batchable, ops) => {
  expect(isBatchable(change(ops))).toBe(batchable);
});

it("without an owner only what needs none is batchable", () => {
  const free = (ops: readonly Op[]): boolean => isBatchable({ ...change(ops), owner: undefined });
  expect([free([fact("1")]), free([toB()]), free([post({ sessionKey: "k" })])]).toEqual([true, true, true]);
  expect(free([post({ sessionKey: "k", create: { descriptor: {} } })])).toBe(false);
  expect([free([settle]), free([state]), free([release])]).toEqual([false, false, false]);
});

const added: Op = { op: "delivery.add", delivery: { id: "d", target: {}, payload: {}, createdAt: 1 } } as never;

it.each([
  ["a delivery of an owner", true, [added]],
  ["who may talk to whom", false, [fact(CONVERSATIONS_FACT)]],
  ["a new leaf", true, [leaf]],
  ["lines without a leaf", true, [append]],
  ["a step", true, [step]],
  ["an end", true, [end]],
  ["a release before lines and settled messages", false, [release, append, settle]],
  ["a release before settled messages and lines", false, [release, settle, append]],
])("%s: batchable is %s", (_, batchable, ops) => {
  expect(isBatchable(change(ops))).toBe(batchable);
});

it("a delivery needs its owner", () => {
  expect(isBatchable({ ...change([added]), owner: undefined })).toBe(false);
});

const by = (agentId: string | undefined, ...ops: readonly Op[]): Change => ({
  ...change(ops),
  owner: agentId === undefined ? undefined : { agentId: agentId as AgentId, node: 1, epoch: 1 },
});

it.each([
  ["two agents", [by("a", state), by("b", state)], [true, true]],
  ["one agent twice", [by("a", state), by("a", append)], [true, false]],
  ["the same fact", [by("a", fact("1")), by("b", fact("1")), by("c", fact("2"))], [true, false, true]],
  ["a message to an agent that is released", [by("b", release), by("a", toB())], [true, false]],
  ["a release of an agent that got a message", [by("a", toB()), by("b", release)], [true, false]],
  ["a release of another agent", [by("a", toB()), by("c", release)], [true, true]],
  ["a message by a key beside a release", [by("b", release), by(undefined, post({ sessionKey: "k" }))], [true, false]],
  ["a release beside a message by a key", [by(undefined, post({ sessionKey: "k" })), by("b", release)], [true, false]],
  ["a message beside an agent that is not released", [by("b", state), by("a", toB())], [true, true]],
  ["an agent that got a message and is not released", [by("a", toB()), by("b", state)], [true, true]],
  [
    "a release among other ops of an agent that got a message",
    [by("a", toB()), by("b", state, release)],
    [true, false],
  ],
  ["an agent without messages beside a release", [by("b", release), by("a", state)], [true, true]],
  [
    "messages to two agents of which one is released",
    [by("b", release), by("a", toB(), post({ agentId: "c" }))],
    [true, false],
  ],
  ["a message to another agent beside a release", [by("b", release), by("a", post({ agentId: "c" }))], [true, true]],
  ["two facts beside one of them", [by("a", fact("1")), by("b", fact("2"), fact("1"))], [true, false]],
  ["what was refused", [by("a", fact("1")), by("b", fact("1"), fact("2")), by("b", fact("2"))], [true, false, true]],
])("%s: may share a batch", (_, changes, wanted) => {
  const group = new BatchGroup();
  expect(changes.map((one) => group.takes(one))).toEqual(wanted);
});

it("a batch is sent with what each owner claims, whose rows it touches, and the latest time", () => {
  const first: Change = { ...by("a", state), at: 7.9, owner: { ...owner, sessionId: "s" as never, rights: 4 } };
  const run = { id: "r" as RunId, step: 3, evenAborted: true };
  const second: Change = {
    ...by("b", append),
    at: 9,
    owner: { agentId: "b" as AgentId, node: 2, epoch: 5, run } as never,
  };
  const third: Change = { ...by(undefined, fact("k")), at: 8 };
  const sent = JSON.parse(batchWire([first, second, third]));
  expect(sent.now).toBe(9);
  expect(sent.owners).toMatchObject([
    { i: 0, agent: "a", node: 1, epoch: 1, session: "s", even: false },
    { i: 1, agent: "b", node: 2, epoch: 5, run: "r", step: 3, even: true },
  ]);
  expect(sent.rights).toEqual([{ revision: 4 }]);
  expect(sent.changes).toMatchObject([
    { i: 0, at: 7, touched: ["a"], ops: 1 },
    { i: 1, at: 9, touched: ["b"], ops: 1 },
    { i: 2, at: 8, touched: [], ops: 1 },
  ]);
});

/** PostgreSQL makes and caches a plan once per connection, often while the tables are still small. */
it("apply_batch finds rows by the given keys: it compares no state with a constant, because the planner would read all rows in that state", () => {
  const text = readFileSync(new URL("./functions/8-apply-batch.sql", import.meta.url), "utf8");
  const joined = text.split("\n").filter((line) => /^ {4}WHERE [a-z]\.(agent|id) = w\./.test(line));
  expect(joined.length).toBeGreaterThan(4);
  for (const line of joined) expect(line).not.toMatch(/\.state = '/);
});

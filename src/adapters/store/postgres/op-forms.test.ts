/**
 * What the database gets of each op: every field of it, nothing where the op says nothing, texts that it can store, whole
 * times, and the locks of everything the op writes. Bodies and records travel as text, so that they are stored byte for byte.
 */
import { expect, test } from "vitest";
import { freshState } from "../../../core/agent/fresh-state.ts";
import type { Change, Op } from "../../../core/store/change.ts";
import { jobRanKey } from "./jobs.ts";
import type { ReadBefore } from "./op-form.ts";
import { toWire } from "./wire.ts";

const AT = 5_000.7;
const OWNER = { agentId: "owner", node: 1, epoch: 2 };

/** The op as it is sent, and its locks as `kind name`. */
function sent(op: object, read: ReadBefore = new Map(), owner?: object): { wire: object; locks: readonly string[] } {
  const change = { id: "c", site: "s", at: AT, owner, ops: [op as Op] } as unknown as Change;
  const { changes, ...locks } = toWire([change], read);
  const { op: name, ...wire } = JSON.parse(changes)[0].ops[0];
  expect([name, JSON.parse(changes)[0].at]).toEqual([
    (op as Op).op === "job.delivered" ? "job.ran" : (op as Op).op,
    5_000,
  ]);
  return { wire, locks: Object.entries(locks).flatMap(([kind, of]) => of.map((one: string) => `${kind} ${one}`)) };
}
const json = JSON.stringify;

const seed = {
  ...{ id: "new", sessionKey: "key\0", profile: "main\0", person: "ann\0", sessionId: "s1", lines: ["{}", "l\0"] },
  ...{ leaf: "leaf\0", createdAt: 7.9, descriptor: { type: "user", b: 1, a: 2 }, state: { z: 1, a: 2 } },
};
const wiredSeed = {
  ...{ id: "new", key: "key\uFFFD", profile: "main\uFFFD", person: "ann\uFFFD", kind: "user", session: "s1" },
  ...{
    descriptor: '{"type":"user","b":1,"a":2}',
    state: '{"z":1,"a":2}',
    lines: ["{}", "l\uFFFD"],
    leaf: "leaf\uFFFD",
  },
  at: 7,
};
const child = { ...seed, person: undefined, descriptor: { type: "subagent", parentAgentId: "mother\0" } };
const { person: _person, ...wiredChild } = {
  ...wiredSeed,
  ...{ kind: "subagent", parent: "mother\uFFFD", descriptor: json(child.descriptor) },
};
const body = (rest: object = {}): object => ({ lane: "main", seqs: [1], ...rest });
const used = body({ person: "ann\0", usage: { totalTokens: 4.9, cost: { total: 0.5 } } });
const usedWire = { body: json(used), person: "ann\uFFFD", tokens: 4, cost: 0.5 };
const said = (kind: string, rest: object = {}) => ({ body: { kind, ...rest }, acceptedAt: 9.9 });
const mark = { at: 1, reason: "r", seq: 3 };

test.each<[string, object, object, readonly string[]]>([
  ["an agent", { op: "agent.create", seed }, { seed: wiredSeed }, ["names key key\uFFFD"]],
  [
    "a child that must be new",
    { op: "agent.create", seed: child, fresh: true },
    { seed: wiredChild, fresh: true },
    ["names key key\uFFFD", "parents mother\uFFFD"],
  ],
  ["no new one", { op: "agent.create", seed, fresh: false }, { seed: wiredSeed }, ["names key key\uFFFD"]],
  [
    "a stop",
    { op: "agent.stop", agentId: "a\0", mark, ifSeq: 4 },
    { agentId: "a\uFFFD", mark: '{"at":1,"reason":"r"}', ifSeq: 4 },
    ["agents a\uFFFD", "stops a\uFFFD"],
  ],
  ["a start", { op: "agent.stop", agentId: "a", mark: null }, { agentId: "a" }, ["agents a", "stops a"]],
  [
    "a removal",
    { op: "agent.remove", agentId: "a", reason: "r", keep: true },
    {
      agentId: "a",
      mark: '{"at":5000,"reason":"r","removed":true}',
      reason: "r",
      state: json(freshState(AT)),
      keep: true,
    },
    ["agents a", "stops a"],
  ],
  [
    "a removal of everything",
    { op: "agent.remove", agentId: "a", reason: "r", keep: false },
    { agentId: "a", mark: '{"at":5000,"reason":"r","removed":true}', reason: "r", state: json(freshState(AT)) },
    ["agents a", "stops a"],
  ],
  ["a claim", { op: "agent.claim", agentId: "a\0", node: 3 }, { agentId: "a\uFFFD", node: 3 }, ["agents a\uFFFD"]],
  ["a claim of many", { op: "agents.claim", node: 3, limit: 9 }, { node: 3, limit: 9, own: false }, []],
  [
    "a claim of more",
    { op: "agents.claim", node: 3, limit: 9, own: true, after: "a\0" },
    { node: 3, limit: 9, own: true, after: "a\uFFFD" },
    [],
  ],
  ["a node", { op: "node.join", name: "n\0", leaseUntil: 8.9, was: 2 }, { name: "n\uFFFD", leaseUntil: 8, was: 2 }, []],
  ["a lease", { op: "node.renew", node: 2, leaseUntil: 8.9 }, { node: 2, leaseUntil: 8 }, []],
  [
    "an erased agent",
    { op: "agent.erase", agentId: "a\0", tombstone: "t\0" },
    {
      ...{ agentId: "a\uFFFD", tombstone: "t\uFFFD", reply: expect.stringContaining("forgotten") },
      ...{ mark: '{"at":5000,"reason":"forgotten","removed":true}', state: json(freshState(AT)) },
    },
    ["agents a\uFFFD", "stops a\uFFFD"],
  ],
  [
    "an erased person",
    { op: "person.erase", people: ["p\0"], jobs: ["j\0"], budgets: ["b\0"], tombstone: "t\0" },
    {
      ...{ people: ["p\uFFFD"], jobs: ["j\uFFFD"], budgets: ["b\uFFFD"], tombstone: "t\uFFFD" },
      reply: expect.stringContaining("forgotten"),
    },
    ["budgets b\uFFFD"],
  ],
  [
    "a person's message to an agent",
    { op: "message.post", to: { agentId: "a\0" }, message: said("user", { text: "t" }) },
    {
      to: "a\uFFFD",
      human: true,
      person: true,
      at: 9,
      message: '{"body":{"kind":"user","text":"t"},"acceptedAt":9.9}',
    },
    ["agents a\uFFFD"],
  ],
  [
    "a reset to a session that may have to be created, once",
    {
      ...{ op: "message.post", to: { sessionKey: "k\0", create: child }, message: said("reset"), claimFor: 4 },
      ...{ dedupe: { key: "d\0", keepUntil: 6.9 } },
      request: { by: "key", key: "r\0", digest: "g\0", keepUntil: 7.9 },
    },
    {
      ...{ key: "k\uFFFD", seed: wiredChild, urgent: true, reset: true, at: 9, claim: 4 },
      ...{ message: '{"body":{"kind":"reset"},"acceptedAt":9.9}', dedupe: "d\uFFFD", keep: 6 },
      ...{ request: "r\uFFFD", digest: "g\uFFFD", requestKeep: 7 },
    },
    ["names key key\uFFFD", "names dedupe d\uFFFD", "names request r\uFFFD", "keys k\uFFFD", "parents mother\uFFFD"],
  ],
  [
    "a request that is known by its content",
    {
      ...{ op: "message.post", to: { sessionKey: "k" }, message: said("wake") },
      request: { by: "content", key: "r", isRetry: true, keepUntil: 7 },
    },
    {
      key: "k",
      at: 9,
      message: '{"body":{"kind":"wake"},"acceptedAt":9.9}',
      request: "r",
      retry: true,
      requestKeep: 7,
    },
    ["names request r", "keys k"],
  ],
  [
    "a request by its content that is no retry",
    {
      ...{ op: "message.post", to: { sessionKey: "k" }, message: said("wake") },
      request: { by: "content", key: "r", isRetry: false, keepUntil: 7 },
    },
    { key: "k", at: 9, message: '{"body":{"kind":"wake"},"acceptedAt":9.9}', request: "r", requestKeep: 7 },
    ["names request r", "keys k"],
  ],
  [
    "a failed try",
    { op: "message.tried", seq: 3, message: { body: { kind: "stop" }, acceptedAt: 9 } },
    { byOwner: true, seq: 3, message: '{"body":{"kind":"stop"},"acceptedAt":9}' },
    [],
  ],
  [
    "a dropped message",
    { op: "message.drop", agentId: "a\0", seq: 3, reason: "r\0" },
    { agentId: "a\uFFFD", seq: 3, reason: "r\uFFFD" },
    ["agents a\uFFFD"],
  ],
  [
    "a delivery that moves",
    { op: "delivery.move", id: "d\0", from: "pending", attempts: 2, to: "sending", toTail: false },
    { id: "d\uFFFD", from: "pending", attempts: 2, to: "sending" },
    ["names delivery d\uFFFD"],
  ],
  [
    "a delivery that a person edits",
    {
      ...{ op: "delivery.move", id: "d", from: "failed", attempts: 2, to: "pending", nextAt: 0, reason: "r\0" },
      ...{ receipt: "x\0", node: 0, toTail: true, target: { to: "t\0", channel: "c" }, payload: { z: 1, a: "\0" } },
    },
    {
      ...{ id: "d", from: "failed", attempts: 2, to: "pending", nextAt: 0, reason: "r\uFFFD", receipt: "x\uFFFD" },
      ...{ node: 0, toTail: true, target: expect.stringContaining("t\\u0000"), payload: '{"z":1,"a":"\\u0000"}' },
    },
    ["names delivery d"],
  ],
  [
    "an abort",
    { op: "run.abort", runId: "r\0", mark: { reason: "person", at: 1 }, fresh: true },
    { runId: "r\uFFFD", mark: '{"reason":"person","at":1}', fresh: true },
    ["runs r\uFFFD"],
  ],
  [
    "an abort that may be too late",
    { op: "run.abort", runId: "r", mark: { reason: "person", at: 1 }, fresh: false },
    { runId: "r", mark: '{"reason":"person","at":1}' },
    ["runs r"],
  ],
  [
    "a wait for an agent",
    { op: "wait.begin", id: "w\0", from: "f\0", to: { agentId: "a\0" }, runId: "r\0" },
    { id: "w\uFFFD", from: "f\uFFFD", to: "a\uFFFD", runId: "r\uFFFD" },
    ["names waits", "names wait w\uFFFD"],
  ],
  [
    "a wait for a session",
    { op: "wait.begin", id: "w", from: "f", to: { sessionKey: "k\0" }, runId: "r" },
    { id: "w", from: "f", key: "k\uFFFD", runId: "r" },
    ["names waits", "names wait w", "keys k\uFFFD"],
  ],
  ["the end of a wait", { op: "wait.end", id: "w" }, { id: "w" }, ["names wait w"]],
  [
    "an answer",
    {
      ...{ op: "approval.decide", id: "p\0", agentId: "a\0", digest: "g\0", from: "pending", to: "approved" },
      ...{ until: 0, by: "b\0", surface: "s\0", reason: "r\0" },
    },
    {
      ...{ id: "p\uFFFD", agentId: "a\uFFFD", digest: "g\uFFFD", from: "pending", to: "approved", until: 0 },
      ...{ by: "b\uFFFD", surface: "s\uFFFD", reason: "r\uFFFD" },
    },
    ["names approval p\uFFFD", "agents a\uFFFD"],
  ],
  [
    "a no",
    { op: "approval.decide", id: "p", agentId: "a", digest: "g", from: "pending", to: "denied", by: "b", surface: "s" },
    { id: "p", agentId: "a", digest: "g", from: "pending", to: "denied", by: "b", surface: "s" },
    ["names approval p", "agents a"],
  ],
  [
    "questions withdrawn of an agent",
    { op: "approval.withdraw", of: { agentId: "a\0" }, reason: "r\0", ifPosted: true },
    { agentId: "a\uFFFD", reason: "r\uFFFD", ifPosted: true },
    ["agents a\uFFFD"],
  ],
  [
    "questions withdrawn of a session",
    { op: "approval.withdraw", of: { sessionKey: "k\0" }, reason: "r\0" },
    { key: "k\uFFFD", reason: "r\uFFFD" },
    ["keys k\uFFFD"],
  ],
  [
    "a charge",
    { op: "budget.charge", key: "b\0", spent: { tokens: 1.9, micros: 2.9 } },
    { key: "b\uFFFD", tokens: 1, micros: 2 },
    ["budgets b\uFFFD"],
  ],
  [
    "a cost",
    { op: "budget.settle", id: "i\0", actual: { tokens: 1, micros: 2 }, estimated: true },
    { id: "i\uFFFD", tokens: 1, micros: 2, estimated: true },
    ["names reservation i\uFFFD", "reservations i\uFFFD"],
  ],
  [
    "an unknown cost",
    { op: "budget.settle", id: "i", actual: "unknown" },
    { id: "i" },
    ["names reservation i", "reservations i"],
  ],
  [
    "more",
    { op: "budget.lift", key: "b\0", more: { tokens: 1, micros: 2 } },
    { key: "b\uFFFD", tokens: 1, micros: 2 },
    ["budgets b\uFFFD"],
  ],
  ["what a run owes", { op: "budget.forfeit", runId: "r\0" }, { runId: "r\uFFFD" }, ["reservations r\uFFFD"]],
  [
    "a sweep of budgets",
    { op: "budget.sweep", reservedBefore: 1.9, rowsBefore: 2.9 },
    { reservedBefore: 1, rowsBefore: 2 },
    ["reservations *"],
  ],
  [
    "a subagent at work",
    { op: "subagent.put", record: { runId: "r\0", requesterSessionKey: "k\0", archiveAtMs: 8 }, expect: "open" },
    {
      ...{ runId: "r\uFFFD", requester: "k\uFFFD", dueAt: 8, expect: "open" },
      record: '{"runId":"r\\u0000","requesterSessionKey":"k\\u0000","archiveAtMs":8}',
    },
    ["names subagent r\uFFFD"],
  ],
  [
    "a subagent that ended at the first moment",
    { op: "subagent.put", record: { runId: "r", requesterSessionKey: "k", endedAt: 0 } },
    { runId: "r", requester: "k", ended: true, record: '{"runId":"r","requesterSessionKey":"k","endedAt":0}' },
    ["names subagent r"],
  ],
  [
    "a swarm",
    { op: "swarm.put", swarm: { nametag: "t\0" }, fresh: true },
    { nametag: "t\uFFFD", record: '{"nametag":"t\\u0000"}', fresh: true },
    ["names swarm t\uFFFD"],
  ],
  [
    "a swarm that may exist",
    { op: "swarm.put", swarm: { nametag: "t" }, fresh: false },
    { nametag: "t", record: '{"nametag":"t"}' },
    ["names swarm t"],
  ],
  [
    "a contact",
    { op: "swarm.contact", nametag: "t\0", contact: "c\0" },
    { nametag: "t\uFFFD", contact: "c\uFFFD", sent: 0, received: 0 },
    ["names swarm t\uFFFD"],
  ],
  [
    "a known contact",
    { op: "swarm.contact", nametag: "t", contact: "c", agentId: "a\0", sent: 2, received: 3, known: true },
    { nametag: "t", contact: "c", agent: "a\uFFFD", sent: 2, received: 3, known: true },
    ["names swarm t"],
  ],
  [
    "a contact that need not be known",
    { op: "swarm.contact", nametag: "t", contact: "c", known: false },
    { nametag: "t", contact: "c", sent: 0, received: 0 },
    ["names swarm t"],
  ],
  [
    "a fact",
    { op: "fact.put", key: "k\0", value: "v\0" },
    { key: "k\uFFFD", value: "v\uFFFD" },
    ["names fact k\uFFFD"],
  ],
  ["no fact", { op: "fact.put", key: "k", value: null, expect: null }, { key: "k", expect: [null] }, ["names fact k"]],
  [
    "a fact that follows another",
    { op: "fact.put", key: "k", value: "", expect: "o\0" },
    { key: "k", value: "", expect: ["o\uFFFD"] },
    ["names fact k"],
  ],
  [
    "files of a delivery",
    { op: "file.hold", files: ["f\0"], by: { delivery: "d\0" }, person: "p\0", ifKept: true, ifPosted: true },
    { files: ["f\uFFFD"], delivery: "d\uFFFD", person: "p\uFFFD", ifKept: true, ifPosted: true },
    ["names files"],
  ],
  [
    "files of an agent",
    { op: "file.hold", files: ["f"], by: { agentId: "a\0" } },
    { files: ["f"], agentId: "a\uFFFD" },
    ["names files"],
  ],
  [
    "files of a session",
    { op: "file.hold", files: ["f"], by: { sessionKey: "k\0" } },
    { files: ["f"], key: "k\uFFFD" },
    ["names files"],
  ],
  [
    "a portion of old rows",
    { op: "prune", what: "runs", before: 8.9, limit: 7, after: "x" },
    { what: "runs", before: 8, limit: 7, after: "x" },
    [],
  ],
  [
    "an entry of the audit log",
    { op: "audit.add", entry: { at: 1.9, person: "p\0", agentId: "a\0", action: "x\0", decision: "allow" } },
    {
      ...{ at: 1, person: "p\uFFFD", agent: "a\uFFFD", action: "x\uFFFD", decision: "allow" },
      entry: '{"at":1.9,"person":"p\\u0000","agentId":"a\\u0000","action":"x\\u0000","decision":"allow"}',
    },
    [],
  ],
])("%s", (_, op, wire, locks) => {
  expect(sent(op)).toEqual({ wire, locks });
});

test.each<[string, object, object]>([
  [
    "a description",
    { op: "agent.describe", descriptor: { type: "user", b: 1, a: 2 } },
    { kind: "user", descriptor: '{"type":"user","b":1,"a":2}' },
  ],
  ["a release", { op: "agent.release" }, {}],
  ["a handover", { op: "agent.hand", to: 4 }, { to: 4 }],
  ["a new session", { op: "session.begin", sessionId: "s" }, { sessionId: "s" }],
  [
    "lines",
    { op: "entries.append", position: 3, lines: ["l\0"], leaf: "e\0" },
    { position: 3, lines: ["l\uFFFD"], leaf: "e\uFFFD" },
  ],
  [
    "taken messages",
    { op: "message.take", runId: "r\0", seqs: [1, 2], unlessResetAfter: 0 },
    { runId: "r\uFFFD", seqs: [1, 2], unless: 0 },
  ],
  [
    "settled messages",
    {
      op: "message.settle",
      settlements: [
        { seq: 1, from: "taken", state: "failed", reason: "r\0" },
        { seq: 2, from: "waiting", state: "dropped" },
      ],
    },
    {
      settlements: [
        { seq: 1, from: "taken", state: "failed", reason: "r\uFFFD" },
        { seq: 2, from: "waiting", state: "dropped" },
      ],
    },
  ],
  ["a run", { op: "run.open", runId: "r\0", body: used }, { runId: "r\uFFFD", ...usedWire }],
  ["a step", { op: "run.step", runId: "r", body: body(), attempt: 2 }, { runId: "r", body: json(body()), attempt: 2 }],
  [
    "an amended run",
    { op: "run.amend", runId: "r", body: body({ usage: {} }) },
    { runId: "r", body: json(body({ usage: {} })) },
  ],
  [
    "the end of a run",
    { op: "run.end", runId: "r", body: used, outcome: "ok" },
    { runId: "r", ...usedWire, outcome: "ok" },
  ],
  ["a suspended run", { op: "run.suspend", runId: "r", suspended: false }, { runId: "r", suspended: false }],
  [
    "a delivery",
    {
      op: "delivery.add",
      delivery: { id: "d\0", runId: "r\0", target: { to: "t" }, payload: { z: 1, a: 2 }, createdAt: 4.9 },
    },
    { id: "d\uFFFD", runId: "r\uFFFD", at: 4, target: expect.stringContaining("t"), payload: '{"z":1,"a":2}' },
  ],
  [
    "a delivery that has ended",
    {
      op: "delivery.add",
      delivery: {
        ...{ id: "d", target: { to: "t" }, payload: {}, createdAt: 4, ended: { state: "failed", reason: "r\0" } },
        waits: { state: "unroutable", reason: "w" },
      },
    },
    { id: "d", at: 4, state: "failed", ended: true, reason: "r\uFFFD", target: expect.any(String), payload: "{}" },
  ],
  [
    "a delivery that waits",
    {
      op: "delivery.add",
      delivery: {
        id: "d",
        target: { to: "t" },
        payload: {},
        createdAt: 4,
        waits: { state: "unroutable", reason: "w\0" },
      },
    },
    { id: "d", at: 4, state: "unroutable", reason: "w\uFFFD", target: expect.any(String), payload: "{}" },
  ],
])("%s is sent as an op of the owner, whose row is locked", (_, op, wire) => {
  expect(sent(op, undefined, OWNER)).toEqual({ wire: { byOwner: true, ...wire }, locks: ["agents owner"] });
});

test("a reservation locks its budgets, and counts the run's messages only if it says so", () => {
  const rows = [
    { key: "b\0", limit: { tokens: 1 } },
    { key: "c", limit: {}, adds: { tokens: 2 } },
  ];
  const op = { op: "budget.reserve", id: "i\0", runId: "r\0", call: { prompt: 1 }, rows };
  const wire = {
    ...{ byOwner: true, id: "i\uFFFD", runId: "r\uFFFD", call: { prompt: 1 } },
    rows: [{ key: "b\uFFFD", limit: { tokens: 1 } }, rows[1]],
  };
  expect(sent(op)).toEqual({
    wire,
    locks: ["names reservation i\uFFFD", "budgets b\uFFFD", "budgets c", "reservations i\uFFFD"],
  });
  expect(sent({ ...op, counted: used }).wire).toEqual({ ...wire, counted: usedWire });
});

test("what ends in a job's slot is computed from the job and its row as they were read; without them nothing is written", () => {
  const job = {
    ...{ id: "j\0", version: 6, schedule: { kind: "every", everyMs: 60_000 }, enabled: true },
    state: { nextRunAtMs: 9 },
  };
  const row = { jobId: "j\0", slot: "s\0", at: 1, end: { at: 1, status: "ok", delivery: { status: "owed" } } };
  const end = { at: 2, status: "ok", manual: true, failed: false, delivery: { status: "none" } };
  const names = { id: "j\uFFFD", word: "job:j%00", slot: "s\uFFFD" };
  for (const [op, state, ended] of [
    [{ op: "job.ran", end }, { lastDeliveryStatus: "none" }, { at: 2, status: "ok", delivery: { status: "none" } }],
    [
      { op: "job.delivered", told: { status: "sent", at: 3, failed: false } },
      { lastDeliveryStatus: "sent" },
      { ...row.end, delivery: { status: "sent" } },
    ],
  ] as const) {
    const told = { ...op, jobId: "j\0", slot: "s\0" };
    expect(sent(told)).toEqual({ wire: { ...names, version: 0 }, locks: ["names job j\uFFFD"] });
    const read = new Map([[jobRanKey(told), { job, row }]]) as unknown as ReadBefore;
    const { wire } = sent(told, read) as unknown as { wire: { job: string; row: string } };
    expect(wire).toMatchObject({ ...names, version: 6, nextAt: 9 });
    expect(JSON.parse(wire.job)).toMatchObject({ id: "j\0", schedule: job.schedule, state });
    expect(wire.job).not.toContain("version");
    expect(JSON.parse(wire.row)).toEqual({ ...row, end: ended });
  }
});

/** What each op says it touched: the plain files follow these words, and what no word names stays old in them (M6). */
import { expect, test } from "vitest";
import { idOf, keyOf, postOp, runBody, START, sessionOf, userBody } from "../../../app/testing/store-world.ts";
import { freshState } from "../../../core/agent/fresh-state.ts";
import type { SubagentRunRecord } from "../../../core/agent/subagent-run.ts";
import type { SwarmRecord } from "../../../core/agent/swarm.ts";
import type { DeliveryId, EntryId, RunId } from "../../../core/ids.ts";
import type { StoredFile } from "../../../core/message/stored-file.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { PersonRecord } from "../../../core/people/person-record.ts";
import type { ApprovalId } from "../../../core/rights/approval.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import { CONVERSATIONS_FACT, type Op, type Owner } from "../../../core/store/change.ts";
import { memoryWorld } from "./memory-world.test-kit.ts";

const R = "run" as RunId;
const FAR = START * 2;
const A = idOf("a");
const B = idOf("b");
const PERSON: PersonRecord = {
  ...{ id: "ann", role: "guest", accounts: ["test:ann"], grants: [], createdAt: START, createdBy: "owner" },
};
const SWARM: SwarmRecord = {
  ...{ nametag: "desk", owner: A, profile: "main", firstName: "D", systemPrompt: "", memory: false, createdAt: START },
};
const RECORD: SubagentRunRecord = {
  ...{ runId: "s", childSessionKey: "c", requesterSessionKey: "q", requesterDisplayKey: "main", task: "look" },
  ...{ createdAt: START, cleanup: "keep" },
};
const JOB: CronJob = {
  ...{ id: "a job", name: "daily", enabled: true, createdAtMs: START, updatedAtMs: START, sessionTarget: "isolated" },
  ...{ schedule: { kind: "every", everyMs: 60_000 }, wakeMode: "now", payload: { kind: "agentTurn", message: "look" } },
  state: { nextRunAtMs: START + 60_000 },
};
const SLOT = { jobId: "a job", slot: "1 1", revision: 1, dueAt: START, count: 1, status: "fired", at: START } as const;
const END = { at: START, status: "ok", delivery: { status: "owed" }, failed: false } as const;
const delivered = (status: "sent" | "failed"): Op => ({
  ...{ op: "job.delivered", jobId: "a job", slot: "1 1", told: { at: START, status, failed: status === "failed" } },
});
const file = (id: string): StoredFile => ({
  ...{ id, sha: id.padStart(64, "0"), name: "f.txt", mimeType: "text/plain", size: 10, blob: `blob-${id}` },
  ...{ behalf: { person: "ann" as PersonId }, createdAt: START, shown: { as: "reference" } },
});
const delivery = (id: string): Op => ({
  op: "delivery.add",
  delivery: {
    ...{ id: id as DeliveryId, agentId: A, target: { channel: "test", to: "a" }, payload: { text: "x" } },
    createdAt: START,
  },
});
const ask = (id: string): Op => ({
  op: "approval.ask",
  approval: {
    ...{ id: id as ApprovalId, agentId: A, runId: R, callId: id, behalf: { person: "ann" as PersonId } },
    ...{ tool: "exec", arguments: {}, digest: "d", prompt: "?", askedAt: START, dueAt: FAR },
  },
});
const decide = (id: string): Op => ({
  ...{ op: "approval.decide", id: id as ApprovalId, agentId: A, digest: "d", from: "pending", to: "approved" },
  ...{ until: FAR, by: "owner", surface: "cli" },
});
const CALL = { prompt: 10, maxTokens: 5, leastTokens: 1, read: 1, write: 2 };
const reserve = (id: string, rest: object = {}): Op => ({
  ...{ op: "budget.reserve", id, runId: R, call: CALL, rows: [{ key: "day:x", limit: {} }], ...rest },
});
const settle = (seq: number, from: "waiting" | "taken"): Op => ({
  ...{ op: "message.settle", settlements: [{ seq, from, state: "answered" }] },
});
const TRIED = { body: userBody("3"), acceptedAt: START, tried: { times: 1, reason: "x", nextAt: START } };
const withdraw = (name: string): Op => ({ op: "approval.withdraw", of: { agentId: idOf(name) }, reason: "x" });
const swarmed = { op: "swarm.contact", nametag: "desk", contact: B } as const;

/** In order, on the agents a (1) and b (2), which the first changes make. `owner`: the owner of a makes the change. */
const STEPS: readonly (readonly [ops: readonly Op[], touched: string, by?: "owner"])[] = [
  [[postOp({ agentId: A }, userBody("1"), START)], "1"],
  [[postOp({ agentId: A }, userBody("2"), START), postOp({ agentId: B }, userBody("1"), START)], "1 2"],
  [[{ op: "run.open", runId: R, body: runBody() }], "1", "owner"],
  [[{ op: "message.take", runId: R, seqs: [1] }], "1", "owner"],
  [[settle(1, "taken")], "1", "owner"],
  [[settle(2, "waiting")], "1", "owner"],
  [[postOp({ agentId: A }, userBody("3"), START)], "1"],
  [[{ op: "message.tried", seq: 3, message: TRIED }], "1", "owner"],
  [[settle(3, "waiting")], "1", "owner"],
  [[{ op: "message.drop", agentId: B, seq: 1, reason: "x" }], "2"],
  [[{ op: "entries.append", position: 2, lines: ["{}"], leaf: "l" as EntryId }], "1", "owner"],
  [[{ op: "leaf.move", leaf: "m" as EntryId }], "1", "owner"],
  [[{ op: "state.put", state: freshState(START) }], "1", "owner"],
  [[{ op: "session.begin", sessionId: sessionOf(9) }], "1", "owner"],
  [[{ op: "run.step", runId: R, body: runBody() }], "1", "owner"],
  [[{ op: "run.amend", runId: R, body: runBody() }], "1", "owner"],
  [[ask("p1"), ask("p2")], "1", "owner"],
  [[{ op: "run.suspend", runId: R, suspended: true }], "1", "owner"],
  [[decide("p1")], "1"],
  [
    [{ op: "approval.use", id: "p1" as ApprovalId, digest: "d", by: { runId: "r9" as RunId, callId: "c9" } }],
    "1",
    "owner",
  ],
  [[withdraw("a")], "1"],
  [[withdraw("a")], ""],
  [[ask("p3")], "1", "owner"],
  [[withdraw("a")], "1"],
  [[withdraw("b")], ""],
  [[withdraw("none")], ""],
  [[{ op: "run.abort", runId: R, mark: { reason: "person", at: START } }], "1"],
  [[{ op: "wait.begin", id: "w", from: A, to: { agentId: B }, runId: R }], ""],
  [[{ op: "wait.end", id: "w" }], ""],
  [[delivery("d")], "1", "owner"],
  [[{ op: "delivery.move", id: "d" as DeliveryId, from: "pending", attempts: 0, to: "sent" }], "1"],
  [[reserve("c1")], "budgets", "owner"],
  [[reserve("c2", { rows: [{ key: "messages:x", limit: { tokens: 9 }, adds: 1 }] })], "budgets", "owner"],
  [[reserve("c3", { counted: runBody([1]) })], "budgets 1", "owner"],
  [[reserve("c3")], "", "owner"],
  [[reserve("c4", { rows: [{ key: "day:y", limit: { tokens: 0 } }] })], "", "owner"],
  [[{ op: "budget.settle", id: "c1", actual: { tokens: 1, micros: 1 } }], "budgets"],
  [[{ op: "budget.settle", id: "none", actual: { tokens: 1, micros: 1 } }], ""],
  [[{ op: "budget.told", key: "day:x" }], "budgets", "owner"],
  [[{ op: "budget.lift", key: "day:x", more: { tokens: 1, micros: 1 } }], "budgets"],
  [[{ op: "budget.charge", key: "day:x", spent: { tokens: 1, micros: 1 } }], "budgets"],
  [[{ op: "budget.forfeit", runId: R }], "budgets"],
  [[{ op: "budget.forfeit", runId: R }], ""],
  [[{ op: "budget.sweep", reservedBefore: FAR, rowsBefore: 0 }], ""],
  [[{ op: "budget.sweep", reservedBefore: 0, rowsBefore: FAR }], "budgets"],
  [[{ op: "run.end", runId: R, body: runBody(), outcome: "ok" }], "1", "owner"],
  [[{ op: "agent.stop", agentId: B, mark: { at: START, reason: "x" } }], "2"],
  [[{ op: "agent.stop", agentId: B, mark: null }], "2"],
  [[{ op: "agent.claim", agentId: B, node: 1 }], ""],
  [[{ op: "job.put", job: JOB }], "job:a%20job"],
  [[{ op: "job.slot", slot: SLOT }], "slot:a%20job:1%201"],
  [[{ op: "job.ran", jobId: "a job", slot: "1 1", end: END }], "slot:a%20job:1%201 job:a%20job"],
  [[{ op: "job.ran", jobId: "none", slot: "1", end: END }], ""],
  [[delivered("failed")], "slot:a%20job:1%201 job:a%20job"],
  [[delivered("sent")], "slot:a%20job:1%201"],
  [[{ op: "job.remove", id: "a job" }], "job:a%20job"],
  [[{ op: "subagent.put", record: RECORD }], "subagents"],
  [[{ op: "subagent.remove", runId: "s" }], "subagents"],
  [[{ op: "swarm.put", swarm: SWARM }], "swarms"],
  [[{ ...swarmed, sent: 1 }], ""],
  [[{ op: "swarm.remove", nametag: "desk" }], "swarms"],
  [[{ op: "person.put", person: PERSON }], "people"],
  [[{ op: "person.remove", id: "ann" }], "people"],
  [[{ op: "rights.move" }], "people"],
  [[{ op: "fact.put", key: CONVERSATIONS_FACT, value: "{}" }], "people"],
  [[{ op: "fact.put", key: "other", value: "{}" }], ""],
  [[{ op: "file.stage", blobs: ["blob-1", "blob-2"], until: FAR }], ""],
  [[{ op: "file.put", file: file("1"), quota: 99 }], "files"],
  [[{ op: "file.put", file: file("1"), quota: 99 }], ""],
  [[{ op: "file.put", file: file("2"), quota: 1 }], ""],
  [[{ op: "file.put", file: file("2"), quota: 99 }], "files"],
  [[{ op: "file.hold", files: ["1"], by: { sessionKey: keyOf("a") } }], "files"],
  [[{ op: "file.sweep", before: START, limit: 9 }], ""],
  [[{ op: "file.sweep", before: FAR, limit: 9 }], "files"],
  [[{ op: "file.remove", id: "1" }], "files"],
  [[{ op: "request.put", request: { by: "key", key: "k", digest: "d", keepUntil: FAR }, reply: "1" }], ""],
  [[{ op: "prune", what: "messages", before: FAR, limit: 9 }], ""],
  [[{ op: "agent.release" }], "1", "owner"],
  [[{ op: "agent.remove", agentId: B, reason: "x" }], "2"],
  [[{ op: "agent.remove", agentId: B, reason: "x" }], ""],
  [[{ op: "person.erase", people: ["ann"], jobs: [], budgets: [], tombstone: "x" }], "jobs slots budgets people"],
  [[{ op: "agent.erase", agentId: A, tombstone: "x" }], "1 subagents budgets files"],
];

const PERMANENT = { type: "permanent", id: "p", name: "p", description: "d", systemPrompt: "s" } as const;

test("an agent that is made, found, described or claimed is named by its number", async () => {
  const { world, db } = await memoryWorld();
  const last = (): unknown =>
    db.get<{ touched: string }>("SELECT touched FROM changes ORDER BY n DESC LIMIT 1")?.touched;
  const said = async (op: Op, owner?: Owner): Promise<unknown> => {
    await world.done([op], owner);
    return last();
  };
  const create: Op = { op: "agent.create", seed: world.seed("p", PERMANENT) };
  expect([await said(create), await said(create)]).toEqual(["1", ""]);
  const to = { sessionKey: keyOf("q"), create: world.seed("q") };
  expect(await said(postOp(to, userBody("x"), START, { dedupe: { key: "k", keepUntil: FAR } }))).toBe("2");
  expect(await said(postOp(to, userBody("x"), START, { dedupe: { key: "k", keepUntil: FAR } }))).toBe("");
  const { node } = world;
  expect(await said({ op: "agent.claim", agentId: idOf("p"), node })).toBe("1");
  expect(await said({ op: "agents.claim", node, limit: 9 })).toBe("2");
  expect(await said({ op: "agents.claim", node, limit: 9, own: true })).toBe("");
  const owner = { agentId: idOf("p"), node, epoch: 1 };
  expect(await said({ op: "agent.describe", descriptor: { ...PERMANENT, systemPrompt: "t" } }, owner)).toBe("1");
  const other = await world.join("other");
  expect(await said({ op: "agent.hand", to: other }, owner)).toBe("1");
  db.close();
});

test("every change says in the log what it touched, and nothing else", async () => {
  const { world, db } = await memoryWorld();
  const [a] = [await world.agent("a"), await world.agent("b")];
  const last = (): unknown => db.get("SELECT touched FROM changes ORDER BY n DESC LIMIT 1");
  for (const [ops, touched, by] of STEPS) {
    await world.done(ops, by && a.owner);
    expect({ ...(last() as object) }, JSON.stringify(ops)).toEqual({ touched });
  }
  db.close();
});

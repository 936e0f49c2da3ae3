/** Changes after which a store has a record of every kind, the same on every store: for tests that compare two stores. */
import type { SubagentRunRecord } from "../../src/core/agent/subagent-run.ts";
import type { DeliveryId, EntryId, RunId } from "../../src/core/ids.ts";
import type { StoredFile } from "../../src/core/message/stored-file.ts";
import type { PersonId } from "../../src/core/people/person.ts";
import type { PersonRecord } from "../../src/core/people/person-record.ts";
import type { ApprovalId } from "../../src/core/rights/approval.ts";
import type { CronJob } from "../../src/core/schedule/job.ts";
import { CONVERSATIONS_FACT } from "../../src/core/store/change.ts";
import { childOf, idOf, keyOf, postOp, resetBody, runBody, START, userBody, type World } from "./fixture.ts";

/** Agents with histories, messages in every state, runs and deliveries. */
export async function conversations(world: World): Promise<void> {
  const ann = await world.agent("ann");
  const bob = await world.agent("bob", childOf(ann.id, "bob"));
  for (let n = 1; n <= 4; n++) {
    const source = { connector: "test", channelId: "ann", messageId: `m${n}` };
    const dedupe = { key: `["test","","ann","m${n}",0]`, keepUntil: START + 9_000_000 };
    const message = { body: userBody(`text ${n} \0 \u{1f426}`), source, acceptedAt: world.now };
    await world.done([{ op: "message.post", to: { agentId: ann.id }, message, dedupe }]);
  }
  await world.done([
    postOp({ agentId: ann.id }, userBody("asked"), 1, {
      request: { by: "content", key: "same:t:x", isRetry: false, keepUntil: 9 },
    }),
    { op: "request.put", request: { by: "key", key: "api:t:x", digest: "d", keepUntil: 9 }, reply: '{"json":1}' },
  ]);
  const ended = await world.openRun(ann, "r1", [1]);
  const usage = {
    ...{ input: 30, output: 12, cacheRead: 0, cacheWrite: 0, totalTokens: 42 },
    cost: { input: 0.1, output: 0.15, cacheRead: 0, cacheWrite: 0, total: 0.25 },
  };
  const line = (position: number, text: string): string =>
    JSON.stringify({ type: "custom", id: `${ann.id}-${position}`, text });
  await world.done(
    [
      { op: "entries.append", position: 2, lines: [line(2, "a"), line(3, "ü")], leaf: `${ann.id}-3` as EntryId },
      { op: "message.settle", settlements: [{ seq: 1, from: "taken", state: "answered", runId: ended }] },
      { op: "run.end", runId: ended, body: { ...runBody([1]), person: "ann" as PersonId, usage }, outcome: "ok" },
    ],
    ann.owner,
  );
  await world.done([{ op: "message.drop", agentId: ann.id, seq: 2, reason: "dropped" }]);
  const open = await world.openRun(ann, "r2", [3]);
  await world.done([{ op: "run.abort", runId: open, mark: { by: "person", reason: "enough", at: START } as never }]);
  await world.post(ann.id, resetBody);
  await world.post(bob.id);
  const delivery = (id: string, rest: object) => ({
    op: "delivery.add" as const,
    delivery: {
      ...{ id: id as DeliveryId, agentId: ann.id, target: { channel: "test", to: "ann" }, payload: { text: id } },
      ...{ createdAt: world.now, ...rest },
    },
  });
  await world.done(
    [
      delivery("d1", { runId: open }),
      delivery("d2", {}),
      delivery("d3", { target: { channel: "api", to: "ann" }, waits: { state: "waiting-reader" } }),
      delivery("d4", {}),
    ],
    ann.owner,
  );
  const move = { op: "delivery.move", id: "d1" as DeliveryId } as const;
  await world.done([{ ...move, from: "pending", attempts: 0, to: "sending", node: world.node }]);
  await world.done([{ ...move, from: "sending", attempts: 1, to: "sent", receipt: "42" }]);
  await world.done([{ ...move, id: "d2" as DeliveryId, from: "pending", attempts: 0, to: "sending" }]);
  await world.done([{ op: "wait.begin", id: "w", from: ann.id, to: { agentId: bob.id }, runId: open }]);
  const stopped = await world.agent("stopped");
  await world.post(stopped.id);
  await world.done([
    { op: "agent.stop", agentId: stopped.id, mark: { at: world.now, reason: "paused", seq: 1 } as never },
  ]);
  await world.agent("removed");
  await world.done([{ op: "agent.remove", agentId: idOf("removed"), reason: "no longer needed", keep: true }]);
}

/** A run that waits for a person, with its questions. */
export async function questions(world: World): Promise<void> {
  const carl = await world.agent("carl");
  const runId = await world.openRun(carl, "r3");
  const ask = (id: string) => ({
    op: "approval.ask" as const,
    approval: {
      ...{ id: id as ApprovalId, agentId: carl.id, runId, callId: `call-${id}`, behalf: { person: "ann" as PersonId } },
      ...{ tool: "exec", arguments: { command: id }, digest: `digest-${id}`, prompt: "Run it?" },
      ...{ askedAt: START, dueAt: START + 10_000_000 },
    },
  });
  await world.done([ask("p1"), ask("p2"), ask("p3"), { op: "run.suspend", runId, suspended: true }], carl.owner);
  for (const [id, to] of [
    ["p2", "approved"],
    ["p3", "denied"],
  ] as const)
    await world.done([
      {
        ...{ op: "approval.decide", id: id as ApprovalId, agentId: carl.id, digest: `digest-${id}`, from: "pending" },
        ...{ to, until: START + 20_000_000, by: "owner", surface: "cli", reason: to },
      } as never,
    ]);
}

export const person = (id: string, rest: Partial<PersonRecord> = {}): PersonRecord => ({
  ...{ id, role: "guest", accounts: [`test:${id}`], grants: [], createdAt: START, createdBy: "owner" },
  ...rest,
});

export const storedFile = (id: string): StoredFile => ({
  ...{ id, sha: id.padStart(64, "0"), name: `${id}.txt`, mimeType: "text/plain", size: 10, blob: `blob-${id}` },
  ...{ behalf: { person: "ann" as PersonId }, createdAt: START },
  shown: { as: "text", blob: `text-${id}`, characters: 3, of: "pdf" },
});

/** What belongs to no single agent. Needs the conversations. */
export async function registries(world: World): Promise<void> {
  const ann = idOf("ann");
  await world.done([
    { op: "person.put", person: person("ann", { grants: [{ allow: "exec" }] }) },
    { op: "person.put", person: person("bob") },
    { op: "fact.put", key: CONVERSATIONS_FACT, value: JSON.stringify({ carried: { a: "b" } }) },
    { op: "fact.put", key: "f", value: "v" },
  ]);
  const entry = { at: START, person: "ann", surface: "cli", agentId: ann, action: "exec", decision: "allow" } as const;
  await world.done([{ op: "audit.add", entry }]);
  const job: CronJob = {
    ...{ id: "j", name: "daily", enabled: true, createdAtMs: START, updatedAtMs: START, sessionTarget: "isolated" },
    ...{
      schedule: { kind: "every", everyMs: 60_000 },
      wakeMode: "now",
      payload: { kind: "agentTurn", message: "look" },
    },
    state: { nextRunAtMs: START + 60_000 },
  };
  for (const name of ["daily", "weekly"]) await world.done([{ op: "job.put", job: { ...job, name } }]);
  const slot = { jobId: "j", slot: "1@1", revision: 1, dueAt: START, count: 1, status: "fired", at: START } as const;
  await world.done([{ op: "job.slot", slot }]);
  const record: SubagentRunRecord = {
    ...{ runId: "s1", childSessionKey: "agent:main:subagent:x", requesterSessionKey: keyOf("ann") },
    ...{ requesterDisplayKey: "main", task: "look", createdAt: START },
    cleanup: "keep",
  };
  await world.done([
    { op: "subagent.put", record },
    { op: "subagent.put", record: { ...record, runId: "s2", endedAt: START + 5 } },
  ]);
  const swarm = { nametag: "desk", owner: ann, profile: "main", firstName: "D", systemPrompt: "", memory: false };
  await world.done([{ op: "swarm.put", swarm: { ...swarm, createdAt: START } }]);
  await world.done([
    { op: "swarm.contact", nametag: "desk", contact: idOf("bob"), agentId: ann, sent: 2, received: 1 },
  ]);
  await world.done([
    { op: "file.stage", blobs: ["blob-file_1", "text-file_1", "blob-left"], until: START + 1_000_000 },
    { op: "file.put", file: storedFile("file_1"), quota: 1_000 },
    { op: "file.hold", files: ["file_1"], by: { agentId: ann } },
  ]);
}

/** Needs the conversations. */
export async function budgets(world: World): Promise<void> {
  const agent = await world.store.agent(idOf("ann"));
  const owner = { agentId: idOf("ann"), node: world.node, epoch: agent?.epoch ?? 0 };
  const call = { prompt: 10, maxTokens: 90, leastTokens: 10, read: 1, write: 2 };
  const rows = ["day:x", "agent:ann"].map((key) => ({ key, limit: { tokens: 1_000_000 } }));
  const runId = "r2" as RunId;
  await world.done(
    ["c1", "c2"].map((id) => ({ op: "budget.reserve", id, runId, call, rows })),
    owner,
  );
  await world.done([{ op: "budget.settle", id: "c1", actual: { tokens: 50, micros: 7 } }]);
  await world.done([{ op: "budget.lift", key: "day:x", more: { tokens: 5, micros: 5 } }]);
  await world.done([{ op: "budget.told", key: "day:x" }], owner);
}

export async function everyRecord(world: World): Promise<void> {
  await conversations(world);
  await questions(world);
  await registries(world);
  await budgets(world);
}

/** A small workload of some agents, committed change by change into a database. The tests of this folder mirror it. */
import type { AgentSeed } from "../../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import { freshState } from "../../../core/agent/fresh-state.ts";
import type { SubagentRunRecord } from "../../../core/agent/subagent-run.ts";
import type { NewDelivery } from "../../../core/delivery/delivery.ts";
import {
  type AgentId,
  type ChangeId,
  type EntryId,
  entryId,
  type RunId,
  type SessionId,
  type SessionKey,
} from "../../../core/ids.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { RunBody } from "../../../core/run/run.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import type { Op, Owner } from "../../../core/store/change.ts";
import { applyGroup } from "../sqlite/apply-change.ts";
import type { Database } from "../sqlite/database.ts";

const uuid = (n: number): string => `00000000-0000-7000-8000-${n.toString(16).padStart(12, "0")}`;

export class Workload {
  readonly db: Database;
  readonly node: number;
  now = 1_790_000_000_000;
  #count = 0;

  constructor(db: Database) {
    this.db = db;
    const joined = this.commit([{ op: "node.join", name: "test", leaseUntil: this.now + 1e9 }])[0];
    this.node = joined?.op === "node.join" ? joined.node : 0;
  }

  fresh(): number {
    this.#count += 1;
    return this.#count;
  }

  commit(ops: readonly Op[], owner?: Owner) {
    this.now += 10;
    const id = `change-${this.fresh().toString().padStart(6, "0")}` as ChangeId;
    const [result] = applyGroup(this.db, [{ id, site: "test", at: this.now, owner, ops }]);
    if (!result || result instanceof Error) throw result ?? new Error("no result");
    if (!result.ok) throw new Error(`${result.refused}: ${result.detail}`);
    return result.results;
  }

  seed(name: string, descriptor?: AgentDescriptor): AgentSeed {
    const id = name.padEnd(24, "0") as AgentId;
    const described: AgentDescriptor = descriptor ?? {
      type: "user",
      connector: "telegram",
      userId: name,
      channelId: name,
    };
    const sessionId = uuid(this.fresh()) as SessionId;
    const leaf = entryId(1, uuid(this.fresh()));
    const header = {
      type: "session",
      version: 2,
      id: sessionId,
      timestamp: new Date(this.now).toISOString(),
      descriptor: described,
    };
    const start = { type: "start", id: leaf, parentId: null, sessionId, timestamp: this.now };
    return {
      id,
      sessionKey: `agent:main:telegram:dm:${name}` as SessionKey,
      profile: "main",
      person: `telegram:${name}` as PersonId,
      descriptor: described,
      state: freshState(this.now),
      sessionId,
      lines: [JSON.stringify(header), JSON.stringify(start)],
      leaf,
      createdAt: this.now,
    };
  }

  agent(name: string, descriptor?: AgentDescriptor): AgentId {
    const seed = this.seed(name, descriptor);
    this.commit([{ op: "agent.create", seed }]);
    return seed.id;
  }

  /** A person writes. Returns the message's sequence. */
  post(agentId: AgentId, text: string): number {
    // The key is spelled out, not computed by the code under test: it is the inbox's form.
    const source = { connector: "telegram", channelId: agentId, messageId: `m${this.fresh()}` };
    const [posted] = this.commit([
      {
        op: "message.post",
        to: { agentId },
        message: {
          body: { kind: "user", text },
          source,
          delivery: { channel: "telegram", to: agentId },
          acceptedAt: this.now,
        },
        dedupe: { key: `["telegram","","${agentId}","${source.messageId}",0]`, keepUntil: this.now + 30 * 86_400_000 },
        claimFor: this.node,
      },
    ]);
    return posted?.op === "message.post" ? posted.seq : 0;
  }

  owner(agentId: AgentId): Owner {
    return { agentId, node: this.node, epoch: this.row(agentId).epoch };
  }

  row(agentId: AgentId): { no: number; epoch: number; next_pos: number; leaf: string; run_id: string | null } {
    const row = this.db.sql.prepare("SELECT no, epoch, next_pos, leaf, run_id FROM agents WHERE id = ?").get(agentId);
    return row as unknown as ReturnType<Workload["row"]>;
  }

  append(agentId: AgentId, entry: Record<string, unknown>): Op {
    const { next_pos, leaf } = this.row(agentId);
    const id = entryId(next_pos, uuid(this.fresh()));
    const line = JSON.stringify({ ...entry, id, parentId: leaf, timestamp: this.now });
    return { op: "entries.append", position: next_pos, lines: [line], leaf: id };
  }

  user(agentId: AgentId, text: string, seqs: readonly number[]): Op {
    return this.append(agentId, { type: "message", role: "user", content: [{ type: "text", text }], seqs });
  }

  /** Takes messages into a new run, as the first step of a turn. */
  take(agentId: AgentId, seqs: readonly number[]): RunId {
    const runId = uuid(this.fresh()) as RunId;
    const body = this.body(seqs, agentId);
    const ops: Op[] = [
      { op: "run.open", runId, body },
      { op: "message.take", runId, seqs },
      this.user(agentId, `messages ${seqs.join(", ")} — “ünïcödé”`, seqs),
    ];
    this.commit(ops, this.owner(agentId));
    return runId;
  }

  body(seqs: readonly number[], to: string): RunBody {
    return {
      lane: "main",
      seqs: [...seqs],
      delivery: { channel: "telegram", to },
      calls: [],
      iterations: 1,
      deliveries: 0,
    };
  }

  delivery(agentId: AgentId, runId?: RunId): NewDelivery {
    const n = this.fresh();
    return {
      id: `delivery-${n}` as NewDelivery["id"],
      agentId,
      runId,
      target: { channel: "telegram", to: agentId },
      payload: { text: `answer ${n}` },
      createdAt: this.now,
    };
  }

  /** Ends a run with an answer and its delivery, in one change. */
  answer(agentId: AgentId, runId: RunId, seqs: readonly number[]): NewDelivery {
    const delivery = this.delivery(agentId, runId);
    this.commit(
      [
        this.append(agentId, {
          type: "message",
          role: "assistant",
          content: [{ type: "text", text: delivery.payload.text }],
          runId,
        }),
        {
          op: "message.settle",
          settlements: seqs.map((seq) => ({ seq, from: "taken" as const, state: "answered" as const, runId })),
        },
        { op: "delivery.add", delivery },
        { op: "run.end", runId, body: this.body(seqs, agentId), outcome: "ok" },
        { op: "state.put", state: { ...freshState(this.now), updatedAt: this.now, label: `after ${runId}` } },
      ],
      this.owner(agentId),
    );
    return delivery;
  }

  sent(delivery: NewDelivery): void {
    this.commit([{ op: "delivery.move", id: delivery.id, from: "pending", attempts: 0, to: "sending" }]);
    this.commit([{ op: "delivery.move", id: delivery.id, from: "sending", attempts: 1, to: "sent" }]);
  }

  job(id: string): void {
    const job: CronJob = {
      id,
      name: id,
      enabled: true,
      createdAtMs: this.now,
      updatedAtMs: this.now,
      schedule: { kind: "every", everyMs: 60_000 },
      sessionTarget: "isolated",
      wakeMode: "now",
      payload: { kind: "agentTurn", message: "look" },
      state: { nextRunAtMs: this.now + 60_000 },
    };
    this.commit([{ op: "job.put", job }]);
  }

  /** A due time of a job, fired and then ended. */
  slot(jobId: string, slot: string): void {
    const { now: at } = this;
    this.commit([{ op: "job.slot", slot: { jobId, slot, revision: 1, dueAt: at, count: 1, status: "fired", at } }]);
    const end = { at, status: "ok", delivery: { status: "owed" }, failed: false } as const;
    this.commit([{ op: "job.ran", jobId, slot, end }]);
    this.commit([{ op: "job.delivered", jobId, slot, told: { at, status: "sent", failed: false } }]);
  }

  subagentRun(runId: string): void {
    const record: SubagentRunRecord = {
      runId,
      childSessionKey: "agent:main:subagent:x",
      requesterSessionKey: "agent:main:main",
      requesterDisplayKey: "main",
      task: "look something up",
      cleanup: "keep",
      createdAt: this.now,
    };
    this.commit([{ op: "subagent.put", record }]);
  }

  /** Reserves for a call of the agent's open run, on its own row and the day's. */
  reserve(agentId: AgentId, id: string): void {
    const runId = this.row(agentId).run_id as RunId;
    const call = { prompt: 100, maxTokens: 50, leastTokens: 10, read: 1, write: 2 };
    const rows = [`agent:${agentId}`, "day:2026-01-31"].map((key) => ({ key, limit: { micros: 1_000_000 } }));
    this.commit([{ op: "budget.reserve", id, runId, call, rows }], this.owner(agentId));
  }

  leaf(agentId: AgentId): EntryId {
    return this.row(agentId).leaf as EntryId;
  }
}

/** Steps of a workload in which everything the plain files hold appears and changes. Each call commits one or more changes. */
export function lifeOf(work: Workload): readonly (() => unknown)[] {
  const ann = "ann".padEnd(24, "0") as AgentId;
  const bob = "bob".padEnd(24, "0") as AgentId;
  const open = (agentId: AgentId): RunId => work.row(agentId).run_id as RunId;
  return [
    () => work.agent("ann"),
    () => work.post(ann, "hello"),
    () => work.take(ann, [1]),
    () => work.sent(work.answer(ann, open(ann), [1])),
    () => work.agent("bob", { type: "permanent", id: "b", name: "bob", description: "d", systemPrompt: "s" }),
    () => work.job("daily"),
    () => work.post(bob, "one"),
    () => work.post(bob, "two"),
    () => work.take(bob, [1, 2]),
    () => work.reserve(bob, "call-2"),
    () => work.subagentRun("run-1"),
    () => work.post(ann, "still there?"),
    () => {
      work.commit([{ op: "budget.settle", id: "call-2", actual: "unknown" }]);
      work.commit([{ op: "budget.told", key: "day:2026-01-31" }], work.owner(bob));
      work.answer(bob, open(bob), [1, 2]);
    },
    () => work.take(ann, [2]),
    () => work.commit([work.append(ann, { type: "someday", what: "an unknown kind" })], work.owner(ann)),
    () => work.post(ann, "waits"),
    () => work.job("weekly"),
    () => work.slot("daily", "1@1"),
    () => work.slot("weekly", "manual@a b:c"),
  ];
}

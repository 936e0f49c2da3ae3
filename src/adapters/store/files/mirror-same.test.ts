/** A mirror that follows change by change ends with the same files as one that starts over: every change says what it touched. */
import { expect, test } from "vitest";
import type { SwarmRecord } from "../../../core/agent/swarm.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import type { StoredFile } from "../../../core/message/stored-file.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { PersonRecord } from "../../../core/people/person-record.ts";
import type { ApprovalId } from "../../../core/rights/approval.ts";
import { CONVERSATIONS_FACT, type Op } from "../../../core/store/change.ts";
import { openDatabase } from "../sqlite/database.ts";
import { MemoryFiles } from "./memory-files.test-kit.ts";
import { openMirror } from "./mirror.ts";
import { sqliteSource } from "./sqlite-source.ts";
import { lifeOf, Workload } from "./workload.test-kit.ts";

const ANN = "ann".padEnd(24, "0") as AgentId;
const BOB = "bob".padEnd(24, "0") as AgentId;

const person = (id: string, rest: Partial<PersonRecord> = {}): PersonRecord => ({
  ...{ id, role: "guest", accounts: [`telegram:${id}`], grants: [], createdAt: 1, createdBy: "owner" },
  ...rest,
});
const swarm = (rest: Partial<SwarmRecord> = {}): SwarmRecord => ({
  ...{ nametag: "desk", owner: ANN, profile: "main", firstName: "D", systemPrompt: "", memory: false, createdAt: 1 },
  ...rest,
});
const file = (id: string): StoredFile => ({
  ...{ id, sha: id.padStart(64, "0"), name: "f.txt", mimeType: "text/plain", size: 10, blob: `blob-${id}` },
  ...{ behalf: { person: "ann" as PersonId }, createdAt: 1, shown: { as: "reference" } },
});
const DAY = "day:2026-01-31";

/** Changes to every registry, each of which a file shows. The second value: whether they are made by Ann's owner. */
function registryChanges(work: Workload): readonly (readonly [ops: () => readonly Op[], byOwner?: boolean])[] {
  const put = (one: PersonRecord): readonly Op[] => [{ op: "person.put", person: one }];
  const question = { tool: "exec", arguments: {}, digest: "d", prompt: "?", askedAt: 1, dueAt: 9e15 };
  const runId = work.row(ANN).run_id as RunId;
  const call = { prompt: 10, maxTokens: 5, leastTokens: 1, read: 1, write: 2 };
  const reserve = (id: string): readonly Op[] => [
    { op: "budget.reserve", id, runId, call, rows: [{ key: DAY, limit: { micros: 1_000_000 } }] },
  ];
  return [
    [() => put(person("ann"))],
    [() => put(person("ann", { grants: [{ allow: "exec" }] }))],
    [() => put(person("bob"))],
    [() => [{ op: "person.remove", id: "bob" }]],
    [() => [{ op: "rights.move" }]],
    [() => [{ op: "fact.put", key: CONVERSATIONS_FACT, value: '{"carried":{"a":"b"}}' }, { op: "rights.move" }]],
    [() => [{ op: "swarm.put", swarm: swarm() }]],
    [() => [{ op: "swarm.put", swarm: swarm({ systemPrompt: "You help." }) }]],
    [() => [{ op: "swarm.remove", nametag: "desk" }]],
    [
      () => [
        { op: "file.stage", blobs: ["blob-file_1", "blob-file_2"], until: 9e15 },
        ...["file_1", "file_2"].map((id): Op => ({ op: "file.put", file: file(id), quota: 1_000 })),
      ],
    ],
    [() => [{ op: "file.hold", files: ["file_1"], by: { agentId: ANN } }]],
    [() => [{ op: "file.remove", id: "file_2" }]],
    [() => reserve("c1"), true],
    [() => [{ op: "budget.settle", id: "c1", actual: { tokens: 5, micros: 9 } }]],
    [() => [{ op: "budget.charge", key: DAY, spent: { tokens: 1, micros: 1 } }]],
    [() => [{ op: "budget.lift", key: DAY, more: { tokens: 1, micros: 1 } }]],
    [() => [{ op: "budget.told", key: DAY }], true],
    [() => reserve("c2"), true],
    [() => [{ op: "budget.forfeit", runId }]],
    [() => reserve("c3"), true],
    [() => [{ op: "budget.sweep", reservedBefore: 9e15, rowsBefore: 0 }]],
    [
      () => [
        {
          op: "approval.ask",
          approval: {
            ...{ id: "p1" as ApprovalId, agentId: ANN, runId, callId: "c", behalf: { person: "ann" as PersonId } },
            ...question,
          },
        },
        { op: "run.suspend", runId, suspended: true },
      ],
      true,
    ],
    [
      () => [
        {
          ...{ op: "approval.decide", id: "p1" as ApprovalId, agentId: ANN, digest: "d", from: "pending" },
          ...{ to: "approved", until: 9e15, by: "owner", surface: "cli" },
        } as Op,
      ],
    ],
    [() => [{ op: "approval.withdraw", of: { agentId: ANN }, reason: "changed" }]],
    [() => [{ op: "run.abort", runId, mark: { by: "person", reason: "enough", at: 1 } as never }]],
    [() => [{ op: "subagent.remove", runId: "run-1" }]],
    [() => [{ op: "job.remove", id: "weekly" }]],
    [() => [{ op: "agent.stop", agentId: BOB, mark: { at: 1, reason: "paused" } }]],
    [() => [{ op: "agent.stop", agentId: BOB, mark: null }]],
    [() => [{ op: "message.drop", agentId: ANN, seq: 3, reason: "dropped" }]],
    [() => [{ op: "person.erase", people: ["ann"], jobs: ["daily"], budgets: [DAY], tombstone: "erased" }]],
    [() => [{ op: "agent.erase", agentId: BOB, tombstone: "erased" }]],
  ];
}

test("every change reaches the files that show it, whatever it touched", () => {
  const db = openDatabase(":memory:");
  const work = new Workload(db);
  const followed = new MemoryFiles();
  const open = (files: MemoryFiles) => openMirror({ source: sqliteSource(db.sql), files, now: () => work.now });
  const mirror = open(followed);
  const contentOf = (files: MemoryFiles) =>
    Object.fromEntries(files.paths().map((path) => [path, files.text(path)] as const));
  /** Lines of results are appended one by one, and a new mirror writes the last of each. */
  const without = ({ "cron/runs.jsonl": _, "mirror.json": __, ...rest }: Record<string, string | undefined>) => rest;
  const compare = (what: string): void => {
    while (mirror.step().more);
    const fresh = new MemoryFiles();
    const other = open(fresh);
    while (other.step().more);
    // A file that holds nothing any more stays, and a new home never has it.
    expect(without(contentOf(followed)), what).toMatchObject(without(contentOf(fresh)));
  };
  while (mirror.step().more);
  for (const [index, act] of lifeOf(work).entries()) {
    act();
    compare(`step ${index}`);
  }
  for (const [ops, byOwner] of registryChanges(work)) {
    const change = ops();
    const before = contentOf(followed);
    compare("before");
    work.commit(change, byOwner ? work.owner(ANN) : undefined);
    compare(JSON.stringify(change));
    expect(contentOf(followed), `${JSON.stringify(change)} changes a file`).not.toEqual(before);
  }
});

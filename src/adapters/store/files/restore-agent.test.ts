/** What a rebuilt agent goes on with: nothing it has said or heard is numbered twice, whichever of its files are left. */
import { describe, expect, test } from "vitest";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { StoredFile } from "../../../core/message/stored-file.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { ApprovalId } from "../../../core/rights/approval.ts";
import { type Database, openDatabase } from "../sqlite/database.ts";
import { agentPaths } from "./file-format.ts";
import { MemoryFiles } from "./memory-files.test-kit.ts";
import { openMirror } from "./mirror.ts";
import { readAgentFiles } from "./read-agent-files.ts";
import { restoreAgent } from "./restore-agent.ts";
import type { RestoreContext, RestoreProblem } from "./restore-context.ts";
import { sqliteSource } from "./sqlite-source.ts";
import { restoreStoredFiles } from "./stored-files-file.ts";
import { Workload } from "./workload.test-kit.ts";

const ann = "ann".padEnd(24, "0") as AgentId;
const SESSION = "00000000-0000-4000-8000-000000000042";
const PARENT = "parent".padEnd(24, "0") as AgentId;
const paths = agentPaths(ann);

/** The files of an agent that lived through this. */
function filesAfter(
  live: (work: Workload) => void,
  look: (db: Database) => void = () => {},
  descriptor?: AgentDescriptor,
): MemoryFiles {
  const db = openDatabase(":memory:");
  const work = new Workload(db);
  work.agent("ann", descriptor);
  live(work);
  look(db);
  const files = new MemoryFiles();
  const mirror = openMirror({ source: sqliteSource(db.sql), files, now: () => work.now });
  while (mirror.step().more);
  mirror.close();
  db.close();
  return files;
}

/** A new database with the agent from its files, and what was reported. */
function restored(files: MemoryFiles) {
  const db = openDatabase(":memory:");
  const problems: RestoreProblem[] = [];
  const kept: string[] = [];
  const context: RestoreContext = {
    db,
    files,
    report: (problem) => void problems.push(problem),
    keep: (path) => void kept.push(path),
  };
  const agent = readAgentFiles(context, ann);
  const counts = agent && restoreAgent(context, agent);
  const row = () => db.sql.prepare("SELECT * FROM agents").get();
  return { db, context, problems, kept, counts, row };
}

const answered = (work: Workload, count: number): void => {
  for (let n = 0; n < count; n++) {
    const seq = work.post(ann, `message ${n}`);
    work.sent(work.answer(ann, work.take(ann, [seq]), [seq]));
  }
};

describe("an agent that is restored from its files", () => {
  test("goes on after the last message and the last line", () => {
    const { row, problems, counts } = restored(filesAfter((work) => answered(work, 3)));
    expect(row()).toMatchObject({ next_seq: 4, cursor: 3, waiting: 0, next_pos: 8, run_id: null });
    expect(problems).toEqual([]);
    expect(counts).toMatchObject({ entries: 8, waiting: 0, dedupeKeys: 3 });
  });

  test("without pending.json goes on after the last message that its history names, and says what is missing", () => {
    const files = filesAfter((work) => answered(work, 3));
    files.remove(paths.pending);
    const { row, problems, kept, db } = restored(files);
    expect(row()).toMatchObject({ next_seq: 4, cursor: 3, waiting: 0, next_pos: 8 });
    expect(problems).toMatchObject([{ file: paths.pending, consequence: "file-skipped" }]);
    expect(problems[0]?.reason).toContain("missing");
    expect(kept).toEqual([]);
    const leaf = JSON.parse(files.text(paths.history)?.trimEnd().split("\n").at(-1) ?? "{}").id;
    expect(db.sql.prepare("SELECT leaf FROM agents").get()).toEqual({ leaf });
  });

  test("without pending.json and without any message begins with the first", () => {
    const files = filesAfter(() => {});
    files.remove(paths.pending);
    expect(restored(files).row()).toMatchObject({ next_seq: 1, cursor: 0, waiting: 0 });
  });

  test("with a pending.json older than its history never gives a number of the history again", () => {
    const files = filesAfter((work) => answered(work, 3));
    const pending = JSON.parse(files.text(paths.pending) ?? "{}");
    files.put(paths.pending, JSON.stringify({ ...pending, nextSeq: 2, nextPos: 3, leaf: "older" }));
    const { row } = restored(files);
    expect(row()).toMatchObject({ next_seq: 4, cursor: 3, next_pos: 8 });
    expect(row()?.leaf).not.toBe("older");
  });

  test("waits from its first waiting message on, also if a later one is urgent or taken", () => {
    const files = filesAfter((work) => {
      answered(work, 1);
      for (const text of ["two", "three", "four"]) work.post(ann, text);
      work.take(ann, [3]);
      work.commit([
        { op: "message.post", to: { agentId: ann }, message: { body: { kind: "reset", by: "person" }, acceptedAt: 1 } },
      ]);
    });
    const { row, db } = restored(files);
    expect(row()).toMatchObject({ next_seq: 6, cursor: 1, waiting: 3 });
    const states = db.sql.prepare("SELECT seq, state, urgent FROM messages ORDER BY seq").all();
    expect(states.map(({ seq, state, urgent }) => `${seq} ${state} ${urgent}`)).toEqual([
      ...["2 waiting 0", "3 taken 0", "4 waiting 0", "5 waiting 1"],
    ]);
  });

  test("has the open run, its deliveries and who wrote last as they were", () => {
    const files = filesAfter((work) => {
      const seq = work.post(ann, "hello");
      const runId = work.take(ann, [seq]);
      work.commit([{ op: "delivery.add", delivery: work.delivery(ann, runId) }], work.owner(ann));
      work.commit([{ op: "run.abort", runId, mark: { by: "person", reason: "enough", at: 7 } as never }]);
    });
    const pending = JSON.parse(files.text(paths.pending) ?? "{}");
    const { row, db } = restored(files);
    expect(row()).toMatchObject({ run_id: pending.run.id, last_human_at: pending.lastHumanAt });
    const run = db.sql.prepare("SELECT * FROM runs").get();
    expect(run).toMatchObject({ id: pending.run.id, state: "open", attempt: 1, started_at: pending.run.startedAt });
    expect(JSON.parse(String(run?.abort))).toMatchObject({ reason: "enough" });
    expect(JSON.parse(String(run?.body))).toEqual(pending.run.body);
    const [delivery] = pending.deliveries;
    expect(db.sql.prepare("SELECT * FROM deliveries").get()).toMatchObject({
      ...{ id: delivery.id, run_id: pending.run.id, state: "pending", attempts: 0, next_at: delivery.nextAt },
      ...{ created_at: delivery.createdAt, reason: null },
    });
  });

  /** Everything of the agent that is not ended, without what another database numbers anew and what only requests without a key need. */
  const openRows = (db: Database) =>
    Object.fromEntries(
      [
        "SELECT * FROM agents",
        "SELECT * FROM messages WHERE state IN ('waiting', 'taken') ORDER BY seq",
        "SELECT * FROM entries ORDER BY pos",
        "SELECT * FROM runs WHERE state = 'open'",
        "SELECT * FROM deliveries WHERE ended_at IS NULL ORDER BY n",
        "SELECT * FROM approvals WHERE state IN ('pending', 'approved') ORDER BY n",
        "SELECT * FROM dedupe ORDER BY key",
        "SELECT * FROM requests ORDER BY key",
        "SELECT key FROM session_keys",
      ].map((text) => [
        text,
        db.sql
          .prepare(text)
          .all()
          .map(({ n, no, node, epoch, agent, last_user_seq, ...row }) => row),
      ]),
    );

  test.each<[string, AgentDescriptor | undefined]>([
    ["of a person", undefined],
    ["of another agent", { type: "subagent", id: "s", parentAgentId: PARENT, name: "ann" }],
  ])("%s has every row of its unfinished work as the database had it", (_, descriptor) => {
    let before: ReturnType<typeof openRows> = {};
    const files = filesAfter(
      (work) => {
        answered(work, 2);
        const earlier = work.leaf(ann);
        const [seq, next] = [work.post(ann, "taken"), work.post(ann, "taken without a line")];
        work.post(ann, "waits");
        const runId = work.take(ann, [seq]);
        const owner = work.owner(ann);
        work.commit([{ op: "message.take", runId, seqs: [next] }], owner);
        const approval = (id: string) => ({
          ...{ id: id as ApprovalId, agentId: ann, runId, callId: `call ${id}`, behalf: { person: "ann" as PersonId } },
          ...{ tool: "exec", arguments: { of: id }, digest: `digest ${id}`, prompt: "?", askedAt: 5, dueAt: 9e12 },
        });
        for (const id of ["aaaa", "bbbb", "cccc"]) work.commit([{ op: "approval.ask", approval: approval(id) }], owner);
        const decision = { op: "approval.decide", agentId: ann, from: "pending", by: "owner", surface: "cli" } as const;
        for (const [id, to] of [
          ["bbbb", "approved"],
          ["cccc", "denied"],
        ] as const)
          work.commit([
            { ...decision, id: id as ApprovalId, digest: `digest ${id}`, to, until: 9e12, reason: `${to} by a person` },
          ]);
        const [one, two, three] = [work.delivery(ann, runId), work.delivery(ann), work.delivery(ann)];
        const waits = { state: "unroutable", reason: "no such channel" } as const;
        for (const delivery of [one, { ...two, waits }, three]) work.commit([{ op: "delivery.add", delivery }], owner);
        work.commit([{ op: "delivery.move", id: three.id, from: "pending", attempts: 0, to: "sending" }]);
        const message = { body: { kind: "user" as const, text: "by HTTP" }, key: "api:t:k", acceptedAt: 5 };
        const request = { by: "key", key: "api:t:k", digest: "d", keepUntil: 9e12 } as const;
        work.commit([{ op: "message.post", to: { agentId: ann }, message, request }]);
        work.commit([{ op: "agent.stop", agentId: ann, mark: { at: 7, reason: "paused" } }]);
        work.commit([{ op: "leaf.move", leaf: earlier }], owner);
      },
      (db) => {
        // A request comes back without the digest of its content, which only its own table has.
        db.sql.exec("UPDATE requests SET digest = NULL");
        before = openRows(db);
      },
      descriptor,
    );
    const { db, problems, counts } = restored(files);
    expect(problems).toEqual([]);
    const after = openRows(db);
    for (const [text, rows] of Object.entries(before)) {
      expect(rows, text).not.toEqual([]);
      expect(after[text], text).toEqual(rows);
    }
    expect(counts).toEqual({ entries: 7, waiting: 2, dedupeKeys: 6 });
  });

  test("is in the session that began last, and holds nothing that no node gave it", () => {
    const files = filesAfter((work) => answered(work, 1));
    const began = { type: "reset", id: "r", parentId: null, sessionId: SESSION, timestamp: 5, trigger: "person" };
    const lines = [began, { type: "someday", id: "unknown" }, { type: "someday" }];
    files.append(paths.history, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const { row } = restored(files);
    expect(row()).toMatchObject({ session_id: SESSION, leaf: "unknown", node: null, epoch: 0 });
  });

  test.each<[string, (files: MemoryFiles) => void, string]>([
    ["no descriptor", (files) => files.remove(paths.descriptor), paths.descriptor],
    ["a descriptor that is no object", (files) => files.put(paths.descriptor, "null"), paths.descriptor],
    ["a descriptor that is a number", (files) => files.put(paths.descriptor, "7"), paths.descriptor],
    ["no history", (files) => files.remove(paths.history), paths.history],
    ["an empty history", (files) => files.put(paths.history, ""), paths.history],
    ["a state that is no JSON", (files) => files.put(paths.state, "{"), paths.state],
    ["a state without its part of the engine", (files) => files.put(paths.state, '{"version":1}'), paths.state],
  ])("with %s is skipped, with the name of that file", (_, damage, file) => {
    const files = filesAfter((work) => answered(work, 1));
    damage(files);
    const { row, problems } = restored(files);
    expect(row()).toBeUndefined();
    expect(problems).toMatchObject([{ file, consequence: "agent-skipped" }]);
  });

  test("passes on an error that is not about the content of its files", () => {
    const files = filesAfter(() => {});
    const failing = (path: string): Buffer | undefined => {
      if (path === paths.pending) throw new TypeError("the disk failed");
      return MemoryFiles.prototype.read.call(files, path);
    };
    expect(() => restored(Object.assign(Object.create(files), { read: failing, size: () => 1 }))).toThrow(TypeError);
  });

  test.each([
    [9, true],
    [10, false],
  ])("without state.json is found by a session that begins after %i other lines: %s", (before, found) => {
    const files = filesAfter(() => {});
    files.remove(paths.state);
    const [header = "", start = ""] = (files.text(paths.history) ?? "").split("\n");
    const other = JSON.stringify({ type: "someday", id: "x" });
    const lines = [header, ...Array.from({ length: before - 1 }, () => other), start];
    files.put(paths.history, lines.map((line) => `${line}\n`).join(""));
    const { row, problems } = restored(files);
    expect(row() !== undefined).toBe(found);
    expect(problems.map(({ consequence }) => consequence)).toEqual([found ? "state-lost" : "agent-skipped"]);
  });
});

describe("the files that a restored agent names", () => {
  const file = (id: string): StoredFile => ({
    ...{ id, sha: "0".repeat(64), name: "f", mimeType: "text/plain", size: 1, blob: `blob-${id}` },
    ...{ behalf: { person: "ann" as PersonId }, createdAt: 1, shown: { as: "reference" } },
  });

  test("are held if they are known, and those that nobody knows are not", () => {
    const files = filesAfter((work) => {
      const named = ["file_a0", "file_b1"].map((id) => ({ id, name: "f", mimeType: "text/plain", size: 1 }));
      const message = { body: { kind: "user" as const, text: "look", files: named }, acceptedAt: 1 };
      work.commit([{ op: "message.post", to: { agentId: ann }, message }]);
    });
    files.put("files.json", JSON.stringify({ version: 1, files: [{ file: file("file_a0"), holders: ["agent:x"] }] }));
    const { db, context } = restored(files);
    expect(restoreStoredFiles(context)).toBe(1);
    const holds = db.sql.prepare("SELECT file, holder FROM file_holds ORDER BY holder").all();
    expect(holds.map(({ file: held, holder }) => `${held} ${holder}`)).toEqual([
      `file_a0 agent:${ann}`,
      "file_a0 agent:x",
    ]);
  });
});

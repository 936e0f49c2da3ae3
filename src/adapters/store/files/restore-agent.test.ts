/** What a rebuilt agent goes on with: nothing it has said or heard is numbered twice, whichever of its files are left. */
import { describe, expect, test } from "vitest";
import type { AgentId } from "../../../core/ids.ts";
import type { StoredFile } from "../../../core/message/stored-file.ts";
import type { PersonId } from "../../../core/people/person.ts";
import { openDatabase } from "../sqlite/database.ts";
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
const paths = agentPaths(ann);

/** The files of an agent that lived through this. */
function filesAfter(live: (work: Workload) => void): MemoryFiles {
  const db = openDatabase(":memory:");
  const work = new Workload(db);
  work.agent("ann");
  live(work);
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

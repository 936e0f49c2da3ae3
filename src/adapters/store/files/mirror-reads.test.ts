/** How much the mirror reads and writes: what it wrote itself is not read again, what may be damaged is compared. */
import { describe, expect, test } from "vitest";
import type { AgentId } from "../../../core/ids.ts";
import { openDatabase } from "../sqlite/database.ts";
import { expectFilesMatch } from "./matches-database.test-kit.ts";
import { MemoryFiles } from "./memory-files.test-kit.ts";
import { type Mirror, openMirror } from "./mirror.ts";
import { sqliteSource } from "./sqlite-source.ts";
import { lifeOf, Workload } from "./workload.test-kit.ts";

/** Files that count what is read of them. */
class ReadFiles extends MemoryFiles {
  reads: string[] = [];
  bytes = 0;

  override read(path: string): Buffer | undefined {
    this.reads.push(path);
    return super.read(path);
  }

  override readAt(path: string, offset: number, length: number): Buffer {
    const read = super.readAt(path, offset, length);
    this.reads.push(path);
    this.bytes += read.length;
    return read;
  }

  forget(): void {
    this.reads = [];
    this.bytes = 0;
  }
}

/** Ann, with a history of many kilobytes. */
function world() {
  const db = openDatabase(":memory:");
  const work = new Workload(db);
  const files = new ReadFiles();
  const open = (): Mirror => openMirror({ source: sqliteSource(db.sql), files, now: () => work.now });
  const ann = work.agent("ann");
  work.commit([{ op: "agent.claim", agentId: ann, node: work.node }]);
  const write = (count = 1): void => {
    for (let n = 0; n < count; n++)
      work.commit([work.append(ann, { type: "someday", pad: "x".repeat(500) })], work.owner(ann));
  };
  write(40);
  const path = `agents/${ann}/history.jsonl`;
  /** Another line of the same length, far before the end. */
  const damage = (): void => {
    const lines = (files.text(path) ?? "").split("\n");
    lines[20] = "\0".repeat(lines[20]?.length ?? 0);
    files.put(path, lines.join("\n"));
  };
  const prune = (): void => db.sql.exec("DELETE FROM changes WHERE n < (SELECT max(n) FROM changes)");
  return { db, work, files, open, ann, write, path, damage, prune };
}
const catchUp = (mirror: Mirror): void => {
  while (mirror.step().more);
};

describe("the mirror", () => {
  test("reads nothing of the files that it wrote itself, of any number of agents", () => {
    const { db, work, files, open, ann, write } = world();
    const mirror = open();
    const others = ["bob", "carl", "dora", "emil"].map((name) => work.agent(name));
    catchUp(mirror);
    for (let round = 0; round < 3; round++) {
      files.forget();
      write();
      for (const agentId of [ann, ...others]) {
        work.post(agentId as AgentId, "hello");
        catchUp(mirror);
      }
      expect(files.reads).toEqual([]);
      expectFilesMatch(db, files);
    }
  });

  test("compares only the end of a history after a clean stop, also for what was committed since", () => {
    const { db, files, open, write } = world();
    const first = open();
    catchUp(first);
    first.close();
    write();
    files.forget();
    catchUp(open());
    // Once for the last line end and once for the lines themselves.
    const clean = files.bytes;
    expectFilesMatch(db, files);
    write();
    files.forget();
    catchUp(open());
    expect(files.bytes - clean).toBeGreaterThan(10_000);
    expectFilesMatch(db, files);
  });

  test("compares closely what it wrote since the last mark, and after that the end only", () => {
    const { files, open, write } = world();
    const first = open();
    catchUp(first);
    first.sync();
    write();
    // Not stopped: what the next one finds up to here may be damaged.
    const second = open();
    files.forget();
    catchUp(second);
    expect(files.bytes).toBeGreaterThan(30_000);
    files.put("elsewhere", "");
    write();
    files.forget();
    catchUp(second);
    expect(files.bytes).toBe(0);
  });

  test("finds damage in the middle of a history when it compares all agents, even after a clean stop", () => {
    const { db, files, open, write, damage, prune } = world();
    const first = open();
    catchUp(first);
    first.close();
    damage();
    write();
    prune();
    catchUp(open());
    expectFilesMatch(db, files);
  });

  test("finds it also when it was running: a comparison of all agents believes nothing that it knew", () => {
    const { db, files, open, write, damage, prune } = world();
    const mirror = open();
    catchUp(mirror);
    damage();
    write(2);
    prune();
    catchUp(mirror);
    expectFilesMatch(db, files);
  });

  test("writes nothing when it compares files that are up to date, but the results of due times", () => {
    const { db, files, work, open } = world();
    for (const act of lifeOf(work).slice(1)) act();
    work.commit([{ op: "budget.charge", key: "day:x", spent: { tokens: 1, micros: 1 } }]);
    catchUp(open());
    const changed: string[] = [];
    for (const name of ["replace", "append", "truncate", "remove", "move"] as const) {
      const call = files[name].bind(files) as (...given: unknown[]) => void;
      Object.assign(files, {
        [name]: (path: string, ...rest: unknown[]) => {
          changed.push(path);
          call(path, ...rest);
        },
      });
    }
    catchUp(open());
    expect(changed).toEqual(["cron/runs.jsonl"]);
    expectFilesMatch(db, files);
  });
});

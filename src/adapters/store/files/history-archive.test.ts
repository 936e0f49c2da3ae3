/** Long histories: the older lines move to `history.jsonl.bak`, and both files together stay the whole history. */
import { describe, expect, test } from "vitest";
import { seededIds } from "../../../../test/kit/ids.ts";
import { randomOf } from "../../../../test/kit/random.ts";
import { stride, tries } from "../../../../test/kit/share.ts";
import type { AgentId } from "../../../core/ids.ts";
import { type Database, openDatabase } from "../sqlite/database.ts";
import { Crash, type Fault, MemoryFiles } from "./memory-files.test-kit.ts";
import { type Mirror, openMirror } from "./mirror.ts";
import type { MirrorNotice } from "./mirror-notice.ts";
import { restoreHome } from "./rebuild.ts";
import { salvage } from "./salvage.ts";
import { sqliteSource } from "./sqlite-source.ts";
import { Workload } from "./workload.test-kit.ts";

const ann = "ann".padEnd(24, "0") as AgentId;
const path = `agents/${ann}/history.jsonl`;
const bak = `${path}.bak`;
const LIMIT = 6_000;

function longHistory() {
  const db = openDatabase(":memory:");
  const work = new Workload(db);
  const files = new MemoryFiles();
  const notices: MirrorNotice[] = [];
  const open = (on: MemoryFiles = files, archiveAbove = LIMIT): Mirror =>
    openMirror({
      source: sqliteSource(db.sql),
      files: on,
      now: () => work.now,
      report: (notice) => notices.push(notice),
      archiveAbove,
    });
  work.agent("ann");
  work.commit([{ op: "agent.claim", agentId: ann, node: work.node }]);
  const write = (count: number): void => {
    for (let n = 0; n < count; n++) work.commit([work.user(ann, `${n} ${"ü".repeat(200)}`, [])], work.owner(ann));
  };
  /** Keeps the entries from `kept` lines before it. */
  const compact = (kept: number): void => {
    const from = JSON.parse(linesOf(db)[work.row(ann).next_pos - kept] ?? "{}") as { id?: string };
    const entry = {
      type: "compaction",
      summary: `all of it ${work.fresh()}`,
      firstKeptEntryId: from.id,
      tokensBefore: 1,
    };
    work.commit([work.append(ann, entry)], work.owner(ann));
  };
  return { db, work, files, notices, open, write, compact };
}

const catchUp = (mirror: Mirror): void => {
  while (mirror.step().more);
};

const linesOf = (db: Database): readonly string[] =>
  db.sql
    .prepare("SELECT line FROM entries WHERE agent = (SELECT no FROM agents WHERE id = ?) ORDER BY pos")
    .all(ann)
    .map((row) => String(row.line));

const split = (text = ""): readonly string[] => text.split("\n").slice(0, -1);

/** The lines of both files, put together by hand. */
function wholeHistory(files: MemoryFiles): readonly string[] {
  const own = split(files.text(path));
  const { type, lines } = JSON.parse(own[0] ?? "{}") as { type?: string; lines?: number };
  return type === "archived" ? [...split(files.text(bak)).slice(0, lines), ...own.slice(3)] : own;
}

/** The lines of the agent in a database that is built from the files; undefined if it is skipped. */
function rebuilt(files: MemoryFiles) {
  const db = openDatabase(":memory:");
  const report = restoreHome(db, files, { ids: seededIds("rebuild"), now: 1 });
  return { lines: linesOf(db), report };
}

describe("a long history at rest", () => {
  test("moves its older lines aside and begins with header, compaction entry and kept entries", () => {
    const { db, files, open, write, compact } = longHistory();
    const mirror = open();
    write(20);
    catchUp(mirror);
    expect(files.size(bak)).toBeUndefined();
    compact(4);
    write(2);
    catchUp(mirror);
    const lines = linesOf(db);
    expect(split(files.text(bak))).toEqual(lines.slice(0, 18));
    const head = { type: "archived", file: "history.jsonl.bak", lines: 18, bytes: files.size(bak) };
    expect(split(files.text(path))).toEqual([JSON.stringify(head), lines[0], lines[22], ...lines.slice(18)]);
    expect(rebuilt(files).lines).toEqual(lines);
  });

  test("is moved again and again into the same file, which stays whole", () => {
    const { db, files, open, write, compact } = longHistory();
    let mirror = open();
    const sizes: number[] = [];
    for (let round = 0; round < 5; round++) {
      write(20);
      compact(3);
      catchUp(mirror);
      sizes.push(files.size(bak) ?? 0);
      expect(files.size(path)).toBeLessThan(LIMIT);
      expect(wholeHistory(files)).toEqual(linesOf(db));
      expect(rebuilt(files).lines).toEqual(linesOf(db));
      if (round % 2 === 0) continue;
      mirror.close();
      mirror = open();
    }
    expect(sizes).toEqual([...new Set(sizes)].sort((a, b) => a - b));
    expect(sizes).toHaveLength(5);
  });

  test("stays as it is while a run is open, without a compaction, and below the limit", () => {
    const { db, work, files, open, write, compact } = longHistory();
    const mirror = open();
    write(30);
    catchUp(mirror);
    expect(split(files.text(path))).toEqual(linesOf(db));
    const small = open(new MemoryFiles(), 1_000_000);
    compact(3);
    catchUp(small);
    const seq = work.post(ann, "hello");
    const run = work.take(ann, [seq]);
    catchUp(mirror);
    expect(split(files.text(path))).toEqual(linesOf(db));
    work.answer(ann, run, [seq]);
    catchUp(mirror);
    expect(files.size(bak)).toBeGreaterThan(0);
    expect(wholeHistory(files)).toEqual(linesOf(db));
  });

  const hows: readonly Fault[] = ["before", "after", "torn"];
  test.each(hows)("loses no line by a crash %s any call of moving them, whether the database is left or not", (how) => {
    let crashes = 0;
    for (let call = 1; ; call += 1) {
      const { db, files, open, write, compact } = longHistory();
      write(20);
      compact(4);
      write(1);
      catchUp(open());
      write(20);
      compact(4);
      const before = wholeHistory(files);
      files.fault = { call: files.calls + call, how };
      let crashed = false;
      try {
        catchUp(open());
      } catch (error) {
        if (!(error instanceof Crash)) throw error;
        crashed = true;
      }
      files.fault = undefined;
      if (!crashed) break;
      crashes += 1;
      // Everything that was in the files is in a database that is rebuilt from them.
      const copy = files.copy();
      expect(rebuilt(copy).lines.slice(0, before.length), `call ${call}`).toEqual(before);
      catchUp(open());
      expect(wholeHistory(files), `call ${call}`).toEqual(linesOf(db));
      write(20);
      compact(4);
      catchUp(open());
      expect(wholeHistory(files), `call ${call}, then archived again`).toEqual(linesOf(db));
      expect(rebuilt(files).lines, `call ${call}, then archived again`).toEqual(linesOf(db));
    }
    expect(crashes).toBeGreaterThan(8);
  });

  test("loses no flushed line when the power fails at any call of moving them", () => {
    for (let call = 1; call < 22; call += stride(3)) {
      for (let seed = 1; seed <= tries(20); seed++) {
        const { db, files, open, write, compact } = longHistory();
        const first = open();
        write(20);
        compact(4);
        catchUp(first);
        first.sync();
        const flushed = wholeHistory(files);
        write(20);
        compact(4);
        files.fault = { call: files.calls + call, how: "after" };
        try {
          catchUp(first);
          first.sync();
        } catch (error) {
          if (!(error instanceof Crash)) throw error;
        }
        files.fault = undefined;
        const left = files.afterPowerLoss(randomOf(`${call} ${seed}`).next);
        expect(rebuilt(left.copy()).lines.slice(0, flushed.length), `call ${call}, seed ${seed}`).toEqual(flushed);
        catchUp(open(left));
        expect(wholeHistory(left), `call ${call}, seed ${seed}`).toEqual(linesOf(db));
        expect(rebuilt(left).lines).toEqual(linesOf(db));
      }
    }
  });
});

describe("an archived history", () => {
  function archived() {
    const made = longHistory();
    made.write(20);
    made.compact(4);
    made.write(2);
    const mirror = made.open();
    catchUp(mirror);
    mirror.close();
    return made;
  }
  const damages: readonly [string, (files: MemoryFiles) => void][] = [
    ["is missing", (files) => files.remove(bak)],
    ["is shorter", (files) => files.put(bak, (files.text(bak) ?? "").slice(0, -30))],
    ["is another one", (files) => files.put(bak, (files.text(bak) ?? "").replaceAll("ü", "ä"))],
  ];

  test.each(damages)("is written whole again from the database if its .bak %s", (_, damage) => {
    const { db, files, notices, open, write, compact } = archived();
    const before = files.text(path);
    damage(files);
    write(1);
    catchUp(open());
    expect(wholeHistory(files)).toEqual(linesOf(db));
    const notice = notices.find(({ kind }) => kind === "unusable-archive");
    expect(notice).toMatchObject({ file: path, archive: bak });
    expect(files.text(notice && "aside" in notice ? notice.aside : "")).toBe(before);
    write(20);
    compact(3);
    catchUp(open());
    expect(rebuilt(files).lines).toEqual(linesOf(db));
  });

  test("is written whole again after a crash at any call of writing it", () => {
    for (const how of ["before", "after", "torn"] as const) {
      for (let call = 1; ; call++) {
        const { db, files, open } = archived();
        const had = files.text(path) ?? "";
        files.remove(bak);
        db.sql.exec("DELETE FROM changes");
        files.fault = { call: files.calls + call, how };
        let crashed = false;
        try {
          catchUp(open());
        } catch (error) {
          if (!(error instanceof Crash)) throw error;
          crashed = true;
        }
        files.fault = undefined;
        catchUp(open());
        expect(wholeHistory(files), `${how} call ${call}`).toEqual(linesOf(db));
        expect(
          files.paths().some((name) => name !== path && files.text(name) === had),
          `${how} call ${call}`,
        ).toBe(true);
        if (!crashed) break;
      }
    }
  });

  test.each(damages.slice(0, 2))("is skipped by a rebuild, named and left unchanged if its .bak %s", (_, damage) => {
    const { files } = archived();
    damage(files);
    const before = files.paths().map((name) => files.text(name));
    const { lines, report } = rebuilt(files);
    expect(lines).toEqual([]);
    expect(report.problems).toMatchObject([{ file: path, consequence: "agent-skipped", code: "corrupt_data" }]);
    expect(files.paths().map((name) => files.text(name))).toEqual(before);
  });

  test("is skipped by a rebuild if the line that counts the .bak is damaged", () => {
    const { files } = archived();
    files.put(path, `?${files.text(path)}`);
    expect(rebuilt(files).report.problems).toMatchObject([{ file: path, consequence: "agent-skipped" }]);
  });

  test("is rebuilt without its state file: session and start are in the .bak", () => {
    const { db, files } = archived();
    files.remove(`agents/${ann}/state.json`);
    const { lines, report } = rebuilt(files);
    expect(lines).toEqual(linesOf(db));
    expect(report.problems).toMatchObject([{ consequence: "state-lost" }]);
  });

  test("is cut where an older database ends, and what that does not have is kept", () => {
    // The last line that stays is before, at and after the first kept entry; one is the whole history.
    for (const last of [3, 17, 18, 20, 24]) {
      const { db, files, notices, open } = archived();
      const had = wholeHistory(files);
      db.sql.exec(
        `DELETE FROM entries WHERE pos > ${last}; DELETE FROM changes; UPDATE agents SET next_pos = ${last + 1}`,
      );
      catchUp(open());
      expect(wholeHistory(files), `last ${last}`).toEqual(linesOf(db));
      const kept = files
        .paths()
        .filter((name) => name.startsWith(path))
        .map((name) => files.text(name))
        .join("");
      for (const line of had) expect(kept.includes(line), `last ${last}`).toBe(true);
      const kind = last < 17 ? "unusable-archive" : "orphaned-lines";
      expect(notices.filter((notice) => notice.kind === kind)).toHaveLength(last < 24 ? 1 : 0);
    }
  });

  test("is extended from a broken database", () => {
    const { db, files, write } = archived();
    write(3);
    expect(salvage(db.sql, files)).toEqual({ agents: 1, lines: 3, failed: [] });
    expect(wholeHistory(files)).toEqual(linesOf(db));
  });

  test("keeps what else is behind the counted lines of its .bak", () => {
    const { db, files, notices, open, write, compact } = archived();
    files.append(bak, "written by someone else\n");
    write(20);
    compact(3);
    catchUp(open());
    expect(wholeHistory(files)).toEqual(linesOf(db));
    expect(notices).toMatchObject([{ kind: "orphaned-archive", file: bak }]);
    const [notice] = notices;
    expect(files.text(notice && "aside" in notice ? notice.aside : "")).toBe("written by someone else\n");
  });
});

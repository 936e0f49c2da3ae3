import { describe, expect, test } from "vitest";
import { stride, tries } from "../../../../test/kit/share.ts";
import { openDatabase } from "../sqlite/database.ts";
import { expectFilesMatch } from "./matches-database.test-kit.ts";
import { Crash, type Fault, MemoryFiles } from "./memory-files.test-kit.ts";
import { type Mirror, openMirror } from "./mirror.ts";
import type { MirrorNotice } from "./mirror-notice.ts";
import { sqliteSource } from "./sqlite-source.ts";
import { lifeOf, Workload } from "./workload.test-kit.ts";

function world() {
  const db = openDatabase(":memory:");
  const work = new Workload(db);
  const files = new MemoryFiles();
  const notices: MirrorNotice[] = [];
  const open = (on: MemoryFiles = files): Mirror =>
    openMirror({
      source: sqliteSource(db.sql),
      files: on,
      now: () => work.now,
      report: (notice) => notices.push(notice),
    });
  return { db, work, files, notices, open };
}

function catchUp(mirror: Mirror): void {
  while (mirror.step().more);
}

/** Numbers between 0 and 1 that are the same for the same seed. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

describe("the mirror", () => {
  test("follows the database after every change", () => {
    const { db, work, files, open } = world();
    const mirror = open();
    for (const act of lifeOf(work)) {
      act();
      catchUp(mirror);
      expectFilesMatch(db, files);
      expect(mirror.lag()).toEqual({ behind: 0, ms: 0 });
    }
  });

  test("deletes the files of a removed agent, and keeps the others", () => {
    const { work, files, open } = world();
    const mirror = open();
    const [ann, bob] = [work.agent("ann"), work.agent("bob")];
    catchUp(mirror);
    expect(files.list("agents")).toEqual([ann, bob]);
    work.commit([{ op: "agent.remove", agentId: ann, reason: "done" }]);
    catchUp(mirror);
    expect(files.list("agents")).toEqual([bob]);
    // A pass over all agents finds nothing to bring back.
    const fresh = new MemoryFiles();
    catchUp(open(fresh));
    expect(fresh.list("agents")).toEqual([bob]);
  });

  test("deletes what a crash left of a removed agent, down to the last file, and is then done with it", () => {
    for (const left of [0, 1, 2, 3]) {
      const { work, files, open } = world();
      const ann = work.agent("ann");
      catchUp(open());
      work.commit([{ op: "agent.remove", agentId: ann, reason: "done" }]);
      for (const name of files.list(`agents/${ann}`).slice(left)) files.remove(`agents/${ann}/${name}`);
      const mirror = open();
      catchUp(mirror);
      expect(files.paths().filter((path) => path.startsWith("agents/"))).toEqual([]);
      mirror.sync();
      expect(mirror.unsynced(), `${left} left`).toBe(false);
    }
  });

  test("writes of an agent at rest what it needs to go on, and nothing that it does not have", () => {
    const { work, files, open } = world();
    const ann = work.agent("ann");
    catchUp(open());
    expect(JSON.parse(files.text(`agents/${ann}/pending.json`) ?? "")).toEqual({
      version: 1,
      sessionKey: "agent:main:telegram:dm:ann",
      profile: "main",
      person: "telegram:ann",
      nextSeq: 1,
      nextPos: 2,
      leaf: work.leaf(ann),
      messages: [],
      deliveries: [],
      dedupe: [],
    });
  });

  test("reports how far behind it is", () => {
    const { work, open } = world();
    const mirror = open();
    catchUp(mirror);
    work.agent("ann");
    work.now += 500;
    expect(mirror.lag()).toEqual({ behind: 1, ms: 500 });
  });

  test("writes only what changed, once for many changes", () => {
    const { work, files, open } = world();
    const mirror = open();
    const ann = work.agent("ann");
    catchUp(mirror);
    const before = files.calls;
    for (let count = 0; count < 50; count++) work.post(ann, `message ${count}`);
    catchUp(mirror);
    expect(files.calls - before).toBe(1);
    catchUp(mirror);
    expect(files.calls - before).toBe(1);
  });

  test("writes JSON with two spaces and a line end, and history line by line as stored", () => {
    const { work, files, open } = world();
    const mirror = open();
    for (const act of lifeOf(work)) act();
    catchUp(mirror);
    for (const path of files.paths().filter((path) => path.endsWith(".json") && !path.endsWith("pending.json"))) {
      const text = files.text(path) ?? "";
      expect(text).toBe(`${JSON.stringify(JSON.parse(text), null, 2)}\n`);
    }
    expect(files.text(`agents/${"ann".padEnd(24, "0")}/history.jsonl`)?.split("\n")[0]).toContain('"type":"session"');
  });

  test("a new mirror completes the files after a crash before, after or inside any call", () => {
    const hows: readonly Fault[] = ["before", "after", "torn"];
    let crashes = 0;
    for (const how of hows) {
      for (let call = 1; ; call += stride(5)) {
        const { db, work, files, open } = world();
        files.fault = { call, how };
        let mirror: Mirror | undefined = open();
        let crashed = false;
        for (const act of lifeOf(work)) {
          act();
          try {
            mirror ??= open();
            catchUp(mirror);
            if (work.row("ann".padEnd(24, "0") as never).next_pos % 2 === 0) mirror.sync();
          } catch (error) {
            if (!(error instanceof Crash)) throw error;
            crashed = true;
            mirror = undefined;
          }
        }
        if (!crashed) {
          expect(call).toBeGreaterThan(60);
          break;
        }
        crashes += 1;
        mirror ??= open();
        catchUp(mirror);
        mirror.close();
        expectFilesMatch(db, files);
      }
    }
    expect(crashes).toBeGreaterThan(200 / stride(5));
  });

  test("repairs a failed write that does not end the process", () => {
    for (let call = 1; call < 60; call += stride(5)) {
      const { db, work, files, open } = world();
      files.fault = { call, how: "torn" };
      const mirror = open();
      for (const act of lifeOf(work)) {
        act();
        try {
          catchUp(mirror);
        } catch (error) {
          expect(error).toBeInstanceOf(Crash);
        }
      }
      catchUp(mirror);
      expectFilesMatch(db, files);
    }
  });

  test("brings the files up to date after a power loss at any moment", () => {
    for (let seed = 1; seed <= tries(200); seed++) {
      const random = seeded(seed);
      const { db, work, files, open } = world();
      let disk = files;
      let mirror = open(disk);
      for (const act of lifeOf(work)) {
        act();
        if (random() < 0.7) catchUp(mirror);
        if (random() < 0.3) mirror.sync();
        if (random() < 0.15) {
          disk = disk.afterPowerLoss(random);
          mirror = open(disk);
        }
      }
      disk = disk.afterPowerLoss(random);
      mirror = open(disk);
      catchUp(mirror);
      try {
        expectFilesMatch(db, disk);
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error });
      }
    }
  });

  test("does not move its mark before the files are on the disk", () => {
    const { work, files, open } = world();
    const mirror = open();
    work.agent("ann");
    catchUp(mirror);
    expect(files.text("mirror.json")).toBeUndefined();
    mirror.sync();
    expect(JSON.parse(files.text("mirror.json") ?? "")).toMatchObject({ version: 1, synced: 2, clean: false });
    mirror.close();
    expect(JSON.parse(files.text("mirror.json") ?? "")).toMatchObject({ synced: 2, clean: true });
  });

  test("cuts a torn last line off, keeps it and writes the line again", () => {
    const { db, work, files, notices, open } = world();
    const ann = work.agent("ann");
    let mirror = open();
    catchUp(mirror);
    const path = `agents/${ann}/history.jsonl`;
    files.put(path, `${files.text(path)}{"type":"mess`);
    work.post(ann, "hello");
    mirror = open();
    catchUp(mirror);
    expectFilesMatch(db, files);
    expect(files.text(`${path}.torn`)).toBe('{"type":"mess\n');
    expect(notices).toEqual([{ kind: "torn-line", file: path, bytes: 13 }]);
  });

  test("notices a history that was changed from outside while it was running", () => {
    const { db, work, files, open } = world();
    const ann = work.agent("ann");
    const mirror = open();
    catchUp(mirror);
    files.put(`agents/${ann}/history.jsonl`, "half a li");
    work.take(ann, [work.post(ann, "hello")]);
    catchUp(mirror);
    expectFilesMatch(db, files);
  });

  test("moves lines aside that the database does not have, and does not merge them", () => {
    const { db, work, files, notices, open } = world();
    const ann = work.agent("ann");
    let mirror = open();
    catchUp(mirror);
    const path = `agents/${ann}/history.jsonl`;
    const strange = `${JSON.stringify({ type: "message", id: "elsewhere", role: "user" })}\n`;
    files.put(path, `${files.text(path)}${strange}`);
    work.take(ann, [work.post(ann, "hello")]);
    mirror = open();
    catchUp(mirror);
    expectFilesMatch(db, files);
    expect(files.text(`${path}.orphaned-4`)).toBe(strange);
    expect(notices).toMatchObject([{ kind: "orphaned-lines", file: path, line: 3 }]);
  });

  test("gives an agent that is moved aside again a name of its own, as often as needed", () => {
    const files = new MemoryFiles();
    const notices: MirrorNotice[] = [];
    const bob = "bob".padEnd(24, "0");
    for (let round = 1; round <= 3; round++) {
      const { work, open } = world();
      for (let n = 0; n < round; n++) work.fresh();
      work.agent("ann");
      work.agent("bob");
      const living = open(files);
      catchUp(living);
      living.close();
      const backup = world();
      backup.work.agent("ann");
      const restored = backup.open(files);
      catchUp(restored);
      restored.close();
      notices.push(...backup.notices.filter(({ kind }) => kind === "orphaned-agent"));
    }
    expect(files.list("agents-aside")).toEqual([bob, `${bob}-2`, `${bob}-3`]);
    expect(notices).toMatchObject(["", "-2", "-3"].map((name) => ({ aside: `agents-aside/${bob}${name}` })));
    for (const name of files.list("agents-aside")) expect(files.list(`agents-aside/${name}`)).toContain("pending.json");
  });

  test("recognises a restored backup: agents and lines it does not have are moved aside", () => {
    const now = world();
    for (const act of lifeOf(now.work)) act();
    const mirror = now.open();
    catchUp(mirror);
    mirror.close();
    // The backup has ann as she was at the beginning, and no bob.
    const old = world();
    const ann = old.work.agent("ann");
    old.work.commit([{ op: "fact.put", key: "different", value: "history" }]);
    const restored = old.open(now.files);
    catchUp(restored);
    restored.close();
    expectFilesMatch(old.db, now.files);
    expect(old.notices.map((notice) => notice.kind)).toEqual(["other-database", "orphaned-lines", "orphaned-agent"]);
    expect(now.files.list("agents-aside")).toEqual(["bob".padEnd(24, "0")]);
    expect(now.files.list(`agents/${ann}`).some((name) => name.startsWith("history.jsonl.orphaned-"))).toBe(true);
  });

  test("checks every agent if changes were pruned before they reached the files", () => {
    const { db, work, files, open } = world();
    const mirror = open();
    const life = lifeOf(work);
    for (const act of life.slice(0, 4)) act();
    catchUp(mirror);
    for (const act of life.slice(4)) act();
    db.sql.exec("DELETE FROM changes WHERE n < (SELECT max(n) FROM changes)");
    catchUp(mirror);
    expectFilesMatch(db, files);
  });

  test("an agent whose row cannot be written as files is reported and blocks no other agent", () => {
    const { db, work, files, notices, open } = world();
    const ann = work.agent("ann");
    db.sql.prepare("UPDATE agents SET state = '{' WHERE id = ?").run(ann);
    work.agent("bob");
    catchUp(open());
    expect(notices).toMatchObject([{ kind: "unwritable-agent", agent: ann }]);
    expect(files.list("agents")).toEqual(["bob".padEnd(24, "0")]);
  });

  test("keeps the dedupe keys of the newest two hundred messages only", () => {
    const { work, files, open } = world();
    const mirror = open();
    const ann = work.agent("ann");
    for (let count = 0; count < 150; count++) work.post(ann, "x");
    catchUp(mirror);
    for (let count = 0; count < 150; count++) work.post(ann, "x");
    catchUp(mirror);
    const { dedupe } = JSON.parse(files.text(`agents/${ann}/pending.json`) ?? "") as { dedupe: [string, number][] };
    expect(dedupe.map(([, seq]) => seq)).toEqual(Array.from({ length: 200 }, (_, index) => index + 101));
  });

  test("keeps a dedupe key whose message was pruned, until the key itself is", () => {
    const { db, work, files, open } = world();
    const ann = work.agent("ann");
    work.post(ann, "once");
    catchUp(open());
    db.sql.exec("DELETE FROM messages");
    work.post(ann, "twice");
    catchUp(open());
    const keys = () =>
      (JSON.parse(files.text(`agents/${ann}/pending.json`) ?? "") as { dedupe: unknown[] }).dedupe.length;
    expect(keys()).toBe(2);
    db.sql.exec("DELETE FROM dedupe WHERE seq = 1");
    work.post(ann, "thrice");
    catchUp(open());
    expect(keys()).toBe(2);
  });

  test("checks more than the last lines after an unclean stop", () => {
    const { db, work, files, open } = world();
    const ann = work.agent("ann");
    work.commit([{ op: "agent.claim", agentId: ann, node: work.node }]);
    const write = (): unknown =>
      work.commit(
        [work.append(ann, { type: "message", role: "user", content: [], pad: "x".repeat(200) })],
        work.owner(ann),
      );
    for (let count = 0; count < 100; count++) write();
    const first = open();
    catchUp(first);
    first.close();
    const second = open();
    write();
    catchUp(second);
    const path = `agents/${ann}/history.jsonl`;
    const lines = (files.text(path) ?? "").split("\n");
    lines[50] = "\0".repeat(lines[50]?.length ?? 0);
    files.put(path, lines.join("\n"));
    catchUp(open());
    expectFilesMatch(db, files);
  });

  test("recognises another database even if it has more changes than the files", () => {
    const now = world();
    now.work.agent("ann");
    const mirror = now.open();
    catchUp(mirror);
    mirror.close();
    const other = world();
    other.work.fresh();
    for (const act of lifeOf(other.work)) act();
    catchUp(other.open(now.files));
    expect(other.notices.map((notice) => notice.kind)).toContain("other-database");
    expectFilesMatch(other.db, now.files);
  });
});

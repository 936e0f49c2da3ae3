/**
 * Kills a backup, a restore, a migration and the forgetting of a person at every call that changes the disk, and checks after each kill that the old state is
 * there, that no half of a backup has its name, and that the same command then works.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Workload } from "../../../src/adapters/store/files/workload.test-kit.ts";
import { openDatabase } from "../../../src/adapters/store/sqlite/database.ts";
import { migrate, migrations, versionOf } from "../../../src/adapters/store/sqlite/migrate.ts";
import { openSqliteStore } from "../../../src/adapters/store/sqlite/open-store.ts";
import { finishRestore } from "../../../src/app/operations/backup/restore-backup.ts";
import { inspectSnapshot } from "../../../src/app/operations/backup/snapshot-store.ts";
import {
  filesWithWords,
  OTHERS,
  PERSON,
  plantFiles,
  plantRows,
} from "../../../src/app/operations/forget/plant-person.test-kit.ts";
import type { CrashOptions, CrashReport, CrashTarget } from "../target.ts";

const CHILD = new URL("child.ts", import.meta.url).pathname;
type What = "backup" | "restore" | "migration" | "forget";

interface Stage {
  readonly dir: string;
  readonly home: string;
  readonly file: string;
}

/** `kills`: how many of the calls of each command, spread evenly; more than there are: all. */
export async function crashBackup({ kills, say }: Pick<CrashOptions, "kills" | "say">): Promise<CrashReport> {
  const problems: string[] = [];
  const counts: Record<string, number> = { kills: 0 };
  for (const what of ["backup", "restore", "migration", "forget"] as const) {
    const calls = Number(child(what, 0, await prepared(what)).stdout);
    if (!(calls > 0)) problems.push(`${what} does not work without a kill`);
    counts[`calls of ${what}`] = calls;
    const step = Math.max(1, Math.floor(calls / kills));
    for (let at = Math.ceil(step / 2); at <= calls; at += step) {
      const stage = await prepared(what);
      const { signal } = child(what, at, stage);
      counts.kills = (counts.kills ?? 0) + (signal === "SIGKILL" ? 1 : 0);
      problems.push(...audit(what, stage).map((problem) => `${what} killed at call ${at}: ${problem}`));
      rmSync(stage.dir, { recursive: true, force: true });
    }
    say(`${what}: ${calls} calls`);
  }
  return { problems, counts };
}

export const backupTarget: CrashTarget = { name: "backup", run: crashBackup };

function child(what: What, at: number, { home, file }: Stage) {
  return spawnSync(process.execPath, [CHILD, what, String(at), home, file], { encoding: "utf8" });
}

/** A home with a conversation; for a restore a backup of it and a later word; for a migration an older database. */
async function prepared(what: What): Promise<Stage> {
  const dir = mkdtempSync(join(tmpdir(), "rookery-crash-backup-"));
  const stage = { dir, home: join(dir, "home"), file: join(dir, "backup.tar.gz") };
  mkdirSync(join(stage.home, "workspace"), { recursive: true });
  writeFileSync(join(stage.home, "workspace", "note.md"), "before");
  const database = join(stage.home, "rookery.db");
  if (what === "forget") {
    const store = openSqliteStore({ home: stage.home, synchronous: "off" });
    await plantRows(store);
    await store.close();
    plantFiles(stage.home);
    return { ...stage, file: PERSON };
  }
  if (what === "migration") {
    const sql = new DatabaseSync(database);
    migrate(sql, migrations().slice(0, -2));
    sql.exec("INSERT INTO facts (key, value) VALUES ('answer', '42')");
    sql.close();
    return stage;
  }
  const db = openDatabase(database, { synchronous: "off" });
  const work = new Workload(db);
  work.post(work.agent("ann"), "hello");
  db.close();
  if (what === "restore") {
    child("backup", 0, stage);
    writeFileSync(join(stage.home, "workspace", "note.md"), "after");
  }
  return stage;
}

function audit(what: What, stage: Stage): readonly string[] {
  const { home, file, dir } = stage;
  if (what === "restore") finishRestore(home);
  if (!existsSync(join(home, "rookery.db"))) return ["the home is gone"];
  if (what === "forget") return forgotten(stage);
  const problems: string[] = [];
  const before = versionIn(home);
  const newest = migrations().at(-1)?.version;
  if (what === "migration" && before !== newest && before !== (newest ?? 0) - 2) problems.push(`schema ${before}`);
  if (what !== "migration" && agentsIn(home) !== 1) problems.push("the agent is gone");
  if (what === "backup" && existsSync(file)) problems.push(...unsound(dir, file));
  if (what === "backup") rmSync(file, { force: true });
  const again = child(what, 0, stage);
  if (again.status !== 0) problems.push(`it does not work again: ${again.stderr.slice(-400)}`);
  if (versionIn(home) !== newest) problems.push("the database is not migrated after another start");
  if (what === "migration" && factIn(home) !== "42") problems.push("a row is gone");
  const left = readdirSync(dir).filter(
    (name) => name.startsWith(".rookery-") || name.endsWith(".restoring") || name.endsWith(".restore.json"),
  );
  if (left.length > 0) problems.push(`left behind: ${left.join(", ")}`);
  return problems;
}

/** Repeated, it ends at the same state: nothing of the person but what others hold, no plan, and one tombstone. */
function forgotten(stage: Stage): readonly string[] {
  const { home } = stage;
  const again = child("forget", 0, stage);
  const isDone = again.status === 0 || again.stderr.includes("Nothing of");
  const problems = isDone ? [] : [`it does not work again: ${again.stderr.slice(-400)}`];
  const others = filesWithWords(home).filter((path) => !path.startsWith(`agents/${OTHERS}/`));
  const left = others.filter((path) => path !== "rookery.db" && path !== "workspace/MEMORY.md");
  if (left.length > 0) problems.push(`the person is still in ${left.join(", ")}`);
  const rows = reading(home, (sql) => {
    const facts = sql.prepare("SELECT key FROM facts WHERE key LIKE 'forget%'").all();
    const names = sql.prepare("SELECT DISTINCT person FROM audit WHERE person LIKE 'forgotten-%'").all();
    const others = sql.prepare("SELECT count(*) AS n FROM agents WHERE person = 'owner'").get();
    const named = sql.prepare("SELECT count(*) AS n FROM agents WHERE session_key LIKE '%77314159%'").get();
    return { facts: facts.length, names: names.length, others: Number(others?.n), named: Number(named?.n) };
  });
  const wanted = { facts: 0, names: 1, others: 1, named: 0 };
  if (JSON.stringify(rows) !== JSON.stringify(wanted)) problems.push(`rows: ${JSON.stringify(rows)}`);
  return problems;
}

/** A backup that has its name is whole. */
function unsound(dir: string, file: string): readonly string[] {
  const to = join(dir, "restored");
  const { status, stderr } = child("restore", 0, { dir, home: to, file });
  if (status !== 0) return [`a backup has its name and is not whole: ${stderr.slice(-300)}`];
  inspectSnapshot(join(to, "rookery.db"));
  return [];
}

function reading<T>(home: string, read: (sql: DatabaseSync) => T): T {
  const sql = new DatabaseSync(join(home, "rookery.db"));
  try {
    return read(sql);
  } finally {
    sql.close();
  }
}

const versionIn = (home: string): number => reading(home, versionOf);
const agentsIn = (home: string): number =>
  reading(home, (sql) => Number(sql.prepare("SELECT count(*) AS n FROM agents").get()?.n));
const factIn = (home: string): unknown =>
  reading(home, (sql) => sql.prepare("SELECT value FROM facts WHERE key = 'answer'").get()?.value);

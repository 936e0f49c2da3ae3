/**
 * Makes the database again from the plain files (M6). By itself this happens only where neither the database nor its log
 * exists. It is built under another name and renamed at the end, so that a crash on the way leaves nothing half-made.
 */
import { closeSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { type AgentId, type Ids, isAgentId } from "../../../core/ids.ts";
import { type Database, openDatabase } from "../sqlite/database.ts";
import { diskFiles } from "./disk-files.ts";
import { AGENTS_DIR, agentPaths } from "./layout.ts";
import { type LostWork, loseOpenWork } from "./lose-open-work.ts";
import { type Mark, readMark } from "./mark-file.ts";
import type { MirrorFiles } from "./mirror-files.ts";
import { type AgentFiles, readAgentFiles } from "./read-agent-files.ts";
import { restoreAgent } from "./restore-agent.ts";
import { restoreBudgets } from "./restore-budgets.ts";
import { restoreJobRuns, restoreJobs, restoreSubagentRuns, restoreSwarms } from "./restore-registries.ts";
import type { RestoreProblem, Restoring } from "./restoring.ts";
import { statementsOf } from "./sqlite-source.ts";

export interface RebuildOptions {
  readonly home: string;
  readonly databasePath: string;
  readonly ids: Ids;
  readonly now: number;
}

export interface RebuildReport {
  readonly agents: number;
  readonly entries: number;
  /** Messages that wait as they did before. */
  readonly waiting: number;
  readonly dedupeKeys: number;
  readonly jobs: number;
  readonly swarms: number;
  readonly subagentRuns: number;
  readonly budgets: number;
  /** What was unfinished: ended runs, failed messages, unconfirmed deliveries. */
  readonly lost: LostWork;
  readonly problems: readonly RestoreProblem[];
  /** What may be missing, in a sentence; undefined where the files were complete. */
  readonly gap: string | undefined;
}

/** Builds the database and puts it in place. The home's lock must be held. */
export function rebuild(options: RebuildOptions): RebuildReport {
  const built = buildDatabase(options);
  built.install();
  return built.report;
}

/** Builds the database beside its place. Nothing but torn ends of lines is changed until `install`. */
export function buildDatabase(options: RebuildOptions): { readonly report: RebuildReport; install(): void } {
  const { home, databasePath } = options;
  const temporary = `${databasePath}.rebuilding`;
  for (const suffix of ["", "-wal", "-shm"]) rmSync(temporary + suffix, { force: true });
  const db = openDatabase(temporary, { synchronous: "off" });
  let report: RebuildReport;
  try {
    report = restoreHome(db, diskFiles(home), options);
    db.sql.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    db.close();
  }
  syncPath(temporary);
  return {
    report,
    install() {
      renameSync(temporary, databasePath);
      syncPath(home);
    },
  };
}

function syncPath(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Fills an empty database from the files of a home. */
export function restoreHome(
  db: Database,
  files: MirrorFiles,
  { ids, now }: Pick<RebuildOptions, "ids" | "now">,
): RebuildReport {
  const problems: RestoreProblem[] = [];
  const restoring: Restoring = {
    db,
    files,
    report: (problem) => problems.push(problem),
    keep: (path) => files.replace(`${path}.unread-${now}`, files.read(path) ?? ""),
  };
  const statement = statementsOf(db.sql);
  const mark = readMark(files);
  const counts = { agents: 0, entries: 0, waiting: 0, dedupeKeys: 0 };
  db.sql.exec("BEGIN");
  for (const agent of agentsOf(restoring)) {
    db.sql.exec("SAVEPOINT agent");
    try {
      const restored = restoreAgent(restoring, agent);
      counts.agents += 1;
      counts.entries += restored.entries;
      counts.waiting += restored.waiting;
      counts.dedupeKeys += restored.dedupeKeys;
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ERR_SQLITE_ERROR") throw error;
      db.sql.exec("ROLLBACK TO agent");
      const reason = `It cannot stand beside another agent: ${(error as Error).message}.`;
      problems.push({ file: agent.paths.dir, reason, consequence: "agent-skipped", code: "corrupt_data" });
    }
    db.sql.exec("RELEASE agent");
  }
  const jobs = restoreJobs(restoring);
  restoreJobRuns(restoring);
  const subagentRuns = restoreSubagentRuns(restoring);
  const budgets = restoreBudgets(restoring);
  const swarms = restoreSwarms(restoring);
  // The log of changes goes on where the files' mark ends, so that the mirror looks at every agent once more.
  statement("restore-change").run((mark?.synced ?? 0) + 1, ids.change(), now);
  db.sql.exec("COMMIT");
  const lost = loseOpenWork(db, { ids, now, why: "the database was rebuilt from the plain files" });
  // Ownership begins anew: whoever held an agent does not live any more.
  statement("forget-ownership").run();
  statement("forget-nodes").run();
  return { ...counts, jobs, subagentRuns, swarms, budgets, lost, problems, gap: gapAfter(mark) };
}

/** Every agent whose files can be used, in the order they were made. One at a time, because they may be many. */
function* agentsOf(restoring: Restoring): Generator<AgentFiles> {
  const { files, report } = restoring;
  const found: { readonly id: AgentId; readonly createdAt: number }[] = [];
  for (const name of files.list(AGENTS_DIR)) {
    if (isAgentId(name)) found.push({ id: name, createdAt: createdAtOf(files, name) });
    else
      report({ file: `${AGENTS_DIR}/${name}`, reason: "This is not the id of an agent.", consequence: "file-skipped" });
  }
  for (const { id } of found.sort((a, b) => a.createdAt - b.createdAt)) {
    const agent = readAgentFiles(restoring, id);
    if (agent) yield agent;
  }
}

function createdAtOf(files: MirrorFiles, id: AgentId): number {
  try {
    const state = JSON.parse(files.read(agentPaths(id).state)?.toString() ?? "") as {
      _engine?: { createdAt?: number };
    };
    return state._engine?.createdAt ?? 0;
  } catch {
    return 0;
  }
}

function gapAfter(mark: Mark | undefined): string | undefined {
  if (mark?.clean) return undefined;
  const usually = "normally all but the last second before the end, after a power failure possibly less";
  return mark
    ? `Everything committed up to ${new Date(mark.at).toISOString()} is there. What came later is there as far as it was written: ${usually}.`
    : `There is no mirror.json, so nobody can say how complete the files are: ${usually}.`;
}

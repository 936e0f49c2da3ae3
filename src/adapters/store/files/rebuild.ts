/**
 * Rebuilds the database from the plain files (M6). A start does this by itself only if neither the database nor its log
 * exists. The new database is built under another name and renamed at the end, so that a crash leaves nothing half-built.
 */
import { closeSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { type AgentId, type Ids, isAgentId } from "../../../core/ids.ts";
import { type Database, openDatabase } from "../sqlite/database.ts";
import { diskFiles } from "./disk-files.ts";
import { endUnfinishedWork, type LostWork } from "./end-unfinished-work.ts";
import { AGENTS_DIR, agentPaths } from "./file-format.ts";
import { type Mark, readMark } from "./mark-file.ts";
import type { MirrorFiles } from "./mirror-files.ts";
import { restorePeople } from "./people-file.ts";
import { type AgentFiles, readAgentFiles } from "./read-agent-files.ts";
import { restoreAgent } from "./restore-agent.ts";
import type { RestoreContext, RestoreProblem } from "./restore-context.ts";
import {
  restoreBudgets,
  restoreJobRuns,
  restoreJobs,
  restoreSubagentRuns,
  restoreSwarms,
} from "./restore-registries.ts";
import { restoreStoredFiles } from "./stored-files-file.ts";

const INSERT_CHANGE = "INSERT INTO changes (n, id, at, touched, result) VALUES (?, ?, ?, '', NULL)";
const CLEAR_OWNERSHIP = "UPDATE agents SET node = NULL, epoch = 0 WHERE node IS NOT NULL OR epoch > 0";
const CLEAR_NODES = "DELETE FROM nodes";

export interface RebuildOptions {
  readonly home: string;
  readonly databasePath: string;
  readonly ids: Ids;
  readonly now: number;
}

export interface RebuildReport {
  readonly agents: number;
  readonly entries: number;
  /** Messages that still wait. */
  readonly waiting: number;
  readonly dedupeKeys: number;
  readonly jobs: number;
  readonly swarms: number;
  readonly people: number;
  readonly storedFiles: number;
  readonly subagentRuns: number;
  readonly budgets: number;
  /** The unfinished work: ended runs, failed messages, unconfirmed deliveries. */
  readonly lost: LostWork;
  readonly problems: readonly RestoreProblem[];
  /** What may be missing, in a sentence; undefined if the files were complete. */
  readonly gap: string | undefined;
}

/** Builds the database and puts it in place. The home's lock must be held. */
export function rebuild(options: RebuildOptions): RebuildReport {
  const built = buildDatabase(options);
  built.install();
  return built.report;
}

/** Builds the database under a temporary name. Until `install` it changes nothing but torn ends of lines. */
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
  const context: RestoreContext = {
    db,
    files,
    report: (problem) => problems.push(problem),
    keep: (path) => files.replace(`${path}.unread-${now}`, files.read(path) ?? ""),
  };
  const mark = readMark(files);
  const counts = { agents: 0, entries: 0, waiting: 0, dedupeKeys: 0 };
  db.sql.exec("BEGIN");
  for (const agent of agentsOf(context)) {
    db.sql.exec("SAVEPOINT agent");
    try {
      const restored = restoreAgent(context, agent);
      counts.agents += 1;
      counts.entries += restored.entries;
      counts.waiting += restored.waiting;
      counts.dedupeKeys += restored.dedupeKeys;
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ERR_SQLITE_ERROR") throw error;
      db.sql.exec("ROLLBACK TO agent");
      const reason = `It conflicts with another agent: ${(error as Error).message}.`;
      problems.push({ file: agent.paths.dir, reason, consequence: "agent-skipped", code: "corrupt_data" });
    }
    db.sql.exec("RELEASE agent");
  }
  const jobs = restoreJobs(context);
  restoreJobRuns(context);
  const subagentRuns = restoreSubagentRuns(context);
  const budgets = restoreBudgets(context);
  const swarms = restoreSwarms(context);
  const people = restorePeople(context, now);
  const storedFiles = restoreStoredFiles(context);
  // The log of changes continues after the files' mark, so that the mirror checks every agent once more.
  db.run(INSERT_CHANGE, (mark?.synced ?? 0) + 1, ids.change(), now);
  db.sql.exec("COMMIT");
  const lost = endUnfinishedWork(db, { ids, now, why: "the database was rebuilt from the plain files" });
  // The nodes that owned agents no longer run, so ownership starts from zero.
  db.run(CLEAR_OWNERSHIP);
  db.run(CLEAR_NODES);
  return { ...counts, jobs, subagentRuns, swarms, people, storedFiles, budgets, lost, problems, gap: gapAfter(mark) };
}

/** Every agent whose files can be used, in the order of creation. One at a time, because there may be many. */
function* agentsOf(context: RestoreContext): Generator<AgentFiles> {
  const { files, report } = context;
  const found: { readonly id: AgentId; readonly createdAt: number }[] = [];
  for (const name of files.list(AGENTS_DIR)) {
    if (isAgentId(name)) found.push({ id: name, createdAt: createdAtOf(files, name) });
    else
      report({ file: `${AGENTS_DIR}/${name}`, reason: "This is not the id of an agent.", consequence: "file-skipped" });
  }
  for (const { id } of found.sort((a, b) => a.createdAt - b.createdAt)) {
    const agent = readAgentFiles(context, id);
    if (agent) yield agent;
  }
}

/** Agents without a state come last: the key they get must not be one that another agent has. */
function createdAtOf(files: MirrorFiles, id: AgentId): number {
  if (files.size(agentPaths(id).state) === undefined) return Number.MAX_SAFE_INTEGER;
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
    : `There is no mirror.json, so it is unknown how complete the files are: ${usually}.`;
}

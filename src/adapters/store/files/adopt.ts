/**
 * `rookery engine repair --adopt`: takes the agent of a directory into the database of a home, in one transaction: after a crash it is
 * there whole or not at all. An id or a key that exists is refused. The directory stays unchanged; the plain files of the
 * home follow the database as always.
 */
import { OWNERS_FIELDS, widensRights } from "../../../core/agent/exec-fields.ts";
import { ConflictError, CorruptDataError } from "../../../core/errors.ts";
import { readEntry } from "../../../core/history/entry.ts";
import type { Ids, SessionKey } from "../../../core/ids.ts";
import { type Database, openDatabase } from "../sqlite/database.ts";
import { lockHome } from "../sqlite/home-lock.ts";
import { diskFiles } from "./disk-files.ts";
import { endUnfinishedWork, type LostWork } from "./end-unfinished-work.ts";
import { agentPaths } from "./file-format.ts";
import { type ForeignAgent, openForeignAgent } from "./foreign-agent-files.ts";
import { historyLines } from "./history-lines.ts";
import { rebuildNeeded, refuseUnreadable } from "./inspect.ts";
import type { MirrorFiles } from "./mirror-files.ts";
import { type AgentFiles, readAgentFiles } from "./read-agent-files.ts";
import { type RestoredCounts, restoreAgent } from "./restore-agent.ts";
import type { RestoreContext, RestoreProblem } from "./restore-context.ts";

const INSERT_CHANGE = `INSERT INTO changes (id, at, touched, result)
VALUES (?, ?, (SELECT CAST(no AS TEXT) FROM agents WHERE id = ?), NULL)`;
const SELECT_BY_ID = "SELECT session_key FROM agents WHERE id = ?";
const SELECT_BY_KEY = "SELECT a.id FROM session_keys k JOIN agents a ON a.no = k.agent WHERE k.key = ?";

interface AdoptOptions {
  readonly home: string;
  readonly databasePath: string;
  /** The directory of the agent. */
  readonly dir: string;
  readonly ids: Ids;
  readonly now: number;
}

export interface AdoptReport extends RestoredCounts {
  readonly id: string;
  readonly sessionKey: SessionKey;
  readonly dir: string;
  /** The unfinished work of the agent, which was ended. */
  readonly lost: LostWork;
  readonly problems: readonly RestoreProblem[];
  /** Settings of the agent that only an owner gives, such as where its commands run. They are not taken over. */
  readonly reset: readonly string[];
}

/** Throws `HomeLockedError` while the program runs, `ConflictError` if the agent or its key exists here. */
export function adopt(options: AdoptOptions): AdoptReport {
  const { home, databasePath, dir } = options;
  const foreign = openForeignAgent(dir);
  const lock = lockHome(home);
  try {
    refuseUnreadable(databasePath);
    if (rebuildNeeded(home, databasePath)) {
      throw new ConflictError(`The database of ${home} is missing.`, {
        hint: "Run `rookery engine repair` first: it rebuilds the database from the plain files.",
      });
    }
    const db = openDatabase(databasePath, { synchronous: "full" });
    try {
      const report = adoptInto(db, foreign, options);
      copyDedupeKeys(foreign, diskFiles(home));
      return report;
    } finally {
      db.close();
    }
  } finally {
    lock.release();
  }
}

function adoptInto(db: Database, foreign: ForeignAgent, { ids, now }: AdoptOptions): AdoptReport {
  const { id, dir, files } = foreign;
  const problems: RestoreProblem[] = [];
  const context: RestoreContext = { db, files, report: (problem) => problems.push(problem), keep: () => {} };
  db.sql.exec("BEGIN IMMEDIATE");
  try {
    const agent = readAgentFiles(context, id);
    if (!agent) throw unusable(dir, problems.map(({ reason }) => reason).join(" "));
    if (!beginsWithSession(files, agent.paths.history))
      throw unusable(dir, "Its history does not begin with a session.");
    refuseKnown(db, agent);
    const { state, reset } = withoutRights(agent.state);
    const counts = restoreAgent(context, { ...agent, state });
    // Its files are written by the mirror, which follows this log.
    db.run(INSERT_CHANGE, ids.change(), now, id);
    const lost = endUnfinishedWork(db, { ids, now, why: `the agent was adopted from ${dir}`, only: id });
    db.sql.exec("COMMIT");
    return { ...counts, id, sessionKey: agent.state.engine.sessionKey, dir, lost, problems, reset };
  } catch (error) {
    db.sql.exec("ROLLBACK");
    if ((error as { code?: unknown }).code !== "ERR_SQLITE_ERROR") throw error;
    throw new ConflictError(`The agent ${id} conflicts with what this home has: ${(error as Error).message}.`, {
      cause: error,
      hint: "Nothing was changed. A run or a delivery of it may have been adopted or restored before.",
    });
  }
}

/** The directory may be from anyone: rights are given by the owner of this home. Settings that narrow them are kept. */
function withoutRights({ state, engine }: AgentFiles["state"]): {
  readonly state: AgentFiles["state"];
  readonly reset: readonly string[];
} {
  const rules = state.rules?.filter((rule) => !("allow" in rule));
  const isWide = (name: string): boolean =>
    name === "rules" ? rules?.length !== state.rules?.length : widensRights(name, state[name]);
  const reset = OWNERS_FIELDS.filter(isWide);
  const kept = { ...state, ...Object.fromEntries(reset.map((name) => [name, undefined])), rules };
  return { state: { state: kept, engine }, reset };
}

/** The mirror knows the keys of settled messages only from the file before. */
function copyDedupeKeys({ id, files: from }: ForeignAgent, to: MirrorFiles): void {
  const { dir, pending } = agentPaths(id);
  const bytes = from.read(pending);
  if (!bytes || to.size(pending) !== undefined) return;
  to.makeDir(dir);
  to.replace(pending, bytes);
}

const unusable = (dir: string, why: string): CorruptDataError =>
  new CorruptDataError(`The agent in ${dir} cannot be adopted: ${why}`, { hint: "Nothing was changed." });

function beginsWithSession(files: MirrorFiles, path: string): boolean {
  const [first] = historyLines(files, path);
  const read = first && readEntry(first.text);
  return read?.kind === "entry" && read.entry.type === "session";
}

function refuseKnown(db: Database, { id, state: { engine } }: AgentFiles): void {
  if (db.get(SELECT_BY_ID, id)) {
    throw new ConflictError(`This home has an agent ${id} already.`, {
      hint: "Nothing was changed. `rookery agents remove` removes an agent that you do not need.",
    });
  }
  const holder = db.get<{ id: string }>(SELECT_BY_KEY, engine.sessionKey)?.id;
  if (holder === undefined) return;
  throw new ConflictError(`The agent ${holder} of this home has the session key ${engine.sessionKey} already.`, {
    hint: "Nothing was changed. Remove that agent first if the adopted one should take its place.",
  });
}

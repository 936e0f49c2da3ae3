/**
 * Copies what can still be read from a broken database, and what the plain files lack, into the plain files. It only adds:
 * lines in the files stay, and an agent with any row that cannot be read is left unchanged and reported.
 */
import type { DatabaseSync } from "node:sqlite";
import { parseDescriptor } from "../../../core/agent/descriptor.ts";
import { CorruptDataError, errorText } from "../../../core/errors.ts";
import { readEntry } from "../../../core/history/entry.ts";
import { isAgentId } from "../../../core/ids.ts";
import { agentPaths } from "./file-format.ts";
import { historyLines } from "./history-lines.ts";
import { compareMark, readMark } from "./mark-file.ts";
import { textsOf } from "./mirror-agent.ts";
import type { MirrorFiles } from "./mirror-files.ts";
import type { AgentRow, MirrorSource } from "./mirror-source.ts";
import { parseJson, parsePendingFile, parseStateFile } from "./read-agent-files.ts";
import { sqliteSource } from "./sqlite-source.ts";

export interface SalvageReport {
  /** Agents that were newer in the database. */
  readonly agents: number;
  readonly lines: number;
  /** What could not be read: an agent, or a table. */
  readonly failed: readonly { readonly what: string; readonly reason: string }[];
}

export function salvage(sql: DatabaseSync, files: MirrorFiles): SalvageReport {
  const source = sqliteSource(sql);
  const failed: { what: string; reason: string }[] = [];
  const attempt = <T>(what: string, read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      failed.push({ what, reason: errorText(error) });
      return undefined;
    }
  };
  const numbers =
    attempt("changes", () => touchedSinceMark(source, files)) ?? attempt("agents", () => everyAgent(source)) ?? [];
  let agents = 0;
  let lines = 0;
  for (const no of numbers) {
    const extended = attempt(`agent ${no}`, () => extendAgent(source, files, no));
    if (extended === undefined) continue;
    agents += 1;
    lines += extended;
  }
  return { agents, lines, failed };
}

/** Agents in changes after the mark. Throws if the files were written from another database. */
function touchedSinceMark(source: MirrorSource, files: MirrorFiles): readonly number[] {
  const mark = readMark(files);
  if (!mark) return everyAgent(source);
  if (compareMark(source, mark) === "other") {
    throw new CorruptDataError(`The database does not have change ${mark.synced}, up to which the files were written.`);
  }
  const touched = new Set<number>();
  for (let n = mark.synced; ; ) {
    const changes = source.changesAfter(n, 1_000);
    for (const change of changes) for (const word of change.touched.split(" ")) touched.add(Number(word));
    const last = changes.at(-1);
    if (!last) return [...touched].filter((no) => Number.isInteger(no) && no > 0);
    n = last.n;
  }
}

function everyAgent(source: MirrorSource): readonly number[] {
  return source.agentsAfter(0, Number.MAX_SAFE_INTEGER);
}

/** Returns how many lines the history gained, or undefined if the agent does not exist. Writes all or nothing. */
function extendAgent(source: MirrorSource, files: MirrorFiles, no: number): number | undefined {
  const agent = source.agent(no);
  if (!agent) return undefined;
  if (!isAgentId(agent.id)) throw new CorruptDataError(`"${String(agent.id)}" is not the id of an agent.`);
  const paths = agentPaths(agent.id);
  const where = `the broken database's agent ${agent.id}`;
  const texts = textsOf(source, files, agent);
  parseDescriptor(parseJson(texts.descriptor, where), where);
  parseStateFile(texts.state, where);
  parsePendingFile(texts.pending, where);
  const lines = linesBeyond(source, files, agent, paths.history);
  files.makeDir(paths.dir);
  if (lines.length > 0) files.append(paths.history, lines.map((line) => `${line}\n`).join(""));
  if (files.size(paths.descriptor) === undefined) files.replace(paths.descriptor, texts.descriptor);
  files.replace(paths.state, texts.state);
  files.replace(paths.pending, texts.pending);
  return lines.length;
}

/** The lines the file lacks. The file's last line must equal the database's, and every new one must be an entry. */
function linesBeyond(source: MirrorSource, files: MirrorFiles, agent: AgentRow, path: string): readonly string[] {
  let have = 0;
  let last: string | undefined;
  for (const { text, offset, complete } of historyLines(files, path)) {
    if (!complete) {
      files.append(`${path}.torn`, `${text}\n`);
      files.truncate(path, offset);
      break;
    }
    have += 1;
    last = text;
  }
  if (have > agent.next_pos || (have > 0 && source.lines(agent.no, have - 1, 1)[0]?.line !== last)) {
    throw new CorruptDataError(`${path} and the broken database disagree about line ${have}.`);
  }
  const rows = source.lines(agent.no, have, Number.MAX_SAFE_INTEGER);
  const sound = rows.every(({ pos, line }, index) => pos === have + index && readEntry(line).kind !== "broken");
  if (!sound || have + rows.length !== agent.next_pos) {
    throw new CorruptDataError(`Lines ${have + 1} to ${agent.next_pos} cannot be read from the broken database.`);
  }
  return rows.map((row) => row.line);
}

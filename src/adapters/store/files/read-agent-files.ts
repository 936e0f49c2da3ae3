/**
 * Reads the files of one agent that are read whole, and judges them. Without a valid descriptor and state there is no
 * agent: it is reported, skipped, and its directory left as it is. A newer state is never read as an older one (L11).
 */
import { type AgentDescriptor, parseDescriptor } from "../../../core/agent/descriptor.ts";
import { CorruptDataError, RookeryError } from "../../../core/errors.ts";
import type { AgentId } from "../../../core/ids.ts";
import { type AgentPaths, agentPaths } from "./layout.ts";
import { parseJson } from "./parse-json.ts";
import { type PendingFile, parsePendingFile } from "./parse-pending.ts";
import { parseStateFile } from "./parse-state.ts";
import type { Restoring } from "./restoring.ts";

export interface AgentFiles {
  readonly id: AgentId;
  readonly paths: AgentPaths;
  readonly descriptor: AgentDescriptor;
  readonly state: ReturnType<typeof parseStateFile>;
  readonly pending: PendingFile | undefined;
}

/** Undefined where the agent cannot be restored; the reason is reported and its directory left as it is. */
export function readAgentFiles(restoring: Restoring, id: AgentId): AgentFiles | undefined {
  const { files, report } = restoring;
  const paths = agentPaths(id);
  const text = (path: string): string => {
    const bytes = files.read(path);
    if (bytes) return bytes.toString();
    throw new CorruptDataError(`${path} is missing.`, { hint: "The other files of the agent were left as they are." });
  };
  let at = paths.descriptor;
  try {
    const descriptor = parseDescriptor(parseJson(text(at), at), at);
    at = paths.state;
    const state = parseStateFile(text(at), at);
    at = paths.history;
    if ((files.size(at) ?? 0) === 0) throw new CorruptDataError(`${at} is missing or empty.`);
    return { id, paths, descriptor, state, pending: readPending(restoring, paths.pending) };
  } catch (error) {
    if (!(error instanceof RookeryError)) throw error;
    report({ file: at, reason: error.message, consequence: "agent-skipped", code: error.code });
    return undefined;
  }
}

function readPending({ files, report, keep }: Restoring, path: string): PendingFile | undefined {
  const bytes = files.read(path);
  try {
    if (bytes) return parsePendingFile(bytes.toString(), path);
    report({ file: path, reason: `${path} is missing.`, consequence: "file-skipped" });
  } catch (error) {
    if (!(error instanceof RookeryError)) throw error;
    report({ file: path, reason: error.message, consequence: "file-skipped", code: error.code });
    keep(path);
  }
  return undefined;
}

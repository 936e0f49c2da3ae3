/**
 * The state of an agent whose `state.json` is missing. The rest of its files still tell which conversation it is: the key and
 * the profile from `pending.json` or from the descriptor, the session and the creation from the history.
 */
import { DEFAULT_PROFILE } from "../../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import { freshState } from "../../../core/agent/fresh-state.ts";
import { sessionKeyOf } from "../../../core/agent/session-key.ts";
import { CorruptDataError } from "../../../core/errors.ts";
import { type Entry, readEntry } from "../../../core/history/entry.ts";
import type { SessionId } from "../../../core/ids.ts";
import type { AgentPaths } from "./file-format.ts";
import { historyLines } from "./history-lines.ts";
import type { AgentFiles, PendingFile } from "./read-agent-files.ts";
import type { RestoreContext } from "./restore-context.ts";

/** Throws `CorruptDataError` if the history does not begin with a session. */
export function stateWithoutFile(
  { files, report }: RestoreContext,
  paths: AgentPaths,
  descriptor: AgentDescriptor,
  pending: PendingFile | undefined,
): AgentFiles["state"] {
  const start = firstMarker(files, paths.history);
  if (!start) {
    throw new CorruptDataError(`${paths.state} is missing, and ${paths.history} does not begin with a session.`);
  }
  const profile = pending?.profile ?? DEFAULT_PROFILE;
  const sessionKey = pending?.sessionKey ?? sessionKeyOf(descriptor, profile);
  const reason = `It is missing. The conversation continues as ${sessionKey} with default settings.`;
  report({ file: paths.state, reason, consequence: "state-lost" });
  const { sessionId, timestamp: createdAt } = start;
  return {
    // Whether untrusted text is in the session is not known any more (M32).
    state: { ...freshState(createdAt), untrusted: true },
    // A restored history brings its own latest session.
    engine: {
      sessionKey,
      profile,
      person: pending?.person,
      sessionId: sessionId as SessionId,
      createdAt,
      stopped: pending?.stopped,
    },
  };
}

const FIRST_LINES = 10;

function firstMarker(files: RestoreContext["files"], path: string): Extract<Entry, { type: "start" }> | undefined {
  let count = 0;
  for (const { text } of historyLines(files, path)) {
    const read = readEntry(text);
    if (read.kind === "entry" && read.entry.type === "start") return read.entry;
    count += 1;
    if (count >= FIRST_LINES) break;
  }
  return undefined;
}

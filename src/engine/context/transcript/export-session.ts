/** One session of an agent as a session file: its name, its text, and the lines that could not be written. */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { NotFoundError } from "../../../core/errors.ts";
import { readEntry, TRANSCRIPT_VERSION } from "../../../core/history/entry.ts";
import type { EntryId, SessionId } from "../../../core/ids.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { readSession } from "../session-entries.ts";
import { transcriptFileName, type WrittenTranscript, writeTranscript } from "./write-transcript.ts";

export interface ExportedSession extends WrittenTranscript {
  /** `<sessionId>.jsonl`, for a thread `<sessionId>-topic-<threadId>.jsonl`. */
  readonly name: string;
}

export interface Exporting {
  /** Default: the current one. */
  readonly sessionId?: SessionId;
  readonly version?: 2 | 3;
  /** The working directory of the agent, for the header. */
  readonly cwd?: string;
}

export async function exportSession(
  store: Pick<StoreReader, "linesBack">,
  agent: AgentRecord,
  { sessionId = agent.sessionId, version = TRANSCRIPT_VERSION, cwd }: Exporting = {},
): Promise<ExportedSession> {
  const { lines, entries, lastLeaf } = await readSession(store, agent.id, sessionId);
  if (lines.length === 0) {
    throw new NotFoundError(`The agent ${agent.id} has no session ${sessionId}.`, {
      hint: "`rookery sessions show` shows where each session begins, with its id.",
    });
  }
  const leaf = lastLeaf ?? (sessionId === agent.sessionId ? agent.leaf : idOf(entries.at(-1)));
  // Only a line before the first marker can be the header. The header of a thread names the session it was forked from.
  const parentSession = entries[0]?.type === "start" ? await parentOf(store, agent) : undefined;
  const { descriptor } = agent;
  const threadId = descriptor.type === "user" ? descriptor.threadId : undefined;
  const session = { agentId: agent.id, sessionId, leaf, lines, cwd, parentSession };
  return { name: transcriptFileName(sessionId, threadId), ...writeTranscript(session, version) };
}

const idOf = (entry: object | undefined): EntryId => (entry as { id?: EntryId } | undefined)?.id ?? ("" as EntryId);

async function parentOf(store: Pick<StoreReader, "linesBack">, { id }: AgentRecord): Promise<string | undefined> {
  const [first] = await store.linesBack(id, { before: 1, limit: 1 });
  const read = first && readEntry(first.line);
  return read?.kind === "entry" && read.entry.type === "session" ? read.entry.parentSession : undefined;
}

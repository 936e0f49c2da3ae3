/**
 * The context a model is sent, built from history: the path from the leaf back to the last marker, with the last
 * compaction on it. The same history always builds the same bytes, before a restart and after it.
 */
import type { Entry } from "../../core/history/entry.ts";
import type { AgentId, EntryId } from "../../core/ids.ts";
import type { ModelMessage } from "../../core/ports/model.ts";
import type { StoreReader } from "../../core/store/store.ts";
import type { ContextSize } from "../runtime/context-cache.ts";
import { type CompactionEntry, compactionDetails } from "./compaction/compaction-details.ts";
import { EMPTY_SIZE, sizeWith } from "./compaction/estimate-tokens.ts";
import { applyMeasure, measuresFor } from "./compaction/measures.ts";
import { resetText } from "./entries.ts";
import { type SkippedLine, walkBack } from "./walk-back.ts";

interface HistoryContext {
  readonly messages: readonly ModelMessage[];
  readonly size: ContextSize;
  readonly skipped: readonly SkippedLine[];
}

/**
 * Reads the path of the current session, oldest first. Reads backwards and stops at the last boundary, so that the cost
 * depends on the kept part, not on the length of the history.
 */
export async function readPath(
  store: StoreReader,
  agentId: AgentId,
  leaf: EntryId,
): Promise<{ path: readonly Entry[]; skipped: HistoryContext["skipped"] }> {
  const path: Entry[] = [];
  const skipped: SkippedLine[] = [];
  let keptFrom: EntryId | undefined;
  for await (const entry of walkBack(store, agentId, leaf, skipped)) {
    path.push(entry);
    if (entry.type === "start" || entry.type === "reset" || entry.id === keptFrom) break;
    // Only the last compaction counts: reading ends at the first entry it kept.
    if (entry.type === "compaction" && keptFrom === undefined) keptFrom = entry.firstKeptEntryId;
  }
  return { path: path.reverse(), skipped: skipped.reverse() };
}

/** Expands history into messages. Their pairs are repaired when they are sent: the result of a call may still come. */
export async function buildHistoryContext(
  store: StoreReader,
  agentId: AgentId,
  leaf: EntryId,
): Promise<HistoryContext> {
  const { path, skipped } = await readPath(store, agentId, leaf);
  const { messages, size } = contextOf(agentId, path);
  return { messages, size, skipped };
}

/** The messages of a path, and how large they are. Pure. */
export function contextOf(agentId: AgentId, path: readonly Entry[]): { messages: ModelMessage[]; size: ContextSize } {
  const last = path.findLastIndex((entry) => entry.type === "compaction");
  const compaction = path[last];
  const messages: ModelMessage[] = [];
  let size = EMPTY_SIZE;
  if (compaction?.type === "compaction") {
    messages.push(...compactedMessages(agentId, path.slice(0, last), compaction));
    size = sizeWith(EMPTY_SIZE, compaction, messages);
  }
  for (const entry of path.slice(last + 1)) {
    const added = modelMessage(agentId, entry);
    size = sizeWith(size, entry, added);
    messages.push(...added);
  }
  return { messages, size };
}

/** The summary, then the kept messages with the recorded measures applied. */
export function compactedMessages(
  agentId: AgentId,
  before: readonly Entry[],
  compaction: Pick<CompactionEntry, "summary" | "firstKeptEntryId" | "details">,
): readonly ModelMessage[] {
  const first = before.findIndex((entry) => entry.type !== "session" && entry.id === compaction.firstKeptEntryId);
  const kept = first === -1 ? [] : before.slice(first);
  const measures = measuresFor(kept, compactionDetails(compaction).measures ?? []);
  return [
    { role: "user", content: [{ type: "text", text: summaryText(compaction.summary) }] },
    ...kept.flatMap((entry, index) =>
      modelMessage(agentId, entry).map((message) => measures(index).reduce(applyMeasure, message)),
    ),
  ];
}

const summaryText = (summary: string): string =>
  `The conversation history before this point was compacted into the following summary:\n\n<summary>\n${summary}\n</summary>`;

/** What one entry adds to the context: nothing, or one message. */
export function modelMessage(agentId: AgentId, entry: Entry): ModelMessage[] {
  switch (entry.type) {
    case "message": {
      const { role, content, toolCallId, toolName, isError, api, provider, model, stopReason, timestamp } = entry;
      if (role === "user") return [{ role, content, timestamp }];
      if (role === "tool") return [{ role, content, toolCallId, toolName, isError, timestamp }];
      // An assistant that failed or was cut off before it said anything adds nothing.
      return content.length === 0 ? [] : [{ role, content, api, provider, model, stopReason, timestamp }];
    }
    case "custom_message":
      return [{ role: "user", content: entry.content }];
    case "reset":
      return entry.message
        ? [{ role: "user", content: [{ type: "text", text: resetText(agentId, entry.message) }] }]
        : [];
    case "branch_summary": {
      const text = `The following is a summary of a branch that this conversation came back from:\n\n<summary>\n${entry.summary}</summary>`;
      return entry.summary === "" ? [] : [{ role: "user", content: [{ type: "text", text }] }];
    }
    default:
      return [];
  }
}

const NO_RESULT = "No result was recorded for this call.";

/**
 * Keeps a context acceptable to every provider: each tool call is followed at once by its one result. History is not
 * changed. Runs give every call its result; this is a safeguard. Returns the same array if nothing needs repair.
 */
export function repairPairs(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  if (isPaired(messages)) return messages;
  const repaired: ModelMessage[] = [];
  const used = new Set<ModelMessage>();
  messages.forEach((message, place) => {
    if (message.role === "tool") return;
    repaired.push(message);
    for (const call of callsOf(message)) {
      const result = resultOf(call.id, messages, place, used);
      if (result) used.add(result);
      repaired.push(result ?? missing(call));
    }
  });
  return repaired;
}

/** The first result of this id behind the call and before a later turn uses the id again. */
function resultOf(id: string, messages: readonly ModelMessage[], place: number, used: ReadonlySet<ModelMessage>) {
  for (const message of messages.slice(place + 1)) {
    if (message.role === "tool" && message.toolCallId === id && !used.has(message)) return message;
    if (callsOf(message).some((call) => call.id === id)) return undefined;
  }
  return undefined;
}

const callsOf = (message: ModelMessage) =>
  message.role === "assistant" ? message.content.filter((block) => block.type === "toolCall") : [];

/** Visits every message once and allocates nothing for those without calls: it runs before each model call. */
function isPaired(messages: readonly ModelMessage[]): boolean {
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      const place = open.indexOf(message.toolCallId ?? "");
      if (place === -1) return false;
      open.splice(place, 1);
      continue;
    }
    if (open.length > 0) return false;
    if (message.role === "assistant" && message.content.some(isCall)) open = callsOf(message).map((call) => call.id);
  }
  return open.length === 0;
}

const isCall = (block: ModelMessage["content"][number]): boolean => block.type === "toolCall";

const missing = (call: { id: string; name: string }): ModelMessage => ({
  role: "tool",
  content: [{ type: "text", text: NO_RESULT }],
  toolCallId: call.id,
  toolName: call.name,
  isError: true,
});

/**
 * What entered the last turn of a conversation: the parts of its prompt with their sizes, what did not fit, and what it looked up in
 * memory and skills. Nothing is left out silently: a text that was cut is listed with what is missing.
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { Lookup, TurnMemory, TurnPart } from "../../core/agent/turn-memory.ts";
import { readEntry } from "../../core/history/entry.ts";
import type { StoreReader } from "../../core/store/store.ts";
import { CHARS_PER_TOKEN } from "./compaction/estimate-tokens.ts";

const LOOKUPS: readonly string[] = ["memory_search", "memory_get", "skill"];
/** Of one run. */
const MAX_LINES = 400;

/** Undefined before the first turn of a session. */
export async function turnMemory(
  store: Pick<StoreReader, "linesBack">,
  { id, state }: Pick<AgentRecord, "id" | "state">,
): Promise<TurnMemory | undefined> {
  const report = state.systemPromptReport;
  if (!report) return undefined;
  const parts = report.parts.map(({ name, source, chars, cutFrom, limit, untrusted }): TurnPart => {
    const missing = cutFrom === undefined ? undefined : Math.max(1, cutFrom - Math.min(chars, limit ?? chars));
    return { part: name, source, characters: chars, tokens: tokensOf(chars), limit, missing, untrusted };
  });
  const characters = report.chars;
  return { characters, tokens: tokensOf(characters), parts, absent: report.missing, ...(await lookedUp(store, id)) };
}

const tokensOf = (characters: number): number => Math.ceil(characters / CHARS_PER_TOKEN);

async function lookedUp(
  store: Pick<StoreReader, "linesBack">,
  id: AgentRecord["id"],
): Promise<Pick<TurnMemory, "runId" | "lookups">> {
  const lookups: Lookup[] = [];
  let runId: string | undefined;
  for (const { line } of await store.linesBack(id, { limit: MAX_LINES })) {
    const read = readEntry(line);
    if (read.kind !== "entry" || read.entry.type !== "message" || read.entry.runId === undefined) continue;
    runId ??= read.entry.runId;
    if (read.entry.runId !== runId) break;
    const { role, toolName = "", content, untrusted } = read.entry;
    if (role !== "tool" || !LOOKUPS.includes(toolName)) continue;
    const characters = content.reduce((sum, block) => sum + (block.type === "text" ? block.text.length : 0), 0);
    lookups.unshift({ tool: toolName, characters, untrusted: untrusted && true });
  }
  return { runId, lookups };
}

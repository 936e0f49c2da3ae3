/**
 * Finds a text in an agent's session, as its person or the agent itself wrote it there. A quote of such a text adds no new words to the
 * session. In a session with the mark of untrusted text nothing counts (M32).
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import { readEntry } from "../../core/history/entry.ts";
import type { StoreReader } from "../../core/store/store.ts";
import { isMarked } from "../people/untrusted.ts";
import { entryText } from "./entries.ts";

/** Only the end of a longer session is read. */
const MAX_LINES = 400;

/** The channel shows neither markup nor line breaks as they were written. */
const lettersOf = (text: string): string => text.replaceAll(/[^\p{L}\p{N}]+/gu, "");

export async function hasSaid(
  store: Pick<StoreReader, "linesBack">,
  { id, state }: Pick<AgentRecord, "id" | "state">,
  text: string,
): Promise<boolean> {
  const wanted = lettersOf(text);
  if (wanted === "" || isMarked(state)) return false;
  for (const { line } of await store.linesBack(id, { limit: MAX_LINES })) {
    const read = readEntry(line);
    if (read.kind !== "entry") continue;
    const { entry } = read;
    if (entry.type === "start" || entry.type === "reset") return false;
    if (entry.type !== "message" || entry.role === "tool") continue;
    if (lettersOf(entryText(entry)).includes(wanted)) return true;
  }
  return false;
}

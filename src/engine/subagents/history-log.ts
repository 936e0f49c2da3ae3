/** The newest entries of a history as text, oldest first: the role and its text, tools by their names. */
import { shortened } from "../../core/cut-text.ts";
import type { AgentId } from "../../core/ids.ts";
import type { StoreReader } from "../../core/store/store.ts";

const MAX_LENGTH = 500;

interface Said {
  readonly role?: string;
  readonly toolName?: string;
  readonly content?: readonly { readonly type: string; readonly text?: string; readonly name?: string }[];
}

export async function historyLog(
  store: Pick<StoreReader, "linesBack">,
  agentId: AgentId,
  limit: number,
): Promise<string> {
  return logOf((await store.linesBack(agentId, { limit })).map(({ line }) => entryOf(line)));
}

/** Entries, newest first. One that could not be read is left out. */
export function logOf(entries: readonly (object | undefined)[]): string {
  const lines = entries.toReversed().flatMap((entry) => lineOf(entry as Said | undefined));
  return lines.length === 0 ? "Nothing was said yet." : lines.join("\n");
}

function entryOf(line: string): object | undefined {
  try {
    return JSON.parse(line) as object;
  } catch {
    return undefined;
  }
}

function lineOf(entry: Said | undefined): readonly string[] {
  if (!entry?.role) return [];
  const who = entry.role === "tool" ? `tool ${entry.toolName ?? ""}`.trim() : entry.role;
  const text = (entry.content ?? [])
    .map((block) => (block.type === "toolCall" ? `[calls ${block.name ?? "a tool"}]` : (block.text ?? "")))
    .join(" ")
    .trim();
  return [`${who}: ${shortened(text, MAX_LENGTH)}`];
}

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
  const lines = (await store.linesBack(agentId, { limit })).toReversed().flatMap(({ line }) => lineOf(line));
  return lines.length === 0 ? "Nothing was said yet." : lines.join("\n");
}

function lineOf(line: string): readonly string[] {
  let entry: Said;
  try {
    entry = JSON.parse(line) as Said;
  } catch {
    return [];
  }
  if (!entry.role) return [];
  const who = entry.role === "tool" ? `tool ${entry.toolName ?? ""}`.trim() : entry.role;
  const text = (entry.content ?? [])
    .map((block) => (block.type === "toolCall" ? `[calls ${block.name ?? "a tool"}]` : (block.text ?? "")))
    .join(" ")
    .trim();
  return [`${who}: ${shortened(text, MAX_LENGTH)}`];
}

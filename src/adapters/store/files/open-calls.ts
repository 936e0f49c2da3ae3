/** The tool calls at the tip of a history that have no result yet, so that an ending run can give them one (M9). */
import { readEntry, type ToolCallBlock } from "../../../core/history/entry.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { Database } from "../sqlite/database.ts";

const LINES_PER_READ = 100;

export function openCalls(db: Database, agentId: AgentId, leaf: string): readonly ToolCallBlock[] {
  const answered = new Set<string>();
  let wanted: string | null = leaf;
  for (const line of linesBack(db, agentId)) {
    const read = readEntry(line);
    if (read.kind === "broken") continue;
    const { id, parentId } = read.kind === "entry" ? (read.entry as { id: string; parentId?: string | null }) : read;
    if (id === undefined || id !== wanted) continue;
    wanted = parentId ?? null;
    if (read.kind === "entry" && read.entry.type === "message") {
      const { role, content, toolCallId } = read.entry;
      if (role === "tool" && toolCallId !== undefined) answered.add(toolCallId);
      if (role === "assistant") {
        return content.filter((block) => block.type === "toolCall").filter((call) => !answered.has(call.id));
      }
      if (role === "user") return [];
    }
    if (wanted === null) return [];
  }
  return [];
}

function* linesBack(db: Database, agentId: AgentId): Generator<string> {
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const rows = db.statement("select-lines-back").all(agentId, before, LINES_PER_READ);
    for (const row of rows) yield row.line as string;
    const last = rows.at(-1);
    if (!last || rows.length < LINES_PER_READ) return;
    before = last.pos as number;
  }
}

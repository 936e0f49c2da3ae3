/** The last text of an agent in its history: what can be reported of a child that did not finish. */
import type { AgentId } from "../../core/ids.ts";
import type { StoreReader } from "../../core/store/store.ts";

const LINES = 50;

/** Reads the newest lines only; undefined if they contain no text of the agent. */
export async function lastReply(store: Pick<StoreReader, "linesBack">, agentId: AgentId): Promise<string | undefined> {
  for (const { line } of await store.linesBack(agentId, { limit: LINES })) {
    const text = assistantText(line);
    if (text !== "") return text;
  }
  return undefined;
}

function assistantText(line: string): string {
  if (!line.includes('"assistant"')) return "";
  try {
    const { role, content } = JSON.parse(line) as {
      role?: string;
      content?: readonly { type: string; text?: string }[];
    };
    if (role !== "assistant") return "";
    return (content ?? [])
      .flatMap((block) => (block.type === "text" ? [block.text] : []))
      .join("")
      .trim();
  } catch {
    // An unreadable line is skipped.
    return "";
  }
}

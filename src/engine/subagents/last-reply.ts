/** The last thing an agent said, as its history has it: what there is to report of a child that did not come to its end. */
import type { AgentId } from "../../core/ids.ts";
import type { StoreReader } from "../../core/store/store.ts";

const LINES = 50;

/** Looks at the newest lines only; undefined where nothing was said in them. */
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
      .flatMap((block) => (block.type === "text" ? [block.text ?? ""] : []))
      .join("")
      .trim();
  } catch {
    // A line that cannot be read is skipped here as everywhere.
    return "";
  }
}

/** A conversation as Markdown: the current branch, oldest first. */
import type { EngineApi } from "../../client/engine-api.ts";
import { type Block, blocksOf } from "./blocks.ts";
import { type PlacedEntry, readNewest, readOlder } from "./read-history.ts";

const MAX_ENTRIES = 20_000;

export async function exportMarkdown(api: EngineApi, agent: string): Promise<string> {
  let part = await readNewest(api, agent);
  let entries: PlacedEntry[] = [...part.entries];
  while (part.older && entries.length < MAX_ENTRIES) {
    part = { ...part, ...(await readOlder(api, agent, part.older)) };
    entries = [...part.entries, ...entries];
  }
  const texts = entries.flatMap(({ entry }) => blocksOf(entry)).map(textOf);
  return `${texts.filter((text) => text !== "").join("\n\n")}\n`;
}

function textOf(block: Block): string {
  switch (block.kind) {
    case "user":
      return `**You**\n\n${block.text}`;
    case "answer":
    case "notice":
      return block.pieces
        .map((piece) => (piece.kind === "code" ? `\`\`\`${piece.language}\n${piece.text}\n\`\`\`` : piece.text))
        .join("\n\n");
    case "tool":
      return `*used ${block.name}*`;
    case "event":
      return `> ${block.title}`;
    case "marker":
      return `---\n*${block.text}*`;
    case "thinking":
      return "";
    default:
      return block satisfies never;
  }
}

/**
 * Gives every tool call of a run its own id. A provider may use one again, in a later turn or twice in one answer, but intents,
 * results and effects are known by run and call (L4, M12). Its id is kept where it is unique in the run and in the context.
 */
import type { Block } from "../../core/history/entry.ts";
import type { Ports } from "../../core/ports/ports.ts";
import { walkBack } from "../context/walk-back.ts";
import type { AgentLease } from "../runtime/agent-lease.ts";
import type { LiveRun } from "../runtime/live-run.ts";

/** A longer id is replaced: it goes into keys, rows and file names. */
const MAX_ID_CHARS = 1_000;
/** The part of a replaced id that is kept; the whole stays within 40 characters, which every provider accepts. */
const STEM_CHARS = 16;

/** The content with unique ids, which are added to `used`. `position`: where the answer will stand in history. */
export function uniqueCalls(content: readonly Block[], used: Set<string>, position: number): readonly Block[] {
  let changed = false;
  const unique = content.map((block, index): Block => {
    if (block.type !== "toolCall") return block;
    const { id } = block;
    const isUsable = id !== "" && id.length <= MAX_ID_CHARS && !used.has(id);
    const own = isUsable ? id : freshId(id, used, `${position}-${index}`);
    used.add(own);
    if (own === id) return block;
    changed = true;
    return { ...block, id: own };
  });
  return changed ? unique : content;
}

/** The place in history and in the answer is unique. Only a provider that guesses it makes a second try necessary. */
function freshId(id: string, used: ReadonlySet<string>, place: string): string {
  const stem = id.slice(0, STEM_CHARS).replace(/[^\w-]/gu, "_") || "call";
  for (let tries = 0; ; tries++) {
    const own = tries === 0 ? `${stem}-${place}` : `${stem}-${place}-${tries}`;
    if (!used.has(own)) return own;
  }
}

/** The ids that a run must not use again: those in its context and all of its own. Read once; after a restart from history. */
export async function usedCallIds(
  { store }: Pick<Ports, "store">,
  lease: AgentLease,
  run: LiveRun,
): Promise<Set<string>> {
  if (run.callIds) return run.callIds;
  const used = new Set<string>();
  for (const { content } of await lease.messages()) addIds(content, used);
  // A compaction may have taken earlier turns of the run out of the context.
  let turns = run.body.iterations;
  if (turns > 0) {
    for await (const entry of walkBack(store, lease.agentId, lease.leaf)) {
      if (entry.type === "start" || entry.type === "reset") break;
      if (entry.type !== "message" || entry.role !== "assistant" || entry.runId !== run.id) continue;
      addIds(entry.content, used);
      turns -= 1;
      if (turns === 0) break;
    }
  }
  run.callIds = used;
  return used;
}

function addIds(content: readonly Block[], ids: Set<string>): void {
  for (const block of content) if (block.type === "toolCall") ids.add(block.id);
}

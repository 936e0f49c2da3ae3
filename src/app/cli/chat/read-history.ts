/**
 * Reads the history of a conversation back from its leaf: the branch that is current, page by page. An entry of another branch
 * is skipped.
 */
import { type EngineApi, pathOf } from "../../client/engine-api.ts";
import type { RawEntry } from "./blocks.ts";

export interface PlacedEntry {
  readonly position: number;
  readonly entry: RawEntry;
}

/** Where the next older page begins. */
export interface Older {
  readonly before: number;
  /** The entry that comes next on this branch; undefined: any. */
  readonly wanted: string | undefined;
}

interface HistoryPart {
  /** Oldest first. */
  readonly entries: readonly PlacedEntry[];
  readonly older: Older | undefined;
}

interface Newest extends HistoryPart {
  /** The last position: the stream continues behind it. */
  readonly position: number;
  readonly leaf: string | undefined;
}

interface Page {
  readonly items: readonly { readonly position: number; readonly entry?: RawEntry }[];
  readonly next: number | null;
}

const PAGE = 120;

/** The newest part. What is written while it is read comes with the stream. */
export async function readNewest(api: EngineApi, agent: string): Promise<Newest> {
  const { leaf, nextPos } = await api.get<{ leaf?: string | null; nextPos: number }>(pathOf("api", "agents", agent));
  const part = await readOlder(api, agent, { before: nextPos, wanted: leaf ?? undefined });
  return { ...part, position: nextPos - 1, leaf: leaf ?? undefined };
}

export async function readOlder(api: EngineApi, agent: string, { before, wanted }: Older): Promise<HistoryPart> {
  const page = await api.get<Page>(pathOf("api", "agents", agent, "history"), { limit: PAGE, before });
  const taken: PlacedEntry[] = [];
  let next = wanted;
  for (const { position, entry } of page.items) {
    if (!entry || (next !== undefined && entry.id !== next)) continue;
    taken.push({ position, entry });
    next = entry.parentId ?? undefined;
  }
  const older = page.next === null ? undefined : { before: page.next, wanted: next };
  return { entries: taken.reverse(), older };
}

/** The tree that the entries of a file form: the path from a tip to the root, and the problems of the tree. */
import type { EntryId } from "../../../core/ids.ts";

export interface Reported {
  readonly line: number;
  readonly reason: string;
}

/** An entry's place in the tree. */
interface Placed {
  readonly line: number;
  readonly id: EntryId;
  readonly parentId: EntryId | null;
}

/** From the root to the tip. Stops at a missing parent and at one that is on the path already, so it always ends. */
export function pathTo<Node extends Placed>(entries: readonly Node[], leaf: EntryId | null): readonly Node[] {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const path: Node[] = [];
  const seen = new Set<EntryId>();
  for (let at = leaf; at !== null && !seen.has(at); ) {
    const entry = byId.get(at);
    if (!entry) break;
    seen.add(at);
    path.push(entry);
    at = entry.parentId;
  }
  return path.reverse();
}

/** Missing parents and circles, each reported once, with the first line it occurs on. */
export function treeProblems(entries: readonly Placed[]): readonly Reported[] {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const settled = new Set<EntryId>();
  const problems: Reported[] = [];
  for (const start of entries) {
    const onTheWay = new Set<EntryId>();
    let at: Placed | undefined = start;
    while (at && !settled.has(at.id)) {
      if (onTheWay.has(at.id)) {
        problems.push({ line: at.line, reason: "its parents lead back to itself" });
        break;
      }
      onTheWay.add(at.id);
      const { parentId, line }: Placed = at;
      at = parentId === null ? undefined : byId.get(parentId);
      if (parentId !== null && !at) problems.push({ line, reason: `its parent ${parentId} is missing` });
    }
    for (const id of onTheWay) settled.add(id);
  }
  return problems.sort((a, b) => a.line - b.line);
}

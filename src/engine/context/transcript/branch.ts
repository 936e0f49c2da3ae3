/**
 * Going back to an entry and continuing from there. Nothing is deleted: the branch that is left stays in history, and the
 * new branch begins with its summary, if there is one.
 */

import { NotFoundError } from "../../../core/errors.ts";
import { type Entry, entryLine } from "../../../core/history/entry.ts";
import { type EntryId, entryId, type Ids } from "../../../core/ids.ts";
import type { Op } from "../../../core/store/change.ts";

interface Branching {
  /** The entries of the current session, its marker first. */
  readonly entries: readonly Entry[];
  readonly nextPos: number;
  /** The tip that is left. */
  readonly leaf: EntryId;
  readonly at: number;
}

export interface Branched {
  /** For a commit of the agent's owner, which reads the context again afterwards. Empty if the tip is there already. */
  readonly ops: readonly Op[];
  readonly leaf: EntryId;
}

/** Throws `NotFoundError` if the entry is not of the current session: going back does not undo a reset. */
export function branchFrom(ids: Pick<Ids, "uuid">, from: Branching, target: EntryId, summary = ""): Branched {
  const isThere = from.entries.some((entry) => entry.type !== "session" && entry.id === target);
  if (!isThere) {
    throw new NotFoundError(`The entry ${target} is not part of the current session.`, {
      hint: "You can only go back to an entry since the last start or reset.",
    });
  }
  if (summary === "") {
    return { leaf: target, ops: target === from.leaf ? [] : [{ op: "leaf.move", leaf: target }] };
  }
  const leaf = entryId(from.nextPos, ids.uuid());
  const entry: Entry = {
    ...{ type: "branch_summary", id: leaf, parentId: target },
    ...{ summary, fromId: from.leaf, timestamp: from.at },
  } as const;
  const lines = [entryLine(entry)];
  return { leaf, ops: [{ op: "entries.append", position: from.nextPos, lines, leaf }] };
}

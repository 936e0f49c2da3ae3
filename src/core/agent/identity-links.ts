/** Which ids belong to one person: a canonical name and its ids, each `id` or `channel:id`. */

import { foldedId as folded } from "../same-id.ts";

export type IdentityLinks = Readonly<Record<string, readonly string[]>>;

/**
 * The canonical name of a peer: the first one whose list contains it; undefined if no link names it. Blank names and values
 * that are not lists are skipped, because links may come from an unchecked file.
 */
export function linkedName(links: IdentityLinks | undefined, channel: string, peerId: string): string | undefined {
  const peer = folded(peerId);
  if (!links || peer === "") return undefined;
  const candidates = [peer, `${folded(channel)}:${peer}`];
  for (const [name, ids] of Object.entries(links)) {
    if (name.trim() === "" || !Array.isArray(ids)) continue;
    if (ids.some((id: unknown) => typeof id === "string" && candidates.includes(folded(id)))) return name.trim();
  }
  return undefined;
}

/** Whether a name is a canonical name. A stranger with the same name must not be taken for that person. */
export const isCanonicalName = (links: IdentityLinks | undefined, name: string): boolean =>
  links !== undefined && Object.keys(links).some((known) => folded(known) === folded(name));

/** Which ids are one person: a canonical name, and the ids it is known by, each `id` or `channel:id`. */

export type IdentityLinks = Readonly<Record<string, readonly string[]>>;

const folded = (text: string): string => text.trim().toLowerCase();

/**
 * The canonical name of a peer, the first in the order written whose list has the peer; undefined where no link names it.
 * Blank names and values that are no lists are passed over: links may come from a file nobody has checked.
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

/** Whether a name is somebody's canonical name; a stranger who is called so must not be taken for them. */
export const isCanonicalName = (links: IdentityLinks | undefined, name: string): boolean =>
  links !== undefined && Object.keys(links).some((known) => folded(known) === folded(name));

/**
 * Files that decide what agents do change only through a reviewed change. What a command or an MCP server puts in their place is moved
 * to a name with the ending `.proposed`, so that it waits for a review.
 */
import { lstatSync, type Stats } from "node:fs";
import { rename, rm } from "node:fs/promises";

export const ASIDE = ".proposed";
/** A writer that does it again and again fills no disk: its latest try replaces the one before. */
const MOST_NAMES = 9;

/** Differs if these are other paths, or if one of these files was made, removed or replaced. */
export const identitiesOf = (paths: readonly string[]): string =>
  paths.map((path) => `${path} ${statsOf(path)?.ino}`).join("\n");

/** Moves away what is at this path, also a link. Throws if it cannot be moved. */
export async function setAside(path: string): Promise<void> {
  const names = Array.from({ length: MOST_NAMES }, (_, n) => `${path}${ASIDE}${n === 0 ? "" : `-${n + 1}`}`);
  const free = names.find((name) => !statsOf(name));
  const name = free ?? `${path}${ASIDE}-${MOST_NAMES}`;
  if (free === undefined) await rm(name, { recursive: true, force: true });
  await rename(path, name);
}

/** What the model reads about them. */
export const asideNote = (paths: readonly string[]): string =>
  `${paths.map((path) => path.slice(path.lastIndexOf("/") + 1)).join(", ")}: only a reviewed change makes such a file, so it was set aside with the ending ${ASIDE}; use write to propose it`;

function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

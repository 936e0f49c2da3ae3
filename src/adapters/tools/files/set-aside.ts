/**
 * Files that decide what agents do change only through a reviewed change. Those that exist are read-only for commands and MCP servers;
 * what they make under such a name is moved away, so that it waits for a review.
 */
import { existsSync, lstatSync } from "node:fs";
import { rename } from "node:fs/promises";

export const ASIDE = ".proposed";

/** Paths that hold nothing, and paths that hold a link: a prompt is never read through one. */
export interface Unmade {
  readonly absent: readonly string[];
  readonly linked: readonly string[];
}

export function unmadeOf(paths: readonly string[]): Unmade {
  const of = (kind: Kind): readonly string[] => paths.filter((path) => kindOf(path) === kind);
  return { absent: of("nothing"), linked: of("link") };
}

/** Differs if one of these files was made, removed or replaced. */
export const identitiesOf = (paths: readonly string[]): string =>
  paths
    .filter((path) => kindOf(path) !== "nothing")
    .map((path) => `${path} ${lstatSync(path, { throwIfNoEntry: false })?.ino}`)
    .join("\n");

/** Moves away what was made at these paths, also a link. Returns the paths that were moved. */
export async function setAside({ absent = [], linked = [] }: Partial<Unmade>): Promise<readonly string[]> {
  const made = [
    ...absent.filter((path) => kindOf(path) !== "nothing"),
    ...linked.filter((path) => kindOf(path) === "own"),
  ];
  const aside: string[] = [];
  for (const path of made) if (await moved(path)) aside.push(path);
  return aside;
}

/** What the model reads about them. */
export const asideNote = (paths: readonly string[]): string =>
  `${paths.map((path) => path.slice(path.lastIndexOf("/") + 1)).join(", ")}: only a reviewed change makes such a file, so it was set aside with the ending ${ASIDE}; use write to propose it`;

type Kind = "nothing" | "link" | "own";

function kindOf(path: string): Kind {
  try {
    return lstatSync(path).isSymbolicLink() ? "link" : "own";
  } catch {
    return "nothing";
  }
}

const moved = (path: string): Promise<boolean> =>
  rename(path, freeName(path)).then(
    () => true,
    () => false,
  );

function freeName(path: string): string {
  for (let n = 1; ; n++) {
    const name = n === 1 ? `${path}${ASIDE}` : `${path}${ASIDE}-${n}`;
    if (!existsSync(name)) return name;
  }
}

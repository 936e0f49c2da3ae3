/** The files that make git run programs and that a command or a server has made in its directories while it runs. */
import { sep } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { hasOnlySamples, repositoryFiles } from "../tools/files/repository-files.ts";
import { realOf, statsAt, type WriterLease } from "./writer-lease.ts";

/** Files that are compared before the process does its other work. */
const PORTION = 50;

export const isIn = (root: string, path: string): boolean => path === root || path.startsWith(`${root}${sep}`);

/** All such files in the directories of a writer, if it must make none. */
export const repositoryFilesOf = async ({
  repositories,
  writable,
}: Pick<WriterLease, "repositories" | "writable">): Promise<readonly string[]> =>
  repositories ? repositoryFiles(outermost(writable)) : [];

/** Those of these files that exist and are not in its lease. */
export async function madeBy(
  { entries }: Pick<WriterLease, "entries">,
  files: readonly string[],
): Promise<readonly string[]> {
  const known = new Set(entries.flatMap(({ path, real }) => [path, real]));
  const made: string[] = [];
  for (const [index, path] of files.entries()) {
    if (index % PORTION === 0) await nextTurn();
    const now = known.has(path) || known.has(realOf(path)) ? undefined : statsAt(path);
    if (now && !(now.isDirectory() && (await hasOnlySamples(path)))) made.push(path);
  }
  return made;
}

/** Without directories in other ones, each by its real path. */
function outermost(paths: readonly string[]): readonly string[] {
  const real = [...new Set(paths.map(realOf))];
  return real.filter((path) => !real.some((other) => other !== path && isIn(other, path)));
}

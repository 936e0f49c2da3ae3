/**
 * Which commands may change what makes git run programs: only git itself, in a conversation in which someone waits and no text of others
 * is in context. For all others it is read-only, and new repositories are set aside.
 */
import { dirname, sep } from "node:path";
import type { ToolContext } from "../../../core/ports/tool.ts";
import { splitShellLine } from "../../../core/rights/shell-line.ts";
import { freeze } from "../../sandbox/freeze.ts";
import type { SandboxPolicy } from "../../sandbox/sandbox.ts";
import { writesMarked } from "../files/file-marks.ts";
import { findRepositories, isIn } from "../files/repository-files.ts";
import type { NamedCommand } from "./command-effects.ts";
import { onlyReadsWithGit } from "./git-commands.ts";

/** `cd` changes nothing, and `rm` removes a repository, which makes git run nothing. */
const PROGRAMS: readonly string[] = ["cd", "git", "/usr/bin/git", "rm", "/bin/rm", "/usr/bin/rm"];

export function mayWriteRepositories(
  { command, background = false }: Pick<NamedCommand, "command"> & { readonly background?: boolean },
  context: Pick<ToolContext, "behalf" | "agent" | "headless">,
): boolean {
  if (background || context.headless === true || writesMarked(context)) return false;
  if (onlyReadsWithGit(command)) return false;
  const split = typeof command === "string" ? splitShellLine(command) : { parts: [command], redirects: [] };
  return (
    !("unparsed" in split) &&
    split.redirects.length === 0 &&
    split.parts.every(([program = ""]) => PROGRAMS.includes(program))
  );
}

type Guarded<Policy> = Policy & { readonly guardsRepositories: true; readonly unsearched: readonly string[] };

/** More are mounted as the directories around them. */
const MAX_UNSEARCHED = 200;

/**
 * The policy with the files of every repository that it can write. Directories at which the search stopped after `limit` are read-only,
 * in `unsearched`: nobody knows whether there is a repository below them.
 */
export async function guardRepositories<Policy extends Pick<SandboxPolicy, "writable" | "readable" | "frozen">>(
  policy: Policy,
  limit?: number,
): Promise<Guarded<Policy>> {
  const found = await findRepositories(policy.writable, limit);
  const { roots } = found;
  const unsearched = fewer(found.unsearched, roots);
  const isUnsearched = (path: string): boolean => unsearched.some((at) => isIn(at, path));
  const closed = roots.filter((root) => unsearched.includes(root));
  const open = [...new Set([...policy.writable, ...roots])].filter((path) => !isUnsearched(path));
  const files = [...found.files.filter((path) => !isUnsearched(path)), ...unsearched];
  const { writable, frozen } = freeze(open, files);
  return {
    ...policy,
    writable: files.length === 0 ? policy.writable : writable,
    readable: [...policy.readable, ...closed],
    frozen: [...new Set([...policy.frozen, ...frozen])],
    guardsRepositories: true,
    unsearched,
  };
}

/** Finds few directories that contain all of these. */
function fewer(paths: readonly string[], roots: readonly string[]): readonly string[] {
  let found = [...new Set(paths)];
  while (found.length > MAX_UNSEARCHED) {
    const depth = Math.max(...found.map((path) => path.split(sep).length));
    const up = (path: string): string =>
      path.split(sep).length === depth && !roots.includes(path) ? dirname(path) : path;
    const next = [...new Set(found.map(up))];
    if (next.every((path, at) => path === found[at])) return roots;
    found = next;
  }
  return found.filter((path) => !found.some((other) => other !== path && isIn(other, path)));
}

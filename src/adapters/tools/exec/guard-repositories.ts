/**
 * Which commands may change what makes git run programs: only git itself, in a conversation in which someone waits and no text of others
 * is in context. For all others it is read-only, and new repositories are set aside.
 */
import { realpath } from "node:fs/promises";
import type { ToolContext } from "../../../core/ports/tool.ts";
import { splitShellLine } from "../../../core/rights/shell-line.ts";
import { freeze } from "../../sandbox/freeze.ts";
import type { SandboxPolicy } from "../../sandbox/sandbox.ts";
import { writesMarked } from "../files/file-marks.ts";
import { repositoryFiles } from "../files/repository-files.ts";
import type { NamedCommand } from "./command-effects.ts";

/** `cd` changes nothing, and `rm` removes a repository, which makes git run nothing. */
const PROGRAMS: readonly string[] = ["cd", "git", "/usr/bin/git", "rm", "/bin/rm", "/usr/bin/rm"];

export function mayWriteRepositories(
  { command, background = false }: Pick<NamedCommand, "command"> & { readonly background?: boolean },
  context: Pick<ToolContext, "behalf" | "agent" | "headless">,
): boolean {
  if (background || context.headless === true || writesMarked(context)) return false;
  const split = typeof command === "string" ? splitShellLine(command) : { parts: [command], redirects: [] };
  return (
    !("unparsed" in split) &&
    split.redirects.length === 0 &&
    split.parts.every(([program = ""]) => PROGRAMS.includes(program))
  );
}

/** The policy with the files of every repository that it can write. */
export async function guardRepositories<Policy extends Pick<SandboxPolicy, "writable" | "frozen">>(
  policy: Policy,
): Promise<Policy> {
  const real = (await Promise.all(policy.writable.map(realPaths))).flat();
  const files = await repositoryFiles([...new Set(real)]);
  const { writable, frozen } = freeze([...new Set([...policy.writable, ...real])], files);
  const all = files.length === 0 ? policy.writable : writable;
  return { ...policy, writable: all, frozen: [...new Set([...policy.frozen, ...frozen])], guardsRepositories: true };
}

const realPaths = (path: string): Promise<readonly string[]> =>
  realpath(path).then(
    (found) => [found],
    () => [],
  );

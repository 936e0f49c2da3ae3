/** Reads what is written down about a person: MEMORY.md and the files of `memory/` in the person's own directory. */
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { ReadWorkspaceFile } from "../../engine/context/prompt/system-prompt.ts";
import { noGuard, type TrustedFiles } from "../tools/files/prompt-guard.ts";

const MAIN = "MEMORY.md";
const DIRECTORY = "memory";
/** A name inside the directory, never a path. */
const NAME = /^[\w][\w.-]{0,127}$/;
const MAX_NAMES = 500;

interface Memory {
  readonly name: string;
  readonly text: string;
  readonly names: readonly string[];
}

/** Undefined if there is no such file. `read`: of the same directory. */
export function readMemory(
  directory: string,
  name: string | undefined,
  read: ReadWorkspaceFile,
  guard: Pick<TrustedFiles, "names"> = noGuard,
): Memory | undefined {
  const path = join(directory, DIRECTORY);
  const names = (guard.names(path) ?? namesIn(path)).filter((one) => NAME.test(one)).slice(0, MAX_NAMES);
  const main = read(MAIN);
  const all = main === undefined ? names : [MAIN, ...names];
  if (name !== undefined) {
    const wanted = all.find(
      (one) => one.toLowerCase() === name.toLowerCase() || one.toLowerCase() === `${name.toLowerCase()}.md`,
    );
    if (wanted === undefined) return undefined;
    const text = wanted === MAIN ? main : read(`${DIRECTORY}/${wanted}`);
    return text === undefined ? undefined : { name: wanted, text, names: all };
  }
  if (main !== undefined) return { name: MAIN, text: main, names: all };
  const [first] = names;
  return first === undefined ? undefined : { name: DIRECTORY, text: "", names };
}

/** Plain files only; a link in its place could show everything. */
function namesIn(directory: string): readonly string[] {
  try {
    if (!lstatSync(directory).isDirectory()) return [];
    return readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
      .sort();
  } catch {
    return [];
  }
}

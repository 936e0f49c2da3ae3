/**
 * The files that a command names and may run: a yes covers their contents, so a script that has changed since is asked about again
 * (M43). Every word that could be a path counts. Files that a program finds in another way are not known.
 */
import { basename, resolve } from "node:path";
import type { Effect } from "../../core/rights/decide.ts";

/** A path as people read it, and the file it means. */
export interface NamedFile {
  readonly name: string;
  readonly path: string;
}

/** Programs that take what they run from a file of this name. */
const OWN_FILES: readonly { readonly program: RegExp; readonly files: readonly string[] }[] = [
  { program: /^(?:g|bsd)?make$/u, files: ["Makefile", "makefile", "GNUmakefile"] },
  { program: /^(?:npm|npx|pnpm|yarn|bun|bunx)$/u, files: ["package.json"] },
  { program: /^just$/u, files: ["justfile", "Justfile"] },
  { program: /^rake$/u, files: ["Rakefile"] },
  { program: /^cargo$/u, files: ["Cargo.toml", "build.rs"] },
  { program: /^(?:docker|docker-compose|podman)$/u, files: ["Dockerfile", "docker-compose.yml", "compose.yaml"] },
];

/** A longer word is not a path. */
const MAX_WORD = 4_096;

/** `directory`: where names without a directory are understood by people. */
export function filesOfCommands(effects: readonly Pick<Effect, "detail">[], directory: string): readonly NamedFile[] {
  const found = new Map<string, NamedFile>();
  const add = (cwd: string, word: string): void => {
    const path = resolve(cwd, word);
    if (!found.has(path)) found.set(path, { path, name: cwd === directory ? word : path });
  };
  for (const { detail } of effects) {
    if (detail?.kind === "path" && detail.access === "read") add("/", detail.path);
    if (detail?.kind !== "command" && detail?.kind !== "unparsed") continue;
    const words = detail.kind === "command" ? detail.argv : wordsOf(detail.line);
    for (const path of words.flatMap(pathsIn)) add(detail.cwd, path);
    for (const file of words.flatMap(ownFiles)) {
      // `make -C lib` reads lib/Makefile.
      for (const base of [".", ...words.flatMap(pathsIn)]) add(detail.cwd, `${base}/${file}`);
    }
  }
  return [...found.values()];
}

/** A line that could not be read: every piece between signs of the shell. */
const wordsOf = (line: string): readonly string[] => line.split(/[\s;&|<>(){}"'`$\\]+/u).filter((word) => word !== "");

/** The word, the value of `--file=x`, and the value of `-fx`. */
function pathsIn(word: string): readonly string[] {
  if (word === "" || word.length > MAX_WORD || word.includes("\0")) return [];
  const value = word.slice(word.indexOf("=") + 1);
  const joined = /^-[A-Za-z]/u.test(word) ? word.slice(2) : "";
  return [...new Set([word, value, joined])].filter((one) => one !== "");
}

const ownFiles = (word: string): readonly string[] =>
  OWN_FILES.flatMap(({ program, files }) => (program.test(basename(word)) ? files : []));

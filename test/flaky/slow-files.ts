/**
 * Which tests are repeated, the most suspicious first, in pieces that one run of Vitest takes. Tests without processes,
 * sockets and clocks (core, engine, the simulation) cannot depend on speed and are left out.
 */
import { type Dirent, readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";

/** In this order: pages and terminals wait for most, then processes, servers, and what only answers HTTP. */
const GROUPS: readonly { readonly under: string; readonly pieceSize: number; readonly only?: RegExp }[] = [
  { under: "test/e2e", pieceSize: 8 },
  { under: "test/web", pieceSize: 1 },
  { under: "test/postgres", pieceSize: 13 },
  { under: "test/crash", pieceSize: 1 },
  { under: "test/mcp", pieceSize: 7 },
  { under: "test/hostile", pieceSize: 1 },
  { under: "test/channels", pieceSize: 1 },
  { under: "test/contract", pieceSize: 6 },
  { under: "test/memory", pieceSize: 1 },
  {
    under: "src",
    pieceSize: 30,
    only: /node:child_process|node-pty|kit\/(process|terminal)|node:(http|net)"|fake-registry/u,
  },
  { under: "src/app", pieceSize: 60 },
  { under: "src/adapters", pieceSize: 60 },
];

/** Pieces of the tests to repeat, as paths from the root; only those under one of the paths, if any is given. */
export function slowPieces(root: string, paths: readonly string[]): readonly (readonly string[])[] {
  const taken = new Set<string>();
  return GROUPS.flatMap(({ under, pieceSize, only }) => {
    const files = testsUnder(root, join(root, under)).filter(
      (file) =>
        !taken.has(file) &&
        (only === undefined || only.test(readFileSync(join(root, file), "utf8"))) &&
        (paths.length === 0 || paths.some((path) => file.startsWith(path))),
    );
    for (const file of files) taken.add(file);
    return Array.from({ length: Math.ceil(files.length / pieceSize) }, (_, index) =>
      files.slice(index * pieceSize, (index + 1) * pieceSize),
    );
  });
}

function testsUnder(root: string, directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry: Dirent) => entry.isFile() && entry.name.endsWith(".test.ts"))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .sort();
}

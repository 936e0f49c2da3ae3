/** Reads the sources and the documentation of the project, by path (`src/core/ids.ts`) and text. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDERS = ["bench", "docs", "examples", "scripts", "skills", "src", "test", "web"];
/** `docs/api` is generated from comments, fixtures are data. */
const SKIPPED = /(?:^|\/)(?:node_modules|dist|fixtures)\/|^docs\/api\/|\.d\.ts$/;

export function readTree(root: string): ReadonlyMap<string, string> {
  const top = readdirSync(root).filter((name) => /\.(?:md|ts)$/.test(name));
  const below = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`),
  );
  const files = [...top, ...below].filter((name) => /\.(?:md|tsx?|mjs)$/.test(name) && !SKIPPED.test(name)).sort();
  return new Map(files.map((file) => [file, readFileSync(join(root, file), "utf8")]));
}

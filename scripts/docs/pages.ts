/** The pages of the documentation, by their path in the repository. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Page, readPage } from "./markdown.ts";

export const ROOT = join(import.meta.dirname, "../..");

export function readPages(): ReadonlyMap<string, Page> {
  const names = readdirSync(join(ROOT, "docs"), { encoding: "utf8", recursive: true });
  const paths = [
    "README.md",
    "AGENTS.md",
    "CONTRIBUTING.md",
    ...names.filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`),
  ];
  return new Map(paths.sort().map((path) => [path, readPage(readFileSync(join(ROOT, path), "utf8"))]));
}

/** The auditor shares no code with the program that it judges: all its imports, followed recursively, prove it. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** Every file the auditor runs, and the program's sources that these files import for more than types. */
function followImports(start: URL): { readonly files: readonly string[]; readonly fromProgram: readonly string[] } {
  const files = new Set<string>();
  const fromProgram: string[] = [];
  const queue = [start];
  for (let file = queue.pop(); file; file = queue.pop()) {
    if (files.has(file.href)) continue;
    files.add(file.href);
    const text = readFileSync(file, "utf8");
    for (const [, what = "", from = ""] of text.matchAll(/^import (.*?) from "(.*?)";$/gms)) {
      if (what.startsWith("type ")) continue;
      if (from.includes("/src/")) fromProgram.push(`${file.pathname} imports ${from}`);
      else if (from.startsWith(".")) queue.push(new URL(from, file));
    }
  }
  return { files: [...files], fromProgram };
}

test("the auditor imports only types from the program, directly or through another file", () => {
  const { files, fromProgram } = followImports(new URL("auditor.ts", import.meta.url));
  expect(fromProgram).toEqual([]);
  expect(files.length).toBeGreaterThan(8);
});

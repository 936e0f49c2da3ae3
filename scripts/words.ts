/**
 * `npm run tool -- words [--list] [PATH…]`: finds sentences that sound translated. Without `--list` it prints the number of hits per
 * folder, with `--list` each hit with file, line and what to write instead. `npm run check` keeps a budget per folder
 * (`scripts/budgets.ts`).
 */
import { join } from "node:path";
import { countByFolder, type Hit, inPaths } from "./budgets/hits.ts";
import { readTree } from "./read-tree.ts";
import { findSentences } from "./words/find-texts.ts";
import { brokenRules } from "./words/word-rules.ts";

/** One hit for each rule that a sentence of the file breaks. */
export function findWords(file: string, source: string): readonly Hit[] {
  return findSentences(file, source).flatMap((sentence) =>
    brokenRules(sentence).map(({ name, instead }) => ({
      kind: "words",
      file,
      line: sentence.line,
      text: `${name} (${instead}): ${sentence.text}`,
    })),
  );
}

if (import.meta.main) {
  const { isList, paths } = readArguments(process.argv.slice(2));
  const files = [...readTree(join(import.meta.dirname, ".."))].filter(([file]) => inPaths(file, paths));
  const hits = files.flatMap(([file, source]) => findWords(file, source));
  if (isList) for (const { file, line, text } of hits) console.log(`${file}:${line}: ${text}`);
  else for (const [key, count] of countByFolder(hits)) console.log(`${String(count).padStart(5)}  ${key}`);
  console.log(`${hits.length} hits in ${files.length} files`);
}

function readArguments(words: readonly string[]): { readonly isList: boolean; readonly paths: readonly string[] } {
  return { isList: words.includes("--list"), paths: words.filter((word) => word !== "--list") };
}

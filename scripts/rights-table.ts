/** `npm run tool -- rights`: compares the table in docs/rights.md with the rules. With `--write` it writes the table. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rightsTable } from "./rights/rights-table.ts";

const FILE = join(import.meta.dirname, "../docs/rights.md");
const BEGIN = "<!-- rights: written by npm run tool -- rights -->\n";
const END = "\n<!-- end of rights -->";

/** The page with the table of now. */
export function withTable(page: string): string {
  const from = page.indexOf(BEGIN) + BEGIN.length;
  const to = page.indexOf(END);
  return `${page.slice(0, from)}${rightsTable()}${page.slice(to)}`;
}

export const readPage = (): string => readFileSync(FILE, "utf8");

if (import.meta.main) {
  const page = readPage();
  const now = withTable(page);
  if (process.argv.includes("--write")) writeFileSync(FILE, now);
  else if (now !== page) {
    process.stderr.write("docs/rights.md differs from the rules; run npm run tool -- rights --write\n");
    process.exitCode = 1;
  }
}

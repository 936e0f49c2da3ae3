/**
 * `npm run tool -- walk`: prints the files that one message passes, in order, from the terminal and over HTTP. With `--write` it updates
 * the lists in docs/internals/message-path.md, with `--check` it fails if they differ.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Walk, walkHttp, walkTerminal } from "./walk/walk.ts";

const ROOT = join(import.meta.dirname, "..");
export const PAGE = "docs/internals/message-path.md";

export interface Walks {
  readonly terminal: Walk;
  readonly http: Walk;
}

/** The lists of the page, by name. */
export interface Lists {
  /** Every file that a message from the terminal passes. */
  readonly terminal: Walk;
  /** Files that only a message over HTTP passes. */
  readonly http: Walk;
  /** Files of the first list that a message over HTTP does not pass. */
  readonly "not-over-http": Walk;
}

/** Both at once: a walk mostly waits for its process. */
export async function walkMessages(): Promise<Walks> {
  const [terminal, http] = await Promise.all([walkTerminal(), walkHttp()]);
  return { terminal, http };
}

export const listsOf = ({ terminal, http }: Walks): Lists => ({
  terminal,
  http: http.filter((file) => !terminal.includes(file)),
  "not-over-http": terminal.filter((file) => !http.includes(file)),
});

/** Reads the lists that the page shows. */
export function readLists(page: string): Lists {
  const list = (name: keyof Lists): Walk =>
    [...(blockOf(page, name).text.matchAll(/`(src\/[^`]+)`/g) ?? [])].map(([, file = ""]) => file);
  return { terminal: list("terminal"), http: list("http"), "not-over-http": list("not-over-http") };
}

/** Returns the page with these lists. `aboutOf` returns the purpose of a file. */
export function writeLists(page: string, lists: Lists, aboutOf: (file: string) => string): string {
  const table = (files: Walk): string =>
    [
      "|  | file | what it is for |",
      "| --- | --- | --- |",
      ...files.map((file, at) => `| ${at + 1} | \`${file}\` | ${aboutOf(file)} |`),
    ].join("\n");
  const texts: Readonly<Record<keyof Lists, string>> = {
    terminal: table(lists.terminal),
    http: table(lists.http),
    "not-over-http": lists["not-over-http"].map((file) => `- \`${file}\``).join("\n"),
  };
  return (Object.keys(texts) as (keyof Lists)[]).reduce((text, name) => {
    const { start, end } = blockOf(text, name);
    return `${text.slice(0, start)}\n${texts[name]}\n${text.slice(end)}`;
  }, page);
}

function blockOf(page: string, name: string): { readonly start: number; readonly end: number; readonly text: string } {
  const [open, close] = [`<!-- ${name}: written by npm run tool -- walk -->`, `<!-- end of ${name} -->`];
  const [at, end] = [page.indexOf(open), page.indexOf(close)];
  if (at < 0 || end < at) throw new Error(`${PAGE} has no block "${open}" … "${close}".`);
  return { start: at + open.length, end, text: page.slice(at + open.length, end) };
}

/** The first sentence of the comment that opens a source. */
export function openingSentence(source: string): string {
  const comment = /^(?:#!.*\n)?\/\*\*?([\s\S]*?)\*\/|^\/\/(.*)/.exec(source);
  const text = (comment?.[1] ?? comment?.[2] ?? "")
    .replace(/^\s*\*/gm, "")
    .replace(/\s+/g, " ")
    .trim();
  const sentence = /^.*?[.!?](?=\s|$)/.exec(text)?.[0] ?? text;
  return sentence.replaceAll("|", "\\|");
}

/** One line for each file that only the page or only the walk has. The order of files that start together may vary. */
export const differences = (shown: Lists, walked: Lists): readonly string[] =>
  (Object.keys(walked) as (keyof Lists)[]).flatMap((name) => [
    ...walked[name].filter((file) => !shown[name].includes(file)).map((file) => `${name}: ${file} is missing`),
    ...shown[name].filter((file) => !walked[name].includes(file)).map((file) => `${name}: ${file} is not passed`),
  ]);

if (import.meta.main) {
  const lists = listsOf(await walkMessages());
  const path = join(ROOT, PAGE);
  if (process.argv.includes("--write")) {
    const aboutOf = (file: string): string => openingSentence(readFileSync(join(ROOT, file), "utf8"));
    writeFileSync(path, writeLists(readFileSync(path, "utf8"), lists, aboutOf));
  } else if (process.argv.includes("--check")) {
    const wrong = differences(readLists(readFileSync(path, "utf8")), lists);
    for (const line of wrong) console.error(line);
    if (wrong.length > 0) {
      console.error(`${PAGE} is not up to date: run \`npm run tool -- walk --write\`.`);
      process.exitCode = 1;
    }
  } else {
    for (const [name, files] of Object.entries<Walk>({ ...lists }))
      console.log(`${name}\n${files.map((file) => `  ${file}`).join("\n")}`);
  }
  console.log(
    `A message from the terminal passes ${lists.terminal.length} files. Over HTTP it passes ${lists.http.length} others and not ${lists["not-over-http"].length} of these.`,
  );
}

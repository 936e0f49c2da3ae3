/** Every command that a hint, an error or a page names exists with its action and its flags, and is written so that it works where it is printed. */
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { actionsOf } from "./choose-action.ts";
import { type Command, GLOBAL_OPTIONS, type Options } from "./command.ts";
import { here } from "./here.ts";
import { REGISTRY } from "./registry.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const COMMANDS = new Map<string, Command>(
  await Promise.all(Object.entries(REGISTRY).map(async ([name, { load }]) => [name, await load()] as const)),
);

interface Named {
  readonly file: string;
  /** The words after `rookery`. */
  readonly words: readonly string[];
}

/** In backticks; in a template text they are escaped. */
const NAMED = /\\?`(?:rookery|npm start --) ((?:[^`\\]|\\[^`])*)\\?`/gu;

const read = (file: string): string => readFileSync(`${ROOT}${file}`, "utf8");
const wordsOf = (text: string): readonly string[] =>
  // A value that the program puts in has no spaces; a comment of a page ends the line.
  text
    .replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/gu, "VALUE")
    .replaceAll(/(["'])(?:(?!\1).)*\1/gu, "VALUE")
    .split(/ #| && | \| |\n/u)[0]
    ?.split(/\s+/u)
    .filter(Boolean) ?? [];

const namedIn = (file: string): readonly Named[] =>
  [...read(file).matchAll(NAMED)].map(([, text = ""]) => ({ file, words: wordsOf(text) }));

const SOURCES = globSync(["src/**/*.ts", "web/**/*.ts", "web/**/*.tsx"], { cwd: ROOT })
  .filter((file) => !/\.test(?:-kit)?\.ts$/u.test(file))
  .sort();
const PAGES = globSync(["README.md", "CONTRIBUTING.md", "docs/**/*.md"], { cwd: ROOT }).sort();

/** A name that the database sees. */
const NOT_COMMANDS = ["reader"];

/** What is wrong with the command; undefined if it exists. */
function problemOf({ words }: Named): string | undefined {
  const [name = "", ...rest] = words;
  if (name === "" || name.startsWith("-") || isPlaceholder(name)) return undefined;
  const command = COMMANDS.get(name);
  if (!command) return NOT_COMMANDS.includes(name) ? undefined : `no command "${name}"`;
  return problemIn(name, command, rest);
}

function problemIn(name: string, command: Command, rest: readonly string[]): string | undefined {
  if (!("actions" in command)) return flagProblem(rest, command.options ?? {});
  const at = rest.findIndex((one, index) => !one.startsWith("-") && rest[index - 1] !== "--home");
  const word = rest[at];
  const named = word === undefined ? undefined : command.actions[word];
  if (named) return problemIn(`${name} ${word}`, named, rest.toSpliced(at, 1));
  if (word !== undefined && !isPlaceholder(word) && !command.fallbackTakesWords)
    return `no action "${word}" of ${name}`;
  const all = Object.assign({}, ...actionsOf(name, command).map(([, { options }]) => options ?? {})) as Options;
  return flagProblem(rest, all);
}

function flagProblem(words: readonly string[], options: Options): string | undefined {
  const known = { ...options, ...GLOBAL_OPTIONS };
  const wrong = words
    .filter((one) => /^--[a-z]/u.test(one))
    .find((one) => !Object.hasOwn(known, one.slice(2).split("=")[0] ?? ""));
  return wrong && `no flag ${wrong}`;
}

const isPlaceholder = (word: string): boolean => /^[A-Z<[{…]|VALUE|\.\.\.|…|\|/u.test(word) || word.includes("<");

const wrongIn = (files: readonly string[]): readonly string[] =>
  files.flatMap(namedIn).flatMap((named) => {
    const problem = problemOf(named);
    return problem === undefined ? [] : [`${named.file}: rookery ${named.words.join(" ")}: ${problem}`];
  });

describe("a command that is named", () => {
  it("in a hint or an error exists", () => {
    expect(SOURCES.flatMap(namedIn).length).toBeGreaterThan(100);
    expect(wrongIn(SOURCES)).toEqual([]);
  });

  it("in a page exists", () => {
    expect(PAGES.flatMap(namedIn).length).toBeGreaterThan(100);
    expect(wrongIn(PAGES)).toEqual([]);
  });

  it("in a hint stands in backticks, so that it is printed as it works there", () => {
    const bare = SOURCES.flatMap((file) =>
      read(file)
        .split("\n")
        .filter((line) => /\bhint\b/u.test(line) && !/^\s*(?:\/?\*|\/\/)/u.test(line))
        .flatMap((line) => [...line.matchAll(/(.?)\brookery ([a-z]+)\b/gu)].map((found) => ({ line, found })))
        .filter(({ found: [, before, word = ""] }) => before !== "`" && COMMANDS.has(word))
        .map(({ line }) => `${file}: ${line.trim()}`),
    ).filter((one) => !ALLOWED.some((allowed) => one.includes(allowed)));
    expect(bare).toEqual([]);
  });

  it("is printed with the way the program was called, and with its home", () => {
    const hint = "Run `rookery models login xai`.";
    expect(here(hint, { program: "npm start --", home: "/x y" })).toBe(
      "Run `npm start -- models login xai --home '/x y'`.",
    );
  });

  it("is found by these tests if it does not exist", () => {
    const wrong = ["people tokens lst", "poeple list", "models keys list --prfile x", "models tset"].map((text) =>
      problemOf({ file: "f", words: text.split(" ") }),
    );
    expect(wrong).toEqual(['no action "lst" of people tokens', 'no command "poeple"', "no flag --prfile", undefined]);
  });
});

/** Texts that are not hints of the command line: messages in chats, files of the system, examples in the help, and usage errors. */
const ALLOWED: readonly string[] = [
  ...["src/core/budget/budget.ts", "src/engine/rights/denied-text.ts", "src/engine/approvals/question.ts"],
  ...[
    "src/app/operations/service/",
    "web/src/texts.ts",
    "application_name",
    "examples:",
    "summary:",
    "new UsageError(",
  ],
];

/** Checks every part of the documentation that a program can check: links, commands, configurations, paths. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize, posix } from "node:path";
import { describe, expect, it } from "vitest";
import { checkConfig } from "../../src/config/parse-config.ts";
import { commandsIn, problemsOf, rookeryProblems, routeProblems } from "./commands.ts";
import type { CodeBlock } from "./markdown.ts";
import { ROOT, readPages } from "./pages.ts";

const pages = readPages();

/** The languages of blocks that nothing checks. Each language of `CHECKED` has a check below; `npm run check` type-checks `ts`. */
const UNCHECKED = ["text", "markdown", "sql"];
const CHECKED = ["sh", "console", "json", "json5", "ts", "mermaid"];

/** Names that are examples of any file, or of files that must not exist. */
const EXAMPLES = ["x.ts", "x.test.ts", "x.test-kit.ts", "utils.ts"];

const blocksIn = (...languages: readonly string[]): readonly { readonly at: string; readonly block: CodeBlock }[] =>
  [...pages].flatMap(([path, { blocks }]) =>
    blocks
      .filter(({ language }) => languages.includes(language))
      .map((block) => ({ at: `${path}:${block.line}`, block })),
  );

const spans = [...pages].flatMap(([path, page]) =>
  page.spans.map(({ line, text }) => ({ at: `${path}:${line}`, text: text.trim() })),
);

describe("links", () => {
  it("lead to pages and headings that exist", () => {
    const broken = [...pages].flatMap(([path, { links }]) =>
      links.flatMap(({ line, target }) => {
        if (/^[a-z]+:/.test(target)) return [];
        const [file = "", anchor] = target.split("#");
        const to = file === "" ? path : posix.normalize(posix.join(dirname(path), file));
        if (!existsSync(join(ROOT, to))) return [`${path}:${line}: ${target}: there is no ${to}`];
        const page = pages.get(to);
        return anchor === undefined || page?.anchors.has(anchor)
          ? []
          : [`${path}:${line}: ${target}: ${to} has no heading #${anchor}`];
      }),
    );
    expect(broken).toEqual([]);
  });
});

describe("code blocks", () => {
  it("name a known language", () => {
    const known = [...CHECKED, ...UNCHECKED];
    const nameless = [...pages].flatMap(([path, { blocks }]) =>
      blocks
        .filter(({ language }) => !known.includes(language))
        .map(({ line, language }) => `${path}:${line}: "${language}" is none of ${known.join(", ")}`),
    );
    expect(nameless).toEqual([]);
  });

  it("in shell use commands, flags, scripts and routes that exist", async () => {
    const problems = await Promise.all(
      blocksIn("sh", "console").flatMap(({ at, block }) =>
        commandsIn(block.language, block.text).map(async (line) =>
          (await problemsOf(line)).map((problem) => `${at}: ${problem}`),
        ),
      ),
    );
    expect(problems.flat()).toEqual([]);
  });

  it("in json5 are configurations without errors and warnings", () => {
    const problems = blocksIn("json5").flatMap(({ at, block }) => {
      const env = new Proxy({}, { get: () => "a-secret-of-some-length" });
      const { errors, warnings } = checkConfig({ text: block.text, file: at, env });
      return [...errors, ...warnings].map(({ line, key, message }) => `${at}+${line}: ${key}: ${message}`);
    });
    expect(problems).toEqual([]);
  });

  it("in json can be parsed", () => {
    for (const { at, block } of blocksIn("json")) expect(() => JSON.parse(block.text), at).not.toThrow();
  });

  it("in mermaid begin with a known type of diagram", () => {
    for (const { at, block } of blocksIn("mermaid")) {
      expect(block.text, at).toMatch(/^(?:flowchart (?:LR|TB|TD|RL|BT)|sequenceDiagram|stateDiagram-v2)\n/);
    }
  });
});

describe("code in the text", () => {
  it("names rookery commands and flags that exist", async () => {
    const problems = await Promise.all(
      spans
        .filter(({ text }) => /^rookery [a-z]/.test(text))
        .map(async ({ at, text }) => {
          const words = text
            .split(/\s+/)
            .slice(1)
            .filter((word) => !/[<>[\]…]/.test(word));
          return (await rookeryProblems(words)).map((problem) => `${at}: ${problem}`);
        }),
    );
    expect(problems.flat()).toEqual([]);
  });

  it("names npm scripts that exist", async () => {
    const lines = spans.filter(({ text }) => /^npm (?:run|start|test)\b/.test(text));
    const problems = await Promise.all(
      lines.map(async ({ at, text }) => (await problemsOf(text)).map((problem) => `${at}: ${problem}`)),
    );
    expect(problems.flat()).toEqual([]);
  });

  it("names routes that exist", () => {
    const problems = spans.flatMap(({ at, text }) => {
      const [, method, path] =
        /^(?:(GET|POST|PATCH|DELETE) )?(\/(?:api|v1|hooks)\/\S*|\/metrics|\/healthz|\/readyz|\/openapi\.json)$/.exec(
          text,
        ) ?? [];
      return path === undefined ? [] : routeProblems(method, path).map((problem) => `${at}: ${problem}`);
    });
    expect(problems).toEqual([]);
  });

  it("names files that exist, even without their folder", () => {
    const names = new Set(
      globSync("{src,test,bench,scripts}/**/*.{ts,sql}", { cwd: ROOT }).map((path) => path.split("/").at(-1)),
    );
    const missing = spans.flatMap(({ at, text }) =>
      !/^[\w.-]+\.(?:ts|sql)$/.test(text) || EXAMPLES.includes(text) || names.has(text)
        ? []
        : [`${at}: there is no ${text}`],
    );
    expect(missing).toEqual([]);
  });

  it("names functions, fields and settings that exist in the code", () => {
    const words = new Set(
      globSync("{src,test,bench,scripts}/**/*.{ts,sql}", { cwd: ROOT })
        .filter((path) => !path.startsWith("scripts/docs/"))
        .flatMap((path) => readFileSync(join(ROOT, path), "utf8").match(/[A-Za-z_$][\w$]*/g) ?? []),
    );
    const unknown = spans.flatMap(({ at, text }) => {
      const name = /^(?:[\w]+\.)*([a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*)(?:\(.*\))?$/.exec(text)?.[1];
      return name === undefined || words.has(name) ? [] : [`${at}: the code has no ${name}`];
    });
    expect(unknown).toEqual([]);
  });

  it("names files and folders of this repository that exist", () => {
    const missing = spans.flatMap(({ at, text }) => {
      if (!/^(?:src|test|bench|scripts|docs|docker)\/[\w./*-]+$/.test(text)) return [];
      const path = normalize(text);
      const found = path.includes("*") ? globSync(path, { cwd: ROOT }).length > 0 : existsSync(join(ROOT, path));
      return found ? [] : [`${at}: there is no ${text}`];
    });
    expect(missing).toEqual([]);
  });
});

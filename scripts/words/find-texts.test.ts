import { describe, expect, it } from "vitest";
import { findSentences } from "./find-texts.ts";

const sentences = (file: string, source: string): readonly string[] =>
  findSentences(file, source).map(({ line, kind, text }) => `${line} ${kind}: ${text}`);

/** Replaces # with $, because the linter reports `${` in a plain string. */
const template = (text: string): string => text.replaceAll("#", "$");

describe("comments", () => {
  it("are split into sentences with the line where each starts", () => {
    const source = "/**\n * Reads one file. It may be missing\n * or empty.\n */\nconst a = 1; // The first of many.\n";
    expect(sentences("src/a.ts", source)).toEqual([
      "2 comment: Reads one file.",
      "2 comment: It may be missing or empty.",
      "5 comment: The first of many.",
    ]);
  });

  it("join lines that follow each other", () => {
    expect(sentences("src/a.ts", "// The first of\n// two lines here.\n\n// The next one.\n")).toEqual([
      "1 comment: The first of two lines here.",
      "4 comment: The next one.",
    ]);
  });

  it("have X in the place of code, and no instructions for tools", () => {
    const source = "// Calls `a. b` and waits.\n// biome-ignore lint/style: it is what we want here\nconst a = 1;\n";
    expect(sentences("src/a.ts", source.split("\n")[0] ?? "")).toEqual(["1 comment: Calls X and waits."]);
    expect(sentences("src/a.ts", source.split("\n")[1] ?? "")).toEqual([]);
  });

  it("are not found in strings", () => {
    expect(sentences("src/a.ts", 'const a = "// not a comment at all";')).toEqual([]);
  });
});

describe("test titles", () => {
  it.each([
    ['it("stops a running agent", () => {});', "title"],
    ['test.skip("stops a running agent", () => {});', "title"],
    ['it.each([1, 2])("stops a running agent", () => {});', "title"],
    ['it.each([\n  ["a", 1],\n])("stops a running agent", () => {});', "title"],
    ['it.skipIf(missing("bwrap"))("stops a running agent", () => {});', "title"],
    ['describe("stops a running agent", () => {});', "group"],
    ['describe.each(["a"])("stops a running agent", () => {});', "title"],
  ])("are found in %j", (source, kind) => {
    expect(findSentences("src/a.test.ts", source).map((one) => `${one.kind}: ${one.text}`)).toEqual([
      `${kind}: stops a running agent`,
    ]);
  });

  it("are not split", () => {
    const source = 'describe("stops. Then waits", () => {\n  it("stops. Then waits", () => {});\n});';
    expect(sentences("src/a.test.ts", source)).toEqual(["1 group: stops. Then waits", "2 title: stops. Then waits"]);
  });

  it("leave other strings of a test alone", () => {
    expect(sentences("src/a.test.ts", 'send("one two three four");')).toEqual([]);
  });
});

describe("texts for people", () => {
  it.each([
    ["an error", "src/a.ts", 'throw new NotFoundError("There is no agent.");'],
    ["a hint", "src/a.ts", 'fail({ hint: "There is no agent." });'],
    ["a description", "src/a.ts", 'z.string().describe("There is no agent.");'],
    ["the command line", "src/app/cli/a.ts", 'print("There is no agent.");'],
    ["the page", "web/src/texts.ts", 'export const NONE = "There is no agent.";'],
    ["joined strings", "src/a.ts", 'throw new NotFoundError("There is " +\n "no agent.");'],
  ])("are found in %s", (_, file, source) => {
    expect(findSentences(file, source).map(({ kind, text }) => `${kind}: ${text}`)).toEqual([
      "text: There is no agent.",
    ]);
  });

  it("have X in the place of an expression", () => {
    const source = template('throw new NotFoundError(`There is no agent "#{name(`a#{b}`)}" here.`);');
    expect(sentences("src/a.ts", source)).toEqual(['1 text: There is no agent "X" here.']);
  });

  it("are not searched in other strings", () => {
    expect(sentences("src/a.ts", 'const sql = "select one from two";')).toEqual([]);
  });
});

describe("documentation", () => {
  it("is read without code, links and marks", () => {
    const source =
      "# A short title\n\nRun **`npm ci`** as [any user](docs/a.md).\n\n```sh\nnpm run what you want\n```\n";
    expect(sentences("docs/a.md", source)).toEqual(["1 doc: A short title", "3 doc: Run X as any user ."]);
  });

  it("has a passage for each item and cell", () => {
    const source = "- The first of\n  two items.\n- The second item.\n\n| what it does | how it fails |\n";
    expect(sentences("docs/a.md", source)).toEqual([
      "1 doc: The first of two items.",
      "3 doc: The second item.",
      "5 doc: what it does",
      "5 doc: how it fails",
    ]);
  });
});

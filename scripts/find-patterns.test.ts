import { describe, expect, it } from "vitest";
import { findPatterns, patternProblems, readList } from "./find-patterns.ts";

const files = (source: string, file = "src/core/a.ts") => new Map([[file, source]]);
const patterns = (source: string) => findPatterns(files(source)).map(({ pattern }) => pattern);

describe("the patterns of a source", () => {
  it.each([
    ["a literal with flags", "const a = /x+/giu;", ["/x+/giu"]],
    ["a slash in a class", "f(/[/]/, 1)", ["/[/]/"]],
    ["an escaped slash", "return /a\\/b/;", ["/a\\/b/"]],
    ["one after a comment", "[\n  // it's a note.\n  /x/,\n]", ["/x/"]],
    ["one after two comments", "[ /* a */ // b)\n /x/ ]", ["/x/"]],
    ["one in a template", "`$" + "{text.replace(/x/g, '')}`", ["/x/g"]],
  ])("include %s", (_, source, expected) => {
    expect(patterns(source)).toEqual(expected);
  });

  it.each([
    ["a division", "const half = (a + b) / 2 / c;"],
    ["a division of a variable named of", "Math.floor(of / 2); f(1 / 2)"],
    ["a text", 'const a = "/x+/";'],
    ["a comment", "// /x+/\n/* /y+/ */"],
  ])("do not include %s", (_, source) => {
    expect(patterns(source)).toEqual([]);
  });

  it("are not looked for in tests", () => {
    expect(findPatterns(files("const a = /(a+)+$/;", "src/core/a.test.ts"))).toEqual([]);
  });
});

describe("the list of linear patterns", () => {
  const list = "a comment\n/a/\n/b/u\n";

  it("is read by line", () => {
    expect([...readList(list)]).toEqual(["/a/", "/b/u"]);
  });

  it("must have every pattern, with its flags, and no other", () => {
    expect(patternProblems(files("[/a/, /b/u]"), list)).toEqual([]);
    expect(patternProblems(files("[/a/,\n /b/]"), list)).toEqual([
      {
        file: "src/core/a.ts",
        line: 2,
        message: "/b/ is not on the list of linear patterns; run `npm run tool -- patterns --write`",
      },
      {
        file: "scripts/linear-patterns.txt",
        line: 3,
        message: "/b/u is in no source; run `npm run tool -- patterns --write`",
      },
    ]);
  });
});

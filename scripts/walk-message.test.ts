import { describe, expect, it } from "vitest";
import { differences, listsOf, openingSentence, readLists, writeLists } from "./walk-message.ts";

describe("the lists", () => {
  const walks = { terminal: ["src/a.ts", "src/b.ts"], http: ["src/c.ts", "src/b.ts"] };
  const lists = { terminal: ["src/a.ts", "src/b.ts"], http: ["src/c.ts"], "not-over-http": ["src/a.ts"] };

  it("show what HTTP adds and leaves out", () => {
    expect(listsOf(walks)).toEqual(lists);
  });

  it("are written into their blocks and read from them", () => {
    const page = ["terminal", "http", "not-over-http"]
      .map((name) => `# ${name}\n<!-- ${name}: written by npm run tool -- walk -->\nold\n<!-- end of ${name} -->\n`)
      .join("");
    const written = writeLists(page, lists, (file) => `about ${file}`);
    expect(readLists(written)).toEqual(lists);
    expect(written).not.toContain("old");
    expect(writeLists(written, lists, (file) => `about ${file}`)).toBe(written);
  });
});

describe("differences", () => {
  const lists = { terminal: ["src/a.ts", "src/b.ts"], http: ["src/c.ts"], "not-over-http": [] };

  it("finds none between lists with the same files", () => {
    expect(differences(lists, { ...lists, terminal: ["src/b.ts", "src/a.ts"] })).toEqual([]);
  });

  it("names each file that only one of them has", () => {
    expect(differences(lists, { ...lists, terminal: ["src/a.ts", "src/d.ts"], http: [] })).toEqual([
      "terminal: src/d.ts is missing",
      "terminal: src/b.ts is not passed",
      "http: src/c.ts is not passed",
    ]);
  });
});

describe("openingSentence", () => {
  it.each([
    ["/** One. Two. */\ncode", "One."],
    ["#!/usr/bin/env node\n/**\n * Is `x.ts` here,\n * a | b. Two.\n */", "Is `x.ts` here, a \\| b."],
    ["// One\ncode", "One"],
    ["code", ""],
  ])("reads %j", (source, sentence) => {
    expect(openingSentence(source)).toBe(sentence);
  });
});

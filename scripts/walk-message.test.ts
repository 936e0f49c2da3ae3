import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listsOf, openingSentence, PAGE, readLists, walkMessages, writeLists } from "./walk-message.ts";

describe("docs/message-path.md", () => {
  it("lists the files that a message passes; `npm run walk -- --write` updates it", async () => {
    const shown = readLists(readFileSync(join(import.meta.dirname, "..", PAGE), "utf8"));
    const walked = listsOf(await walkMessages());
    for (const name of ["terminal", "http", "not-over-http"] as const) {
      expect([...shown[name]].sort(), name).toEqual([...walked[name]].sort());
    }
  });
});

describe("the lists", () => {
  const walks = { terminal: ["src/a.ts", "src/b.ts"], http: ["src/c.ts", "src/b.ts"] };
  const lists = { terminal: ["src/a.ts", "src/b.ts"], http: ["src/c.ts"], "not-over-http": ["src/a.ts"] };

  it("show what HTTP adds and leaves out", () => {
    expect(listsOf(walks)).toEqual(lists);
  });

  it("are written into their blocks and read from them", () => {
    const page = ["terminal", "http", "not-over-http"]
      .map((name) => `# ${name}\n<!-- ${name}: written by npm run walk -->\nold\n<!-- end of ${name} -->\n`)
      .join("");
    const written = writeLists(page, lists, (file) => `about ${file}`);
    expect(readLists(written)).toEqual(lists);
    expect(written).not.toContain("old");
    expect(writeLists(written, lists, (file) => `about ${file}`)).toBe(written);
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

import { describe, expect, test } from "vitest";
import { carriedAlong, carriedText, withoutCarried } from "./carried-along.ts";
import { call, message, text } from "./entries.test-kit.ts";

describe("what is carried along", () => {
  const words = (...all: string[]) => all.map((one) => message("user", text(one)));
  test("files that were read and changed, each once, sorted, a changed one only as changed", () => {
    const messages = [
      message("assistant", call("1", "read", { path: "/b" }), call("2", "read", { path: "/a" })),
      message("assistant", call("3", "write", { path: "/a" }), call("4", "edit", { path: "/c" })),
      message("assistant", call("5", "grep", { path: "/d" }), call("6", "read", { path: 5 }), text("read /e")),
    ];
    expect(carriedAlong(messages, { readFiles: ["/z", "/c"], modifiedFiles: ["/y"] })).toMatchObject({
      readFiles: ["/b", "/z"],
      modifiedFiles: ["/a", "/c", "/y"],
    });
  });

  test("at most two hundred files", () => {
    const many = Array.from({ length: 201 }, (_, n) => `/f${String(n).padStart(3, "0")}`);
    const carried = carriedAlong([], { readFiles: many, modifiedFiles: many.map((one) => `/m${one}`) });
    expect(carried.readFiles).toEqual(many.slice(0, 200));
    expect(carried.modifiedFiles).toHaveLength(200);
  });

  test.each<[string, string, string[], string[]]>([
    ["words in backticks", "run `npm test` and `x`", ["npm test", "x"], []],
    ["not across lines", "a `b\nc` d", [], []],
    ["addresses", "see https://a.b/c?d=1) and mail a.b+c@d.example now", [], ["https://a.b/c?d=1", "a.b+c@d.example"]],
    [
      "ids and tickets",
      "ABC-12 and 0123abcd-0123-0123-0123-0123456789ab",
      [],
      ["ABC-12", "0123abcd-0123-0123-0123-0123456789ab"],
    ],
    ["hashes, not words", "deadbeef1 defaced 1234567", [], ["deadbeef1"]],
    ["each once, where it was last", "`a` `b` `a`", ["b", "a"], []],
    ["nothing that looks like a tag", "`<b>` `c>`", [], []],
    ["a name that is long enough", `\`${"x".repeat(160)}\` \`${"y".repeat(161)}\``, ["x".repeat(160)], []],
    ["not twice", "`ABC-12` ABC-12", ["ABC-12"], []],
    ["without the blanks around them", "` tea ` and `tea`, not ` `", ["tea"], []],
  ])("%s", (_title, said, identifiers, references) => {
    expect(carriedAlong(words(said))).toMatchObject({ identifiers, references });
  });

  test("not what tools have said, and what was carried before comes first", () => {
    const carried = carriedAlong([message("tool", text("`no`")), message("assistant", text("`yes`"))], {
      ...{ identifiers: ["old"], references: ["OLD-1"] },
    });
    expect(carried).toMatchObject({ identifiers: ["old", "yes"], references: ["OLD-1"] });
  });

  test("the newest that fit, in number and in characters", () => {
    const marked = (length: number, size = 1) =>
      Array.from({ length }, (_, n) => `\`${String(n).padStart(4, "0")}${"x".repeat(size)}\``).join(" ");
    const many = carriedAlong(words(marked(201))).identifiers;
    expect([many.length, many[0]]).toEqual([200, "0001x"]);
    // 150 characters and one each: 39 fit into 6,000.
    const long = carriedAlong(words(marked(60, 146))).identifiers;
    expect([long.length, long.at(-1)]).toEqual([39, `0059${"x".repeat(146)}`]);
    const tickets = Array.from({ length: 61 }, (_, n) => `AB-${1000 + n}`).join(" ");
    const references = carriedAlong(words(tickets)).references;
    expect([references.length, references[0]]).toEqual([60, "AB-1001"]);
    const urls = Array.from({ length: 40 }, (_, n) => `https://a.b/${100 + n}${"y".repeat(84)}`).join(" ");
    expect(carriedAlong(words(urls)).references).toHaveLength(30);
  });

  test("as blocks behind a summary, without what the summary says, and taken off again", () => {
    const carried = {
      readFiles: ["/a"],
      modifiedFiles: ["/b", "/c"],
      identifiers: ["known", "new"],
      references: ["AB-1"],
    };
    const block = carriedText("known", carried);
    expect(block).toBe(
      "\n\n<read-files>\n/a\n</read-files>\n\n<modified-files>\n/b\n/c\n</modified-files>\n\n<identifiers>\nnew\nAB-1\n</identifiers>",
    );
    expect(withoutCarried(`known${block} tail`)).toBe("known tail");
    expect(carriedText("", { readFiles: [], modifiedFiles: [], identifiers: [], references: [] })).toBe("");
  });

  test.each([
    ["a\n\n<identifiers>\nx", "a\n\n<identifiers>\nx"],
    ["a\n\n<identifiers>\n</identifiers>b", "ab"],
    ["a\n\n<identifiers>\nx\n\n<read-files>\ny\n</read-files>", "a\n\n<identifiers>\nx"],
    ["a\n\n<read-files>\nx\n\n<identifiers>\ny\n</read-files>b\n\n<identifiers>\nz\n</identifiers>c", "abc"],
    ["a\n<identifiers>\nx\n</identifiers>", "a\n<identifiers>\nx\n</identifiers>"],
    ["plain", "plain"],
    ["a\n</identifiers>b\n\n<identifiers>\nx\n</identifiers>c", "a\n</identifiers>bc"],
  ])("%j without its blocks is %j", (summary, rest) => {
    expect(withoutCarried(summary)).toBe(rest);
  });
});

/** What of a history and of notes can be found, and what of it is marked as untrusted. */
import { describe, expect, test } from "vitest";
import { documentsOfLine, documentsOfNote, partsOf } from "./documents-of.ts";

const line = (fields: object = {}): string =>
  JSON.stringify({
    type: "message",
    role: "user",
    content: [{ type: "text", text: "hello" }],
    timestamp: 7,
    ...fields,
  });

describe("a line of a history", () => {
  test.each([
    ["of a person", {}, [{ text: "hello", at: 7, speaker: "user", untrusted: undefined }]],
    ["of an agent", { role: "assistant" }, [{ text: "hello", at: 7, speaker: "assistant", untrusted: undefined }]],
    [
      "with untrusted text",
      { untrusted: { from: "web" } },
      [{ text: "hello", at: 7, speaker: "user", untrusted: "web" }],
    ],
    ["without a time", { timestamp: "x" }, [{ text: "hello", at: 0, speaker: "user", untrusted: undefined }]],
    ["of a tool", { role: "tool" }, []],
    ["of a program", { role: "system" }, []],
    ["that is no message", { type: "marker" }, []],
    ["that says nothing", { content: [{ type: "text", text: " " }] }, []],
    ["that is no answer", { role: "assistant", content: [{ type: "text", text: "NO_REPLY" }] }, []],
    ["without texts", { content: [{ type: "image", text: "x" }, null, { type: "text", text: 5 }] }, []],
    ["with a text in place of blocks", { content: "hello" }, []],
  ])("%s", (_, fields, expected) => {
    expect(documentsOfLine(line(fields))).toEqual(expected);
  });

  test("that quotes the form of a tool's line is found", () => {
    const text = 'it said "role":"tool" and "type":"marker"';
    expect(documentsOfLine(line({ content: [{ type: "text", text }] }))).toMatchObject([{ text }]);
  });

  test.each(["", "{", 'null "type":"message"', '"type":"message"'])("that is %j is none", (text) => {
    expect(documentsOfLine(text)).toEqual([]);
  });

  test("has several texts as one, and each part of a long one carries its mark", () => {
    const content = [
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ];
    expect(documentsOfLine(line({ content }))).toMatchObject([{ text: "a\nb" }]);
    const long = [{ type: "text", text: "x".repeat(5_000) }];
    const parts = documentsOfLine(line({ content: long, untrusted: { from: "web" } }));
    expect(parts.map(({ text, untrusted }) => [text.length, untrusted])).toEqual([
      [2_000, "web"],
      [2_000, "web"],
      [1_000, "web"],
    ]);
  });
});

describe("the parts of a text", () => {
  test.each([
    ["short", "a b", ["a b"]],
    ["of the greatest length", "x".repeat(2_000), ["x".repeat(2_000)]],
    [
      "with a blank near the end",
      `${"x".repeat(1_500)} ${"y".repeat(1_000)}`,
      ["x".repeat(1_500), ` ${"y".repeat(1_000)}`],
    ],
    [
      "with a blank too early",
      `${"x".repeat(900)} ${"y".repeat(1_100)}`,
      [`${"x".repeat(900)} ${"y".repeat(1_099)}`, "y"],
    ],
    ["empty", "", []],
  ])("that is %s", (_, text, parts) => {
    expect(partsOf(text)).toEqual(parts);
    expect(partsOf(text).join("")).toBe(text);
  });
});

test("a note is found by its paragraphs under their heading, with the line and the mark of each", () => {
  const text = "# Garden\n\nTomatoes need water.\n\nRoses do not.\n";
  expect(documentsOfNote(text, 5, "file:a")).toMatchObject([
    { text: "# Garden\nTomatoes need water.", at: 5, speaker: "note", untrusted: "file:a", line: 3 },
    { text: "# Garden\nRoses do not.", at: 5, speaker: "note", untrusted: "file:a", line: 5 },
  ]);
  expect(documentsOfNote("", 5, undefined)).toEqual([]);
});

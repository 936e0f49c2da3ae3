/** The lines of a front matter, form by form: what is read, and what is left out and told. */
import { describe, expect, test } from "vitest";
import { readFrontMatter } from "./front-matter.ts";

const read = (...lines: string[]) => readFrontMatter(["---", ...lines, "---", "body"].join("\n"));

describe("a line", () => {
  test.each<readonly [string, unknown]>([
    ["a:b", "b"],
    ["a :b", "b"],
    ["a:   b  ", "b"],
    ["a: b: c", "b: c"],
    ["a: http://x", "http://x"],
    ["a: 12", 12],
    ["a: -3.25", -3.25],
    ["a: +3", "+3"],
    ["a: 1 2", "1 2"],
    ["a: 007", 7],
    ["a: true", true],
    ["a: Yes", true],
    ["a: on", true],
    ["a: truely", "truely"],
    ["a: false", false],
    ["a: No", false],
    ["a: OFF", false],
    ["a: offline", "offline"],
    ["a: 'true'", "true"],
    ['a: "12"', "12"],
    ["a: ''", ""],
    ["a: 'x'   # why", "x"],
    ["a: 'x' why", "'x' why"],
    ["a: 'x\"", "'x\""],
    ["a: b #c", "b"],
    ["a: b   # c", "b"],
    ["a: 5   # c", 5],
    ["a: b#c", "b#c"],
    ["a: true # yes", true],
  ])("%j", (line, value) => {
    expect(read(line)).toEqual({ fields: { a: value }, body: "body", unread: [] });
  });

  test.each(["word", "no colon", "1a: x", "a b: x", "- item", ": x", "-a: x"])("%j is left out and told", (line) => {
    expect(read(line, "ok: 1")).toEqual({ fields: { ok: 1 }, body: "body", unread: [line] });
  });

  test.each(["", "   ", "# a: 1", "  # a: 1"])("%j says nothing", (line) => {
    expect(read(line, "ok: 1")).toEqual({ fields: { ok: 1 }, body: "body", unread: [] });
  });

  test.each(["_a", "A", "a-b", "a_1"])("%j is a name", (name) => {
    expect(read(`${name}: 1`).fields).toEqual({ [name]: 1 });
  });
});

describe("what is nested", () => {
  test("belongs to the last field without a value", () => {
    expect(read("a:", "  x: 1", "  y: 'z'", "b:", "\t- 1", "\t- two # why", "  -  'x: y'").fields).toEqual({
      a: { x: 1, y: "z" },
      b: ["1", "two", "x: y"],
    });
  });

  test("of a field that has a value is left out and told", () => {
    expect(read("a: 1", "  x: 1", "  - y")).toEqual({ fields: { a: 1 }, body: "body", unread: ["x: 1", "- y"] });
    expect(read("  x: 1", "a: 1")).toEqual({ fields: { a: 1 }, body: "body", unread: ["x: 1"] });
    expect(read("a:", "  words")).toEqual({ fields: { a: {} }, body: "body", unread: ["words"] });
    expect(read("a:", "  -x")).toMatchObject({ unread: ["-x"] });
    expect(read("a:", "- x")).toEqual({ fields: { a: {} }, body: "body", unread: ["- x"] });
  });

  test("is a list or a map: the later kind replaces the earlier", () => {
    expect(read("a:", "  x: 1", "  - one").fields).toEqual({ a: ["one"] });
    expect(read("a:", "  - one", "  x: 1").fields).toEqual({ a: { x: 1 } });
  });

  test("ends with the next field, and a name that comes again begins again", () => {
    expect(read("a:", "  x: 1", "b: 2", "a:", "  y: 2").fields).toEqual({ a: { y: 2 }, b: 2 });
  });
});

describe("the fences", () => {
  test.each([
    ["with spaces after them", "---  \na: 1\n--- \nbody", { a: 1 }, "body"],
    ["with a mark of the byte order", "\uFEFF---\na: 1\n---\nbody", { a: 1 }, "body"],
    ["with lines of Windows", "---\r\na: 1\r\n---\r\none\r\ntwo", { a: 1 }, "one\ntwo"],
    ["around nothing", "---\n---\nbody", {}, "body"],
    ["not at the start", "text\n---\na: 1\n---\n", {}, "text\n---\na: 1\n---"],
    ["with a space before them", " ---\na: 1\n---\n", {}, "---\na: 1\n---"],
    ["of four signs", "----\na: 1\n---\nbody", {}, "----\na: 1\n---\nbody"],
    ["without an end", "---\na: 1\n", {}, "---\na: 1"],
    ["more than two", "---\na: 1\n---\none\n---\ntwo", { a: 1 }, "one\n---\ntwo"],
  ])("%s", (_what, text, fields, body) => {
    expect(readFrontMatter(text)).toEqual({ fields, body, unread: [] });
  });
});

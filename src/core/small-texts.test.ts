import { describe, expect, test } from "vitest";
import { fileChangeSchema } from "./file-change.ts";
import { unknownName } from "./known-name.ts";
import { printable, printableJson } from "./printable.ts";
import { assertMessageFits, DEFAULT_TEXT_LIMITS, LONGEST_TEXT, messageSize, textSize } from "./text-limits.ts";
import { trimChars, trimCharsEnd } from "./trim-chars.ts";

describe("a name that does not exist", () => {
  const names = (count: number) => Array.from({ length: count }, (_, n) => `profile-number-${n}-${"x".repeat(n)}`);
  test.each<[string, string, string[], string]>([
    ["one that is close", "wrok", ["work", "home"], 'There is no profile "wrok". Did you mean "work"?'],
    ["none that is close", "zzz", ["work", "home"], 'There is no profile "zzz". Known: work, home.'],
    ["one that is not close", "zzz", ["work"], 'There is no profile "zzz". Known: work.'],
    ["none at all", "zzz", [], 'There is no profile "zzz".'],
    ["a name that is too long", "z".repeat(65), [], `There is no profile "${"z".repeat(64)}".`],
  ])("with %s", (_title, name, known, text) => {
    expect(unknownName("profile", name, known)).toBe(text);
  });

  test("with twelve others lists them, with thirteen it does not", () => {
    expect(unknownName("profile", "q", names(12))).toContain("Known: ");
    expect(unknownName("profile", "q", names(13))).toBe('There is no profile "q".');
  });
});

describe("the size of a message", () => {
  test.each<[string, unknown, number]>([
    ["a text", "abc", 3],
    ["a number", 5, 0],
    ["null", null, 0],
    ["a list", ["ab", "c"], 5],
    ["its own fields without their names", { name: "ab", other: 5 }, 2],
    ["fields below with their names", { sender: { id: "7", name: "Ann" } }, 2 + 1 + 4 + 3],
    ["a list of objects", { files: [{ id: "ab" }] }, 1 + 2 + 2],
  ])("counts %s", (_title, value, size) => {
    expect(textSize(value)).toBe(size);
  });

  test("is endless if it is too deep", () => {
    const deep = (levels: number): unknown => (levels === 0 ? "x" : [deep(levels - 1)]);
    expect(textSize(deep(64))).toBe(65);
    expect(textSize(deep(65))).toBe(Number.POSITIVE_INFINITY);
    const nested = (levels: number): unknown => (levels === 0 ? "x" : { a: nested(levels - 1) });
    expect(textSize(nested(64))).toBe(64);
    expect(textSize(nested(65))).toBe(Number.POSITIVE_INFINITY);
  });

  test("is half a million characters at most, unless the configuration says more", () => {
    expect(DEFAULT_TEXT_LIMITS).toEqual({
      ...{ messageCharacters: 500_000, toolResultCharacters: 200_000, answerCharacters: 1_000_000 },
    });
    expect(LONGEST_TEXT).toBe(1_000_000);
  });

  test("is that of all texts but its kind", () => {
    expect(messageSize({ kind: "user", text: "abc" })).toBe(3);
  });

  test("is refused above its limit, with what to do", () => {
    assertMessageFits({ kind: "user", text: "x".repeat(10) }, 10);
    expect(() => assertMessageFits({ kind: "user", text: "x".repeat(11) }, 10)).toThrow(
      expect.objectContaining({ hint: expect.stringContaining("Send it in parts") }) as Error,
    );
    const long = { kind: "user", text: "x".repeat(LONGEST_TEXT + 1) };
    expect(() => assertMessageFits(long, LONGEST_TEXT)).toThrow(
      expect.objectContaining({ hint: "Send it as a file." }) as Error,
    );
    assertMessageFits({ text: "x".repeat(500_000) });
    expect(() => assertMessageFits({ text: "x".repeat(500_001) })).toThrow("at most 500000");
  });
});

test.each([
  ["--a-b--", "a-b", "--a-b"],
  ["...", "", ""],
  ["", "", ""],
  ["ab", "ab", "ab"],
  [".-a", "a", ".-a"],
])("%j is trimmed to %j and %j", (text, both, end) => {
  expect(trimChars(text, "-.")).toBe(both);
  expect(trimCharsEnd(text, "-.")).toBe(end);
});

test("a terminal gets no control characters", () => {
  expect(printable("a\u001b[2Jb\r\nc\u202ed\ud800e\t\n\r")).toBe("a�[2Jb\nc�d�e\t\n�");
  expect(printableJson('"\u0007\u202e"')).toBe('"\\u0007\\u202e"');
  expect(JSON.parse(printableJson(JSON.stringify("\u202e\ud800")))).toBe("\u202e\ud800");
});

const change = {
  ...{ id: 1, at: 1, kind: "prompt", file: "f", by: { person: "p", surface: "s" } },
  ...{ before: null, after: { sha256: "a".repeat(64), bytes: 0 } },
};
test.each<[string, object, boolean]>([
  ["whole", {}, true],
  ["without a number", { id: 0 }, false],
  ["without a file", { file: "" }, false],
  ["without an author", { by: { person: "", surface: "s" } }, false],
  ["without a surface", { by: { person: "p", surface: "" } }, false],
  ["with fewer bytes than none", { after: { sha256: "a".repeat(64), bytes: -1 } }, false],
  ["with a wrong hash", { after: { sha256: "g".repeat(64), bytes: 1 } }, false],
])("a change of a file that is %s", (_title, more, ok) => {
  expect(fileChangeSchema.safeParse({ ...change, ...more }).success).toBe(ok);
});

/** The small pure parts of a compaction: sizes, measures, details. One table each. */
import { describe, expect, test } from "vitest";
import type { Block } from "../../../core/history/entry.ts";
import { fileBlock } from "../../../core/history/file-block.ts";
import type { EntryId } from "../../../core/ids.ts";
import { compactionDetails } from "./compaction-details.ts";
import { describeCompaction } from "./describe-compaction.ts";
import { assistant, compaction, image, message, text, user } from "./entries.test-kit.ts";
import { EMPTY_SIZE, sizeWith } from "./estimate-tokens.ts";
import { applyMeasure, cutText, measuresFor, TRUNCATED_CHARS } from "./measures.ts";

const file = (as: "image" | "text", characters?: number): Block =>
  fileBlock("[f]", { id: "f", name: "f", mimeType: "m", size: 1, as, characters });

describe("the size of a context", () => {
  test("counts of providers replace estimates, and a count of nothing does not", () => {
    const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };
    const forty = [message("user", text("x".repeat(40)))];
    const ten = sizeWith(EMPTY_SIZE, user("x"), forty);
    expect(ten).toEqual({ counted: undefined, since: 10, all: 10 });
    expect(sizeWith(ten, assistant("x", { usage, stopReason: "stop" }), forty)).toEqual({
      ...{ counted: undefined, since: 20, all: 20 },
    });
    const one = { ...usage, totalTokens: 1 };
    expect(sizeWith(EMPTY_SIZE, assistant("x", { usage: one }), forty)).toEqual({ counted: 1, since: 0, all: 10 });
    expect(sizeWith(EMPTY_SIZE, user("x", { usage: one }), forty)).toEqual({ counted: undefined, since: 10, all: 10 });
    expect(sizeWith({ counted: 5, since: 3, all: 9 }, compaction(undefined), forty)).toEqual({
      ...{ counted: undefined, since: 0, all: 19 },
    });
  });
});

describe("measures without a model", () => {
  test("leave 2,000 characters of an output, or 500, or 100", () => {
    expect(TRUNCATED_CHARS).toEqual([2_000, 500, 100]);
  });

  test.each([
    ["abc", 3, "abc"],
    ["abcdefghij", 5, "abc\n[… 5 characters left out to save room …]\nij"],
    ["ab", 1, "a\n[… 1 characters left out to save room …]\n"],
    ["abcdef", 2, "ab\n[… 4 characters left out to save room …]\n"],
    ["abcdef", 3, "ab\n[… 3 characters left out to save room …]\nf"],
    ["a😀bcdefgh😀", 4, "a\n[… 7 characters left out to save room …]\n"],
  ])("%j in %d characters", (given, chars, cut) => {
    if (given.includes("😀")) expect(cutText(given, chars)).not.toMatch(/[\ud800-\udfff](?![\udc00-\udfff])|\uFFFD/u);
    else expect(cutText(given, chars)).toBe(cut);
  });

  const through = "e9" as EntryId;
  test("cut outputs of tools only, and leave images out everywhere", () => {
    const truncate = { kind: "truncate", chars: 5, through } as const;
    const images = { kind: "images", through } as const;
    const long = message("tool", text("x".repeat(9)), image);
    expect(applyMeasure(long, truncate).content[0]).not.toEqual(long.content[0]);
    expect(applyMeasure(long, truncate).content[1]).toBe(image);
    for (const same of [message("user", text("x".repeat(9))), message("tool", text("x".repeat(5)))])
      expect(applyMeasure(same, truncate)).toBe(same);
    expect(applyMeasure(message("user", image, text("a"), file("image"), file("text", 3)), images).content).toEqual([
      ...[text("<image>"), text("a"), text("[f] <image>"), file("text", 3)],
    ]);
    const plain = message("user", text("a"));
    expect(applyMeasure(plain, images)).toBe(plain);
  });

  test("reach the entries up to theirs", () => {
    const path = [user(), assistant(), user()];
    const measure = { kind: "images", through: path[1]?.id as EntryId } as const;
    const reach = measuresFor(path, [measure, { ...measure, through: "gone" as EntryId }]);
    expect(path.map((_, at) => reach(at).length)).toEqual([1, 1, 0]);
    expect(measuresFor(path, [])(0)).toEqual([]);
  });
});

describe("the details of a compaction", () => {
  test("are read as far as they can be", () => {
    expect(compactionDetails({ details: undefined })).toEqual({});
    expect(compactionDetails({ details: "x" })).toEqual({});
    expect(compactionDetails({ details: null })).toEqual({});
    expect(compactionDetails({ details: { kind: "dream", tokensAfter: 5, more: 1 } })).toEqual({
      tokensAfter: 5,
      more: 1,
    });
    expect(compactionDetails({ details: { tokensAfter: -1 } })).toEqual({});
    expect(compactionDetails({ details: { tokensAfter: 0 } })).toEqual({ tokensAfter: 0 });
    expect(
      compactionDetails({ details: { measures: [{ kind: "truncate", chars: 0, through: "e" }], split: true } }),
    ).toEqual({ split: true });
  });
  test("are one line for people", () => {
    expect(describeCompaction({ tokensBefore: 9, details: {} })).toBe("9 tokens");
    const details = {
      ...{ kind: "summary", reason: "manual", tokensAfter: 3, split: true },
      ...{ covered: { from: "a", through: "b", messages: 4 }, kept: { messages: 2, tokens: 7 } },
    };
    expect(describeCompaction({ tokensBefore: 9, details })).toBe(
      "9 → 3 tokens, summarised, 4 messages covered, 2 kept (7 tokens), a turn was split, why: asked for",
    );
  });
});

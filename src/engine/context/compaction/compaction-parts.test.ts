/** The small pure parts of a compaction: sizes, measures, details. One table each. */
import { describe, expect, test } from "vitest";
import { DEFAULT_CONTEXT_LIMITS } from "../../../core/history/compaction-settings.ts";
import type { Block } from "../../../core/history/entry.ts";
import { fileBlock } from "../../../core/history/file-block.ts";
import type { EntryId } from "../../../core/ids.ts";
import { thresholdsOf } from "../measure-context.ts";
import { compactionDetails } from "./compaction-details.ts";
import { describeCompaction } from "./describe-compaction.ts";
import { assistant, call, compaction, image, message, text, user } from "./entries.test-kit.ts";
import { EMPTY_SIZE, estimateMessage, sizeWith } from "./estimate-tokens.ts";
import { applyMeasure, cutText, measuresFor, TRUNCATED_CHARS } from "./measures.ts";

const file = (as: "image" | "text" | "reference", characters?: number): Block =>
  fileBlock("[f]", { id: "f", name: "f", mimeType: "m", size: 1, as, characters });

describe("the size of one message", () => {
  test.each<[string, Block[], number]>([
    ["an image that stands for a file", [file("image")], 1_201],
    ["the text of a file", [file("text", 40)], 11],
    ["a file whose text is not shown", [file("reference")], 1],
    ["several blocks together", [text("12"), { type: "thinking", thinking: "34" }, text("5")], 2],
    [
      "arguments with two images in a list",
      [call("1", "n", { a: [image, image] })],
      Math.ceil((1 + '{"a":["",""]}'.length + 2 * 4_800) / 4),
    ],
    [
      "what looks like an image and has no data",
      [call("1", "n", { a: { type: "image", data: 5 } })],
      Math.ceil((1 + '{"a":{"type":"image","data":5}}'.length) / 4),
    ],
    [
      "what is called an image and is another type",
      [call("1", "n", { type: "text", data: "x" })],
      Math.ceil((1 + '{"type":"text","data":"x"}'.length) / 4),
    ],
    ["null and numbers", [call("1", "n", { a: null, b: 5 })], Math.ceil((1 + '{"a":null,"b":5}'.length) / 4)],
  ])("%s", (_title, content, tokens) => {
    expect(estimateMessage(message("user", ...content))).toBe(tokens);
  });

  test("an image deep in arguments is found to the sixth level, and is text below it", () => {
    const deep = (levels: number): Record<string, unknown> => ({ a: levels === 0 ? image : deep(levels - 1) });
    const size = (levels: number): number => estimateMessage(message("user", call("1", "n", deep(levels))));
    expect(size(5)).toBeLessThan(1_300);
    expect(size(6)).toBeGreaterThan(2_000);
  });

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

describe("the sizes at which something is done", () => {
  const limits = (more: object = {}) => thresholdsOf({ ...DEFAULT_CONTEXT_LIMITS, ...more });
  test.each<[string, object, object]>([
    [
      "by default",
      {},
      { emergency: 200_000, critical: 180_000, warning: 150_000, flush: 146_000, reserve: 20_000, keepRecent: 20_000 },
    ],
    [
      "in a window of 32,000",
      { contextWindow: 32_000 },
      { emergency: 32_000, reserve: 8_000, critical: 24_000, warning: 23_999, flush: 19_999, keepRecent: 8_000 },
    ],
    [
      "with a reserve that was asked for",
      { reserveTokens: 60_000 },
      { reserve: 60_000, critical: 140_000, warning: 139_999, flush: 135_999 },
    ],
    ["with a reserve beyond three quarters", { reserveTokens: 190_000 }, { reserve: 150_000, critical: 50_000 }],
    [
      "with a lower emergency limit",
      { emergencyContextLimit: 100_000 },
      { emergency: 100_000, critical: 90_000, warning: 75_000, flush: 71_000 },
    ],
    ["with a limit above the window", { emergencyContextLimit: 1e6 }, { emergency: 200_000 }],
    ["with more to keep than fits", { keepRecentTokens: 1e6 }, { keepRecent: 50_000 }],
    [
      "in the smallest window",
      { contextWindow: 0 },
      { emergency: 1, critical: 1, warning: 0, flush: 0, reserve: 0, keepRecent: 0 },
    ],
    [
      "in a window of 10",
      { contextWindow: 10 },
      { emergency: 10, reserve: 2, critical: 8, warning: 7, flush: 5, keepRecent: 2 },
    ],
  ])("%s", (_title, more, expected) => {
    expect(limits(more)).toMatchObject(expected);
  });
});

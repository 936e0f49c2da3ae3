import { describe, expect, test } from "vitest";
import type { Entry } from "../../../core/history/entry.ts";
import { chooseCut, type Sized } from "./choose-cut.ts";
import { assistant, calling, entry, result, user } from "./entries.test-kit.ts";

describe("where a history is cut", () => {
  const sized = (...all: readonly [Entry, number][]): Sized[] => all.map(([one, tokens]) => ({ entry: one, tokens }));
  const custom = () => entry({ type: "custom", name: "n", data: 1 });
  test.each<[string, Sized[], number, object | undefined]>([
    ["nothing, if all fits", sized([user(), 5], [assistant(), 5]), 10, undefined],
    [
      "before the last turn that fits",
      sized([user(), 5], [assistant(), 5], [user(), 5], [assistant(), 5]),
      10,
      { index: 2 },
    ],
    [
      "one token less",
      sized([user(), 5], [assistant(), 5], [user(), 5], [assistant(), 5]),
      9,
      { index: 3, turnStart: 2 },
    ],
    [
      "within a turn that is too long",
      sized([user(), 5], [assistant(), 50], [assistant(), 5]),
      10,
      { index: 2, turnStart: 0 },
    ],
    [
      "in a turn, at the first message that fits",
      sized([user(), 100], [assistant(), 10], [assistant(), 10], [assistant(), 10]),
      20,
      { index: 2, turnStart: 0 },
    ],
    [
      "nothing, if all of it fits, also if it begins within a turn",
      sized([assistant(), 5], [user(), 5]),
      100,
      undefined,
    ],
    ["before the first of several turns that fit", sized([user(), 50], [user(), 5], [user(), 5]), 10, { index: 1 }],
    ["nothing, if what lies before adds nothing", sized([assistant(), 0], [user(), 50]), 10, undefined],
    ["behind a single token", sized([user(), 1], [user(), 50]), 10, { index: 1 }],
    [
      "before the last one with content",
      sized([user(), 5], [assistant(), 500], [assistant(), 0]),
      10,
      { index: 1, turnStart: 0 },
    ],
    [
      "in the turn before the words that came between a call and its result",
      sized([user(), 50], [assistant(), 5], [calling("a"), 5], [user("and also"), 5], [result("a"), 5]),
      12,
      { index: 2, turnStart: 0 },
    ],
    [
      "not at a result, even without its call",
      sized([user(), 50], [result("x"), 5], [assistant(), 5]),
      10,
      { index: 2, turnStart: 0 },
    ],
    [
      "together with one that belongs to the next turn",
      sized([user(), 50], [custom(), 0], [user(), 5]),
      10,
      { index: 1 },
    ],
    ["before the last one, whatever its size", sized([user(), 5], [assistant(), 500]), 10, { index: 1, turnStart: 0 }],
    [
      "not between a call and its result",
      sized([user(), 5], [calling("a"), 5], [result("a"), 50], [assistant(), 5]),
      20,
      { index: 3, turnStart: 0 },
    ],
    [
      "not between two results",
      sized([user(), 5], [calling("a", "b"), 5], [result("a"), 5], [result("b"), 5]),
      7,
      { index: 1, turnStart: 0 },
    ],
    [
      "not at words that came between a call and its result",
      sized([user(), 50], [calling("a"), 5], [user("and also"), 5], [result("a"), 5], [assistant(), 5]),
      16,
      { index: 4, turnStart: 2 },
    ],
    ["nothing, if only what is not sent lies before", sized([custom(), 0], [user(), 50]), 10, undefined],
    [
      "together with what belongs to the next turn",
      sized([user(), 50], [custom(), 0], [custom(), 0], [user(), 5]),
      10,
      { index: 1 },
    ],
    [
      "before words that were put in",
      sized([user(), 50], [entry({ type: "custom_message", content: [] }), 5], [assistant(), 5]),
      10,
      { index: 1 },
    ],
    [
      "before the summary of a branch",
      sized([user(), 50], [entry({ type: "branch_summary", summary: "s" }), 5], [assistant(), 5]),
      10,
      { index: 1 },
    ],
    ["in a history without a turn", sized([assistant(), 50], [assistant(), 5]), 10, { index: 1 }],
    [
      "a result without its call holds nothing together",
      sized([user(), 50], [result("x"), 5], [assistant(), 5]),
      5,
      { index: 2, turnStart: 0 },
    ],
    [
      "a call that is used again",
      sized([user(), 50], [calling("a"), 5], [result("a"), 5], [user(), 5], [calling("a"), 5], [result("a"), 5]),
      15,
      { index: 3 },
    ],
  ])("%s", (_title, entries, keep, cut) => {
    expect(chooseCut(entries, keep)).toEqual(cut);
  });
});

import { expect, test } from "vitest";
import { costText, formatUsd } from "./cost-text.ts";

test.each([
  [0, 0, "$0.0000"],
  [0, 130, "cost n/a"],
  [0, 1, "cost n/a"],
  [0.00012, 130, "$0.0001"],
  [1.5, 0, "$1.5000"],
])("%d dollars for %d tokens read as %j: a price that is not known is not zero", (dollars, tokens, text) => {
  expect(costText(dollars, tokens)).toBe(text);
});

test.each([
  [0.02, "$0.02"],
  [12.345, "$12.35"],
  [0.01, "$0.01"],
  [0.0042, "$0.0042"],
  [0, "$0.0000"],
])("formatUsd writes %d dollars as %s", (dollars, text) => {
  expect(formatUsd(dollars)).toBe(text);
});

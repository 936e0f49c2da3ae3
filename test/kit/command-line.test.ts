import { expect, test } from "vitest";
import { helpOf, parseCommandLine } from "./command-line.ts";

const LINE = {
  name: "try",
  about: "Tries it.",
  words: "PATH",
  options: {
    times: { kind: "count", least: 1, default: 20, about: "How often." },
    most: { kind: "count", least: 0, about: "At most so many." },
    on: { kind: "text", shown: "WHAT", oneOf: ["disk", "memory"], default: "disk", about: "What it tries." },
    only: { kind: "texts", shown: "NAME", about: "Only these." },
    seed: { kind: "count", least: 1, about: `What is drawn${", and no more".repeat(6)}.` },
    again: { kind: "flag", about: "Begins anew." },
  },
} as const;

test.each<[string, object]>([
  ["", { times: 20, most: undefined, on: "disk", only: undefined, seed: undefined, again: false }],
  [
    "--times 3 --most 0 --on memory",
    { times: 3, most: 0, on: "memory", only: undefined, seed: undefined, again: false },
  ],
  [
    "--only a --again --only=b --seed 30",
    { times: 20, most: undefined, on: "disk", only: ["a", "b"], seed: 30, again: true },
  ],
])("reads %j", (words, values) => {
  const argv = words.split(" ").filter((word) => word !== "");
  expect(parseCommandLine(LINE, argv)).toEqual({ values, words: [] });
});

test("keeps words without an option", () => {
  expect(parseCommandLine(LINE, ["src", "--again", "test"]).words).toEqual(["src", "test"]);
  const { words: _none, ...without } = LINE;
  expect(() => parseCommandLine(without, ["src"])).toThrow("Unexpected argument 'src'");
});

test.each([
  ["--times 0", '--times takes a whole number, 1 or more, and not "0".'],
  ["--times=-1", '--times takes a whole number, 1 or more, and not "-1".'],
  ["--times 1.5", '--times takes a whole number, 1 or more, and not "1.5".'],
  ["--most many", '--most takes a whole number, 0 or more, and not "many".'],
  ["--most=", '--most takes a whole number, 0 or more, and not "".'],
  ["--seed x", '--seed takes a whole number, 1 or more, and not "x".'],
  ["--on tape", '--on takes disk, memory, and not "tape".'],
  ["--tims 3", "Unknown option '--tims'"],
])("refuses %s", (words, message) => {
  expect(() => parseCommandLine(LINE, words.split(" "))).toThrow(message);
});

test("the help names every option with its default", () => {
  expect(helpOf(LINE)).toBe(`Tries it.

Usage: npm run try -- [options] [PATH …]

  --times N    How often. (default 20)
  --most N     At most so many.
  --on WHAT    What it tries. (disk, memory; default disk)
  --only NAME  Only these. (may be repeated)
  --seed N     What is drawn, and no more, and no more, and no more, and no more, and no more, and
               no more.
  --again      Begins anew.`);
});

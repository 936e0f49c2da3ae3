/**
 * Feeds every text function the worst texts and finds those that cost more than linear time, or more than their limit. First
 * all texts at a short length, then the most expensive ones at the full length.
 */
import { findTextFunctions, load } from "./find-text-functions.ts";
import { measure } from "./text-cost.ts";
import { argumentsOf, exceptionOf, limitOf, MORE_CASES, type TextCase } from "./text-functions.ts";
import { WORST_TEXTS, type WorstText } from "./worst-texts.ts";

export interface TextFuzzing {
  /** The length at which all texts are tried. */
  readonly shortLength: number;
  /** The length at which the most expensive texts of each function are tried. */
  readonly length: number;
  /** How many texts of each function are tried at the full length. */
  readonly longTexts: number;
  /** Every nth text is tried. */
  readonly every?: number;
}

export interface FunctionCost {
  readonly name: string;
  readonly text: string;
  readonly length: number;
  readonly ms: number;
  readonly problem?: string;
}

/** A function that takes longer must work in slices or in a thread (M34). */
const MAX_MS = 50;

export async function textCases(): Promise<readonly TextCase[]> {
  const found = findTextFunctions().filter((one) => exceptionOf(one) === undefined);
  const cases = found.map(async (one): Promise<TextCase> => {
    const run = await load(one);
    const more = argumentsOf(one);
    return { name: one.key, run: (text) => run(text, ...more) };
  });
  return [...(await Promise.all(cases)), ...MORE_CASES];
}

/** The most expensive text of a function, and what is wrong with it, if anything is. */
export function fuzzTexts({ name, run }: TextCase, options: TextFuzzing): FunctionCost {
  const { shortLength, longTexts, every = 1 } = options;
  const length = Math.min(options.length, limitOf(name));
  const tried = WORST_TEXTS.filter((_, index) => index % every === 0).map((worst) => ({
    worst,
    ...measure(run, worst, Math.min(shortLength, length)),
  }));
  const bad = tried.find(({ isLinear }) => !isLinear);
  if (bad) return problemOf(name, bad, `grows ${bad.growth.toFixed(1)} times with twice the length`);
  const expensive = tried.sort((a, b) => b.last.ms - a.last.ms).slice(0, longTexts);
  let top: FunctionCost | undefined;
  for (const { worst } of expensive) {
    const measured = measure(run, worst, length);
    if (!measured.isLinear)
      return problemOf(name, measured, `grows ${measured.growth.toFixed(1)} times with twice the length`);
    const ms = measured.last.ms > MAX_MS ? again(run, worst, length) : measured.last.ms;
    if (!top || ms > top.ms) top = { name, text: worst.name, length, ms };
  }
  if (!top) return { name, text: "", length, ms: 0 };
  return top.ms > MAX_MS ? { ...top, problem: `takes ${top.ms.toFixed(0)} ms, more than ${MAX_MS}` } : top;
}

/** The least of several: a collection of garbage may fall into one of them. */
const again = (run: TextCase["run"], worst: WorstText, length: number): number =>
  Math.min(...[1, 2, 3, 4, 5].map(() => measure(run, { ...worst, of: () => worst.of(length) }, 1).last.ms));

const problemOf = (
  name: string,
  {
    text,
    last: { length, ms },
  }: { readonly text: string; readonly last: { readonly length: number; readonly ms: number } },
  problem: string,
): FunctionCost => ({ name, text, length, ms, problem });

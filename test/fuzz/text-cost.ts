/** Measures what a function costs over longer and longer texts, in processor time, and finds more than linear growth. */
import type { WorstText } from "./worst-texts.ts";

export interface Cost {
  readonly length: number;
  readonly ms: number;
}

export interface Measured {
  readonly text: string;
  /** At the greatest length that was tried. */
  readonly last: Cost;
  /** How much twice the length cost. About 2 if the cost is linear. */
  readonly growth: number;
  readonly isLinear: boolean;
}

const FIRST = 4_000;
/** Shorter times are noise: the collector of garbage alone takes as long. A linear function stays below at every length. */
const NOISE_MS = 150;
/** Twice the length may cost this much more. A quadratic function costs four times as much. */
const MAX_GROWTH = 2.6;
const REPEATS = 2;

function timeOf(work: (text: string) => unknown, text: string): number {
  const before = process.cpuUsage();
  try {
    work(text);
  } catch {
    // A refusal is an answer; only its cost counts.
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** The least of several: other work in the process only adds. */
const leastTime = (work: (text: string) => unknown, text: string): number =>
  Math.min(...Array.from({ length: REPEATS }, () => timeOf(work, text)));

/** Doubles the length up to `length`. Stops where the cost grows more than linearly, so that no text takes minutes. */
export function measure(work: (text: string) => unknown, worst: WorstText, length: number): Measured {
  let before: Cost = { length: 0, ms: 0 };
  for (let size = Math.min(FIRST, length); ; size = Math.min(2 * size, length)) {
    const text = worst.of(size);
    let ms = timeOf(work, text);
    if (ms > NOISE_MS) {
      ms = Math.min(ms, leastTime(work, text));
      const half = leastTime(work, worst.of(Math.floor(size / 2)));
      const growth = ms / Math.max(half, 1);
      if (ms > NOISE_MS && growth > MAX_GROWTH) {
        return { text: worst.name, last: { length: size, ms }, growth, isLinear: false };
      }
    }
    if (size >= length) {
      const growth = before.ms > 0 ? ms / before.ms : 1;
      return { text: worst.name, last: { length: size, ms }, growth, isLinear: true };
    }
    before = { length: size, ms };
  }
}

/** Medians, percentiles and intervals: the machine a bench runs on is shared, so single measurements mean little. */

export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);

export interface Interval {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  /** The probability that the true median lies between `low` and `high`. */
  readonly confidence: number;
}

/**
 * The median with an interval from order statistics: the narrowest pair of k-th lowest and k-th highest value that contains the
 * true median with at least the wanted confidence, for any distribution. With few values the interval is lowest to highest,
 * and `confidence` is lower than wanted.
 */
export function medianInterval(values: readonly number[], wanted = 0.9): Interval {
  const sorted = [...values].sort((a, b) => a - b);
  const n = sorted.length;
  const middle = ((sorted[Math.floor((n - 1) / 2)] ?? Number.NaN) + (sorted[Math.ceil((n - 1) / 2)] ?? Number.NaN)) / 2;
  let k = 1;
  while (k < n / 2 && confidenceOf(n, k + 1) >= wanted) k += 1;
  return {
    median: middle,
    low: sorted[k - 1] ?? Number.NaN,
    high: sorted[n - k] ?? Number.NaN,
    confidence: confidenceOf(n, k),
  };
}

/** The interval misses the median if fewer than k of n values lie on one side of it: twice a binomial tail. */
function confidenceOf(n: number, k: number): number {
  let tail = 0;
  let ways = 1;
  for (let i = 0; i < k; i++) {
    tail += ways;
    ways = (ways * (n - i)) / (i + 1);
  }
  return Math.max(0, 1 - (2 * tail) / 2 ** n);
}

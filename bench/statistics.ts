/** Medians and percentiles: the machine a bench runs on is shared, so single measurements mean little. */

export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);

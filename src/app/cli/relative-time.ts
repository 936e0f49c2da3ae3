/** Times for people: how long ago, or in how long. Programs get milliseconds with `--json`. */

const STEPS = [
  ["s", 1_000, 60],
  ["min", 60_000, 60],
  ["h", 3_600_000, 24],
  ["days", 86_400_000, 60],
  ["months", 30 * 86_400_000, 24],
] as const;
const YEAR_MS = 365 * 86_400_000;

/** `3 min ago`, `in 2 h`, `now`. */
export function relativeTime(at: number | undefined | null, now: number): string {
  if (at === undefined || at === null) return "–";
  const span = durationText(Math.abs(at - now));
  if (span === "0 s") return "now";
  return at > now ? `in ${span}` : `${span} ago`;
}

export function durationText(ms: number): string {
  for (const [unit, size, most] of STEPS) {
    const count = Math.round(ms / size);
    if (count < most) return `${count} ${count === 1 && unit.endsWith("s") && unit !== "s" ? unit.slice(0, -1) : unit}`;
  }
  return `${Math.round(ms / YEAR_MS)} years`;
}

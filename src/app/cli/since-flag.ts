/** A point in time on the command line: so long ago (`2h`, `7d`), or a date. */
import { UsageError } from "../../core/errors.ts";

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function sinceFlag(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const ago = /^(\d{1,9})\s*(s|m|h|d)$/u.exec(text.trim());
  const at = ago ? now - Number(ago[1]) * (UNITS[ago[2] ?? ""] ?? 0) : Date.parse(text);
  if (Number.isNaN(at)) {
    throw new UsageError(`"${text.slice(0, 50)}" is not a time.`, {
      hint: "Write 30m, 2h or 7d for so long ago, or a date such as 2026-01-31T09:00:00Z.",
    });
  }
  return Math.max(0, at);
}

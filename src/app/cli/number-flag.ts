/** Numbers on the command line. A wrong one is a usage error that names the flag and what it takes. */
import { UsageError } from "../../core/errors.ts";

interface Range {
  readonly min?: number;
  readonly max?: number;
  /** Also amounts such as 0.5. */
  readonly fraction?: true;
}

export function numberFlag(text: string, flag: string, range?: Range): number;
export function numberFlag(text: string | undefined, flag: string, range?: Range): number | undefined;
export function numberFlag(text: string | undefined, flag: string, range: Range = {}): number | undefined {
  if (text === undefined) return undefined;
  const { min = 1, max = Number.MAX_SAFE_INTEGER, fraction } = range;
  const number = Number(text);
  const isNumber = text.trim() !== "" && (fraction ? Number.isFinite(number) : Number.isSafeInteger(number));
  if (isNumber && number >= min && number <= max) return number;
  const what = fraction ? "an amount" : "a whole number";
  const least = min > 0 && min <= 1 ? "above 0" : `of ${min} or more`;
  const bounds = max === Number.MAX_SAFE_INTEGER ? least : `from ${min} to ${max}`;
  throw new UsageError(`${flag} takes ${what} ${bounds}.`);
}

/** `--limit` of a list. */
export const limitFlag = (text: string | undefined, otherwise: number, max = 10_000): number =>
  numberFlag(text ?? String(otherwise), "--limit", { max });

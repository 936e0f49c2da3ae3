/** The wait that a provider asks for, from its response headers: milliseconds, seconds or a date. */
import type { Clock } from "../../core/ports/clock.ts";

/** `header`: returns a header by its lower-case name. */
export function retryAfterMs(
  header: (name: string) => string | null | undefined,
  clock: Pick<Clock, "now">,
): number | undefined {
  const exact = numberIn(header("retry-after-ms"));
  if (exact !== undefined) return Math.ceil(exact);
  const said = header("retry-after")?.trim();
  if (!said) return undefined;
  const seconds = numberIn(said);
  if (seconds !== undefined) return Math.ceil(seconds * 1000);
  const date = /[a-z]/i.test(said) ? Date.parse(said) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - clock.now());
}

/** Google puts it in the body: `"retryDelay": "39s"`. */
export function retryDelayIn(body: string): number | undefined {
  const [, seconds] = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body) ?? [];
  return seconds === undefined ? undefined : Math.ceil(Number(seconds) * 1000);
}

function numberIn(text: string | null | undefined): number | undefined {
  const trimmed = text?.trim();
  return trimmed && /^\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : undefined;
}

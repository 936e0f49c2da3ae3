/** The delay before the next try: it doubles up to a limit, and is spread so that many retries do not happen at once. */

interface BackoffLimits {
  readonly retryMinMs?: number;
  readonly retryMaxMs?: number;
}

/** Spread by a hash of the key instead of at random: the same try always waits the same time. */
export function backoffMs(
  key: string,
  attempts: number,
  { retryMinMs = 1_000, retryMaxMs = 300_000 }: BackoffLimits = {},
): number {
  const full = Math.min(retryMaxMs, retryMinMs * 2 ** Math.max(0, attempts - 1));
  return Math.round(full * (0.75 + 0.5 * spread(`${key}:${attempts}`)));
}

/** Evenly between 0 and 1 (FNV-1a). */
function spread(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return (hash >>> 0) / 2 ** 32;
}

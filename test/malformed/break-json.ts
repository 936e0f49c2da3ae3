/** Breaks a good event: parts of it are replaced, removed or moved. */
import type { Random } from "../kit/random.ts";

export type Json = Record<string, unknown>;

const VALUES: readonly unknown[] = [
  ...[null, true, 0, -1, 1.5, 2 ** 60, "", "x", "\u0000", "\ud800", [], {}, [[]], { id: {} }, Number.NaN],
  ...["9".repeat(300), "a b", [null], { length: 5 }],
];

/** A copy with one to three mistakes. */
export function broken(good: Json, random: Random): Json {
  const event = structuredClone(good);
  for (let times = random.int(1, 3); times > 0; times--) breakOne(event, random);
  return event;
}

function breakOne(value: Json, random: Random): void {
  let at = value;
  for (let depth = random.int(1, 14); depth > 0; depth--) {
    const keys = Object.keys(at ?? {});
    const key = keys[random.int(0, Math.max(0, keys.length - 1))];
    if (key === undefined) return;
    const child = at[key];
    if (depth > 1 && typeof child === "object" && child !== null) {
      at = child as Json;
      continue;
    }
    if (random.int(0, 2) === 0) delete at[key];
    else at[key] = VALUES[random.int(0, VALUES.length - 1)];
    return;
  }
}

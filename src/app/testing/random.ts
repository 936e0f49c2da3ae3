/** Seeded randomness. Every part forks its own stream by name, so that its draws do not change those of other parts. */
export interface Random {
  /** In [0, 1). */
  next(): number;
  /** An integer from `min` to `max`, both included. */
  int(min: number, max: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  fork(name: string): Random;
}

export function randomOf(seed: number | string): Random {
  let [a, b, c, d] = mix(String(seed));
  // sfc32: small, fast, and the same on every machine.
  const next = (): number => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return (t >>> 0) / 4_294_967_296;
  };
  for (let warm = 0; warm < 12; warm++) next();
  return {
    next,
    int: (min, max) => min + Math.floor(next() * (max - min + 1)),
    chance: (probability) => next() < probability,
    pick: <T>(from: readonly T[]): T => {
      if (from.length === 0) throw new RangeError("Nothing to pick from.");
      return from[Math.floor(next() * from.length)] as T;
    },
    fork: (name) => randomOf(`${seed}/${name}`),
  };
}

/** Four words of state from a text (xmur3). */
function mix(text: string): [number, number, number, number] {
  let h = 1_779_033_703 ^ text.length;
  for (let i = 0; i < text.length; i++) {
    h = Math.imul(h ^ text.charCodeAt(i), 3_432_918_353);
    h = (h << 13) | (h >>> 19);
  }
  const word = (): number => {
    h = Math.imul(h ^ (h >>> 16), 2_246_822_507);
    h = Math.imul(h ^ (h >>> 13), 3_266_489_909);
    h ^= h >>> 16;
    return h | 0;
  };
  return [word(), word(), word(), word()];
}

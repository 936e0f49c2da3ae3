/** Numbers that look random and are the same for the same seed, so that what was found is found again. */
export interface Random {
  below(limit: number): number;
  of<T>(items: readonly T[]): T;
  text(longest: number): string;
}

export function randomFrom(seed: number): Random {
  let state = seed >>> 0 || 1;
  const below = (limit: number): number => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return limit <= 0 ? 0 : state % limit;
  };
  return {
    below,
    of: (items) => items[below(items.length)] as (typeof items)[number],
    text: (longest) =>
      String.fromCharCode(
        ...Array.from({ length: below(longest + 1) }, () => (below(10) === 0 ? below(0x3000) : 32 + below(95))),
      ),
  };
}

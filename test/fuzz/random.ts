/** The fuzzer's random choices: the same seed gives the same inputs, so that a problem can be found again. */
import { randomOf } from "../kit/random.ts";

export interface Random {
  /** An integer from 0 to `limit - 1`. */
  below(limit: number): number;
  of<T>(items: readonly T[]): T;
  text(maxLength: number): string;
}

export function randomFrom(seed: number): Random {
  const { int, pick } = randomOf(seed);
  const below = (limit: number): number => (limit <= 0 ? 0 : int(0, limit - 1));
  return {
    below,
    of: pick,
    text: (maxLength) =>
      String.fromCharCode(
        ...Array.from({ length: below(maxLength + 1) }, () => (below(10) === 0 ? below(0x3000) : 32 + below(95))),
      ),
  };
}

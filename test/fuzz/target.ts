/** A target of the fuzzer, and the loop that tries it. */
import { type Random, randomFrom } from "./random.ts";

export interface Target {
  readonly name: string;
  /** How often each kind of result came back: shows that the tries reached the code. */
  readonly seen: Map<string, number>;
  /** Resolves with the problem that was found, or with undefined. */
  tryOnce(random: Random): Promise<string | undefined>;
}

const PARALLEL = 8;

/** Tries a target with seeded random inputs and returns the problems. The same seed gives the same inputs. */
export async function fuzz({ name, tryOnce }: Target, tries: number, seed: number): Promise<readonly string[]> {
  const problems: string[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < tries) {
      const n = next++;
      const problem = await tryOnce(randomFrom(seed * 1_000_003 + n + 1)).catch((error: Error) => error.message);
      if (problem) problems.push(`${name}, try ${n}: ${problem}`);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return problems;
}

export const count = (seen: Map<string, number>, what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1);

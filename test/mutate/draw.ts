/**
 * Draws the mutants of a sample: in the random order of the seed, without those that the compiler refuses and those that the
 * list calls equivalent. So a sample of 300 has 300 that a test could find.
 */
import { checkTypes, unreadable } from "./check-types.ts";
import { type Equivalent, isEquivalent } from "./equivalent.ts";
import type { Mutant } from "./mutant.ts";
import type { Results } from "./results.ts";

export interface Drawn {
  readonly mutants: readonly Mutant[];
  /** Drawn and left out. */
  readonly refused: number;
  readonly equivalent: number;
}

export interface Draw {
  readonly root: string;
  readonly results: Results;
  readonly equivalent: readonly Equivalent[];
  /** Without the compiler: only what cannot be read is refused. */
  readonly quick: boolean;
}

/** About a third of what is drawn does not compile. */
const SPARE = 1.5;

/** Checks the types for several samples at once, because the compiler takes as long for one mutant as for many. */
export function draw(setup: Draw, orders: readonly (readonly Mutant[])[], count: number): readonly Drawn[] {
  for (let wanted = count === Infinity ? count : Math.ceil(count * SPARE); ; wanted *= SPARE) {
    check(setup, [...new Set(orders.flatMap((order) => order.slice(0, wanted)))]);
    const drawn = orders.map((order) => take(setup, order.slice(0, wanted), count));
    if (drawn.every(({ mutants }, index) => mutants.length === count || wanted >= (orders[index]?.length ?? 0)))
      return drawn;
  }
}

function check({ root, results, quick }: Draw, mutants: readonly Mutant[]): void {
  const open = mutants.filter((one) => results.compiles(one) === undefined);
  if (open.length === 0) return;
  console.log(`Checking the types of ${open.length} mutants …`);
  if (quick) {
    const broken = unreadable(root, open);
    for (const one of open) results.setCompiles(one, !broken.has(one.id), true);
  } else checkTypes(root, open, (one, accepted) => results.setCompiles(one, accepted));
}

function take({ root, results, equivalent }: Draw, order: readonly Mutant[], count: number): Drawn {
  const mutants: Mutant[] = [];
  let refused = 0;
  let same = 0;
  for (const one of order) {
    if (mutants.length === count) break;
    if (results.compiles(one) === false) refused += 1;
    else if (isEquivalent(root, equivalent, one)) same += 1;
    else mutants.push(one);
  }
  return { mutants, refused, equivalent: same };
}

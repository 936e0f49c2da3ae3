/**
 * Decides how much of a large proof `npm test` runs: a part of the random tries of a property, every nth place of an enumeration.
 * `ROOKERY_PROOFS=all npm test` runs all of it.
 */
export const ALL = process.env.ROOKERY_PROOFS === "all";

const PART = 5;

/** The number of random tries: a fifth of `all`, at least 10. */
export const tries = (all: number): number => (ALL ? all : Math.min(all, Math.max(10, Math.ceil(all / PART))));

/** The distance between two tried places of a long enumeration: every place with all proofs, else every nth. */
export const stride = (every: number): number => (ALL ? 1 : every);

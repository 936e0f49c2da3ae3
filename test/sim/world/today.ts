/** When every world starts, and its day for the budgets of a day: no world lasts until midnight. */

export const WALL_START = 1_800_000_000_000;

export const TODAY = new Date(WALL_START).toISOString().slice(0, 10);

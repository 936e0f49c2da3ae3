/** How long a refused key or login rests before it is tried again (M47): a minute, then twice as long each time, at most an hour. */
const BASE_MS = 60_000;
const MAX_MS = 3_600_000;

/** `refusals`: how many in a row, from 1. */
export const refusalPauseMs = (refusals: number): number => Math.min(MAX_MS, BASE_MS * 2 ** (refusals - 1));

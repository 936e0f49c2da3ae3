/**
 * Virtual time beside real sockets: it moves slowly while something is on its way, so that no timeout overtakes an answer, and
 * faster and faster while nothing is.
 */
import { performance } from "node:perf_hooks";
import { setTimeout as pause, setImmediate as turn } from "node:timers/promises";

export interface MovableClock {
  advance(ms: number, settle?: () => Promise<void>): Promise<void>;
}

/** How far time moves at once while nothing has been on its way for some moments. */
const QUIET_MS = 1_000;
/** Resources of a process that waits for others or for time. Any other resource is work in progress. */
const AT_REST = new Set(["TCPServerWrap", "TCPSocketWrap", "PipeWrap", "TTYWrap", "Timeout", "Immediate"]);

/** Waits a moment of real time, and for modules that are being loaded. */
const moment: () => Promise<void> =
  "__vitest_worker__" in globalThis ? (await import("vitest")).vi.dynamicImportSettled : () => pause(1);

/** For how many moments nothing was on its way. */
const quiet = new WeakMap<MovableClock, number>();

/** Moves the time by a step, or by several if nothing is on its way and no timer is due. */
export async function passTime(clock: MovableClock, stepMs: number): Promise<void> {
  const before = handledEvents();
  await moment();
  await turn();
  const moments = handledEvents() === before && isAtRest() ? (quiet.get(clock) ?? 0) : 0;
  const steps = Math.max(1, Math.min(2 ** moments, QUIET_MS / stepMs));
  let settled = 0;
  // Called before the first timer of a step and after each.
  const settle = async (): Promise<void> => {
    settled += 1;
    await turn();
  };
  let step = 0;
  for (; step < steps && settled === step; step++) await clock.advance(stepMs, settle);
  quiet.set(clock, settled === step ? moments + 1 : 0);
}

/** Sockets, files and other threads that have told this one something. Timers do not count. */
const handledEvents = (): number => performance.nodeTiming.uvMetricsInfo.events;

const isAtRest = (): boolean => process.getActiveResourcesInfo().every((kind) => AT_REST.has(kind));

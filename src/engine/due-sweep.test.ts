/** Rows that are worked on when they are due: one timer, an early look after a failure, none after the stop. */
import { expect, test } from "vitest";
import { virtualClock } from "../../test/kit/clock.ts";
import { type LogLine, recordingLog } from "../../test/kit/log.ts";
import { startDueSweep } from "./due-sweep.ts";

function world(shared: boolean, fails = false) {
  const clock = virtualClock(0);
  const at: number[] = [];
  const log: LogLine[] = [];
  const state = { next: undefined as number | undefined, fails };
  const sweep = startDueSweep(
    { clock, log: recordingLog(log) },
    {
      ...{ shared, failed: "it failed", laterMs: 500 },
      sweep: async () => {
        at.push(clock.now());
        if (state.fails) throw new Error("no");
        const { next } = state;
        state.next = undefined;
        return next;
      },
    },
  );
  const settle = async () => {
    for (let n = 0; n < 5; n++) await Promise.resolve();
  };
  return { clock, at, log, state, sweep, settle, advance: (ms: number) => clock.advance(ms, settle) };
}

test("work begins at once, and runs no timer without a next row", async () => {
  const { at, settle, advance, sweep } = world(false);
  await settle();
  await advance(1_000_000);
  expect(at).toEqual([0]);
  sweep.due(2_000_000);
  sweep.due(3_000_000);
  await advance(1_000_000);
  expect(at).toEqual([0, 2_000_000]);
  sweep.due(1);
  await advance(0);
  expect(at).toEqual([0, 2_000_000, 2_000_000]);
});

test("an earlier row comes first, and nothing comes after the stop", async () => {
  const { at, settle, advance, sweep, state } = world(false);
  await settle();
  state.next = 900;
  sweep.due(800);
  sweep.due(700);
  await advance(1_000);
  expect(at).toEqual([0, 700, 900]);
  sweep.stop();
  sweep.due(2_000);
  await advance(10_000);
  expect(at).toHaveLength(3);
});

test("a sweep looks again each minute where other nodes make rows, and after a failure", async () => {
  const { at, settle, advance, state } = world(true);
  await settle();
  await advance(120_000);
  expect(at).toEqual([0, 60_000, 120_000]);
  state.fails = true;
  await advance(60_000);
  await advance(1_000);
  expect(at.slice(3)).toEqual([180_000, 180_500, 181_000]);
});

test("a failure is logged with its reason, and tried again in its time although no row is known", async () => {
  const { at, log, settle, advance, state, clock } = world(false, true);
  await settle();
  expect(log).toEqual([{ level: "warn", message: "it failed", fields: { error: "no" } }]);
  await advance(499);
  expect(at).toEqual([0]);
  await advance(1);
  expect(at).toEqual([0, 500]);
  state.fails = false;
  await advance(500);
  expect([at, clock.timers]).toEqual([[0, 500, 1_000], 0]);
});

test("one timer runs: an earlier row replaces it, the stop cancels it", async () => {
  const { settle, sweep, clock, state, at, advance } = world(true);
  await settle();
  expect(clock.timers).toBe(1);
  sweep.due(5_000);
  sweep.due(5_000);
  sweep.due(4_000);
  expect(clock.timers).toBe(1);
  // A row that is due before the next look comes first also where other nodes make rows.
  state.next = 4_500;
  await advance(4_600);
  expect(at).toEqual([0, 4_000, 4_500]);
  sweep.stop();
  expect(clock.timers).toBe(0);
});

/** How long a wait is, what ends it, and that nothing of it is left afterwards. */
import { expect, test } from "vitest";
import { type Clock, sleep } from "./clock.ts";

/** A clock that is stepped by hand, with one timer. */
function steppedClock() {
  let timer: { readonly ms: number; readonly callback: () => void } | undefined;
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    after(ms, callback) {
      timer = { ms, callback };
      return () => {
        timer = undefined;
      };
    },
  };
  return { clock, timer: () => timer?.ms, ring: () => timer?.callback() };
}

/** A signal that says how many listeners it has. */
function watchedSignal() {
  const controller = new AbortController();
  const { signal } = controller;
  const listeners = new Set<unknown>();
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = (type: string, listener: never, options: object) => {
    listeners.add(listener);
    add(type, listener, options);
  };
  signal.removeEventListener = (type: string, listener: never) => {
    listeners.delete(listener);
    remove(type, listener);
  };
  return { signal, listeners, abort: () => controller.abort() };
}

test("a wait ends after its time, and no longer listens to its signal", async () => {
  const [{ clock, timer, ring }, { signal, listeners, abort }] = [steppedClock(), watchedSignal()];
  const slept = sleep(clock, 500, signal);
  expect([timer(), listeners.size]).toEqual([500, 1]);
  ring();
  await expect(slept).resolves.toBe("slept");
  expect(listeners.size).toBe(0);
  abort();
  await expect(slept).resolves.toBe("slept");
});

test("a wait ends at once when its signal aborts, and its timer is cancelled", async () => {
  const [{ clock, timer }, { signal, abort }] = [steppedClock(), watchedSignal()];
  const slept = sleep(clock, 500, signal);
  abort();
  await expect(slept).resolves.toBe("aborted");
  expect(timer()).toBeUndefined();
});

test("a wait whose signal has aborted before sets no timer", async () => {
  const [{ clock, timer }, { signal, listeners, abort }] = [steppedClock(), watchedSignal()];
  abort();
  const slept = sleep(clock, 500, signal);
  expect([timer(), listeners.size]).toEqual([undefined, 0]);
  await expect(slept).resolves.toBe("aborted");
});

test("a wait without a signal ends after its time", async () => {
  const { clock, ring } = steppedClock();
  const slept = sleep(clock, 5);
  ring();
  await expect(slept).resolves.toBe("slept");
});

/** When a heartbeat that was asked for is decided, and when its jobs are synced again, on a clock and a store that only count. */
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { seededIds } from "../../../../test/kit/ids.ts";
import { recordingLog } from "../../../../test/kit/log.ts";
import { parseConfig } from "../../../config/parse-config.ts";
import { InvalidInputError, TimeoutError } from "../../../core/errors.ts";
import { HeartbeatRunner, startHeartbeatRunner } from "./heartbeat-runner.ts";

const config = (text: string) => parseConfig({ text, file: "rookery.json5", env: {} }).config;
/** Every tick is skipped as disabled. */
const OFF = config(`{ heartbeat: { every: "0" } }`);
const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

function setup(fail: () => Error | undefined = () => undefined) {
  const clock = virtualClock();
  const looked: number[] = [];
  const store = {
    job: async () => {
      const error = fail();
      if (error) throw error;
      looked.push(clock.monotonic());
      return undefined;
    },
    jobs: async () => [],
  };
  const ports = { clock, store, ids: seededIds("beats"), log: recordingLog([]) } as never;
  const runner = new HeartbeatRunner(ports, OFF);
  const advance = (ms: number): Promise<void> => clock.advance(ms, turn);
  return { clock, looked, ports, runner, advance, start: () => runner.start({} as never) };
}

describe("a request", () => {
  test.each([
    ["manual", undefined, 250],
    ["retry", undefined, 1_000],
    ["cron:job", undefined, 250],
    ["manual", 40, 40],
  ])("for the reason %s within %s ms is decided after %d ms", async (reason, within, ms) => {
    const { runner, start, looked, advance, clock } = setup();
    await start();
    looked.length = 0;
    runner.requestNow(reason, "main", within);
    await advance(ms - 1);
    expect(looked).toEqual([]);
    await advance(1);
    expect([looked, clock.timers]).toEqual([[ms], 0]);
  });

  test.each([
    ["manual", "manual", [250]],
    ["manual", "retry", [250]],
    // The more important one takes the place of the other, and its own time.
    ["retry", "manual", [350]],
    ["manual", "exec-event", [350]],
  ])("for %s, and 100 ms later one for %s, are decided at %j", async (first, second, times) => {
    const { runner, start, looked, advance } = setup();
    await start();
    looked.length = 0;
    runner.requestNow(first, "main");
    await advance(100);
    runner.requestNow(second, "main");
    await advance(5_000);
    expect(looked).toEqual(times);
  });

  test("for no profile is one for each that has a heartbeat", async () => {
    const { runner, start, clock } = setup();
    await start();
    runner.requestNow("manual");
    runner.requestNow("manual", "other");
    expect(clock.timers).toBe(2);
  });
});

describe("the sync of the jobs", () => {
  test("is tried again each second while the store does not answer, and no more after a stop", async () => {
    let sick = true;
    let tries = 0;
    const { start, advance, clock, runner, looked } = setup(() => {
      tries += 1;
      return sick ? new TimeoutError("The store does not answer.") : undefined;
    });
    await start();
    await advance(999);
    expect(tries).toBe(1);
    await advance(1_001);
    expect(tries).toBe(3);
    sick = false;
    await advance(1_000);
    expect([tries, looked.length, clock.timers]).toEqual([4, 1, 0]);
    sick = true;
    await runner.updateConfig(OFF);
    runner.stop();
    await advance(5_000);
    expect([tries, clock.timers]).toEqual([5, 0]);
    await runner.updateConfig(OFF);
    expect(tries).toBe(5);
  });

  test("ends with an error that is known and that no later try can mend", async () => {
    const { start, clock } = setup(() => new InvalidInputError("wrong"));
    await expect(start()).rejects.toThrow("wrong");
    expect(clock.timers).toBe(0);
  });

  test("is done when the heartbeat has started, and a signal stops it", async () => {
    const { ports, clock, looked } = setup();
    const ended = new AbortController();
    const options = { ports, cfg: OFF, agents: {} as never, abortSignal: ended.signal };
    const runner = await startHeartbeatRunner(options);
    expect(looked).toHaveLength(1);
    runner.requestNow("manual");
    expect(clock.timers).toBe(1);
    ended.abort();
    expect(clock.timers).toBe(0);
  });
});

import { expect, test } from "vitest";
import { makeEventLog } from "./event-log.ts";
import { type CrashPoint, startProcess } from "./process.ts";
import { makeScheduler } from "./scheduler.ts";

function world(fateAt: (point: CrashPoint) => "die" | "pause" | "go" = () => "go") {
  const scheduler = makeScheduler((error) => {
    throw error;
  });
  const log = makeEventLog(() => scheduler.time);
  const process = startProcess(
    { scheduler, log, wall: () => scheduler.time, fateAt, onPause: () => {}, onDeath: () => {} },
    "a",
    1,
  );
  return { scheduler, process };
}

test("a process that dies before a call never makes it", async () => {
  const { scheduler, process } = world(({ moment }) => (moment === "before" ? "die" : "go"));
  let made = false;
  void process.call<void>("send", "x", () => {
    made = true;
  });
  await scheduler.run(10);
  expect(made).toBe(false);
  expect(process.state).toBe("dead");
});

test("a process that dies after a call has made it and never gets the answer", async () => {
  const { scheduler, process } = world(({ moment }) => (moment === "after" ? "die" : "go"));
  let made = false;
  let heard = false;
  void process
    .call<void>("send", "x", (answer) => {
      made = true;
      scheduler.after(1, () => answer({ value: undefined }));
    })
    .then(() => {
      heard = true;
    });
  await scheduler.run(10);
  expect({ made, heard, state: process.state }).toEqual({ made: true, heard: false, state: "dead" });
});

test("a paused process gets answers and timers late, in order, without the cancelled ones", async () => {
  const { scheduler, process } = world();
  const seen: string[] = [];
  process.clock.after(5, () => {
    seen.push(`timer at ${scheduler.time}`);
    cancel();
  });
  const cancel = process.clock.after(6, () => seen.push("cancelled"));
  void process
    .call<void>("read", "x", (answer) => void scheduler.after(7, () => answer({ value: undefined })))
    .then(() => {
      seen.push(`answer at ${scheduler.time}`);
    });
  scheduler.after(1, () => process.pause("for a while"));
  scheduler.after(50, () => process.resume());
  await scheduler.run(100);
  expect(seen).toEqual(["timer at 50", "answer at 50"]);
});

test("timers of a dead process are dropped", async () => {
  const { scheduler, process } = world();
  let fired = false;
  process.clock.after(5, () => {
    fired = true;
  });
  process.kill("by the test");
  await scheduler.run(10);
  expect(fired).toBe(false);
});

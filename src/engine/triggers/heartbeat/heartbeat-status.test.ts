/** What is shown of the heartbeats of a node. */
import { expect, test } from "vitest";
import { HeartbeatRunner } from "./heartbeat-runner.ts";

const SECTIONS = {
  heartbeat: { every: "1h", target: "none" },
  profiles: { one: { heartbeat: {} }, two: { heartbeat: { every: "0" } }, three: {} },
};

function open(jobs: Readonly<Record<string, object>>) {
  const asked: unknown[] = [];
  const store = {
    job: async (id: string) => jobs[id],
    jobSlots: async (id: string, page: object) => {
      asked.push([id, page]);
      return [`ticks of ${id}`];
    },
  };
  return { runner: new HeartbeatRunner({ store } as never, SECTIONS), asked };
}

test("the status has the settings, the times and the latest ticks of each profile with a heartbeat", async () => {
  const state = { nextRunAtMs: 7, lastRunAtMs: 5 };
  const { runner, asked } = open({
    "heartbeat:one": { enabled: true, state },
    "heartbeat:two": { enabled: false, state },
  });
  const common = { target: "none", ackMaxChars: 300, lastRunMs: 5 };
  expect(await runner.status()).toMatchObject([
    { ...common, profile: "one", enabled: true, every: "1h", everyMs: 3_600_000, nextDueMs: 7 },
    { ...common, profile: "two", enabled: false, every: "disabled", everyMs: null, nextDueMs: undefined },
  ]);
  expect((await runner.status(3)).map(({ ticks }) => ticks)).toEqual([
    ["ticks of heartbeat:one"],
    ["ticks of heartbeat:two"],
  ]);
  expect(asked).toEqual([
    ["heartbeat:one", { limit: 10 }],
    ["heartbeat:two", { limit: 10 }],
    ["heartbeat:one", { limit: 3 }],
    ["heartbeat:two", { limit: 3 }],
  ]);
});

test("a profile whose job does not exist yet has no times", async () => {
  const [one] = await open({}).runner.status();
  expect([one?.nextDueMs, one?.lastRunMs]).toEqual([undefined, undefined]);
});

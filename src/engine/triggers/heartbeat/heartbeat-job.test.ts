/** The jobs behind the heartbeats of profiles: when one is added, edited, turned off, or left alone. */
import { describe, expect, test } from "vitest";
import { type LogLine, recordingLog } from "../../../../test/kit/log.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import type { Op } from "../../../core/store/change.ts";
import type { HeartbeatSections } from "./heartbeat-config.ts";
import { syncHeartbeatJobs } from "./heartbeat-job.ts";

const MINUTE = 60_000;
const NOW = 5_000_000;
const every = (text: string): HeartbeatSections => ({ heartbeat: { every: text }, profiles: {} });
const jobOf = (profile: string, more: Partial<CronJob> = {}): CronJob =>
  ({
    id: `heartbeat:${profile}`,
    agentId: profile,
    system: "heartbeat",
    enabled: true,
    schedule: { kind: "every", everyMs: 30 * MINUTE, anchorMs: 0 },
    payload: { kind: "systemEvent", text: "heartbeat" },
    sessionTarget: "main",
    state: { nextRunAtMs: NOW + MINUTE },
    version: 3,
    ...more,
  }) as CronJob;

async function synced(jobs: readonly CronJob[], config: HeartbeatSections, isRefused = false) {
  const commits: { site: string; ops: readonly Op[] }[] = [];
  const lines: LogLine[] = [];
  const pages: unknown[] = [];
  const store = {
    job: async (id: string) => jobs.find((job) => job.id === id),
    jobs: async (page: { after: string }) => {
      pages.push(page);
      return jobs.filter(({ id }) => id > page.after);
    },
    outcome: async () => undefined,
    commit: async ({ site, ops }: { site: string; ops: readonly Op[] }) => {
      commits.push({ site, ops });
      return isRefused ? { ok: false, detail: "taken" } : { ok: true, results: [] };
    },
  };
  const ports = { store, clock: { now: () => NOW }, ids: { change: () => "c" }, log: recordingLog(lines) } as never;
  await syncHeartbeatJobs(ports, config);
  expect(pages).toEqual([{ limit: 1_000, after: "heartbeat:" }]);
  return { commits, lines };
}
const putsOf = ({ commits }: Awaited<ReturnType<typeof synced>>) =>
  commits.map(({ site, ops }) => {
    const put = ops.at(-1) as { job: CronJob; expect: number };
    const { id, enabled, schedule, state } = put.job;
    return [site, id, enabled, (schedule as { everyMs: number }).everyMs / MINUTE, state.nextRunAtMs, put.expect];
  });

describe("the heartbeat of a profile", () => {
  test("that is configured and has no job gets one", async () => {
    const { commits } = await synced([], every("30m"));
    expect(commits).toMatchObject([
      {
        site: "heartbeat.add",
        ops: [
          {
            op: "job.put",
            expect: 0,
            job: {
              id: "heartbeat:main",
              agentId: "main",
              name: "heartbeat of main",
              system: "heartbeat",
              missed: "once",
              wakeMode: "now",
              enabled: true,
              sessionTarget: "main",
              schedule: { kind: "every", everyMs: 30 * MINUTE, anchorMs: NOW },
              state: { nextRunAtMs: NOW + 30 * MINUTE },
            },
          },
        ],
      },
    ]);
    expect(commits[0]?.ops).toHaveLength(1);
  });

  test.each<readonly [string, CronJob[], string, unknown[]]>([
    ["is off and has no job: nothing", [], "0", []],
    ["is as configured: nothing", [jobOf("main")], "30m", []],
    [
      "has another interval: a new rhythm",
      [jobOf("main")],
      "10m",
      [["heartbeat.edit", "heartbeat:main", true, 10, NOW + 10 * MINUTE, 3]],
    ],
    [
      "is turned off: off, with its interval",
      [jobOf("main")],
      "0",
      [["heartbeat.edit", "heartbeat:main", false, 30, undefined, 3]],
    ],
    ["is off already: nothing", [jobOf("main", { enabled: false })], "0", []],
    [
      "is on again: on",
      [jobOf("main", { enabled: false, state: {} })],
      "30m",
      [["heartbeat.edit", "heartbeat:main", true, 30, 3 * 30 * MINUTE, 3]],
    ],
    [
      "was turned off after failures: nothing",
      [jobOf("main", { enabled: false, state: { disabledReason: "10" } })],
      "30m",
      [],
    ],
    [
      "was turned off after failures, and has another interval: on",
      [jobOf("main", { enabled: false, state: { disabledReason: "10" } })],
      "10m",
      [["heartbeat.edit", "heartbeat:main", true, 10, NOW + 10 * MINUTE, 3]],
    ],
  ])("that %s", async (_what, jobs, interval, expected) => {
    expect(putsOf(await synced(jobs, every(interval)))).toEqual(expected);
  });

  test("that failed and is as configured keeps its reason and stays as it is", async () => {
    expect((await synced([jobOf("main", { state: { disabledReason: "old" } })], every("30m"))).commits).toEqual([]);
  });
});

describe("the heartbeat of a profile that is not configured any more", () => {
  test.each<readonly [string, Partial<CronJob>, boolean]>([
    ["is turned off", {}, true],
    ["that is off stays as it is", { enabled: false }, false],
    ["of no profile is turned off", { agentId: undefined }, true],
    ["that is a person's job with such an id is left alone", { system: undefined }, false],
  ])("%s", async (_what, more, isOff) => {
    const result = await synced([jobOf("main"), jobOf("old", more)], every("30m"));
    expect(putsOf(result)).toEqual(isOff ? [["heartbeat.edit", "heartbeat:old", false, 30, undefined, 3]] : []);
  });

  test("is found among all, and no job with another id is touched", async () => {
    const other = jobOf("x", { id: "j" });
    const jobs = [jobOf("a"), jobOf("b"), jobOf("main"), other];
    expect(putsOf(await synced(jobs, every("30m"))).map(([, id]) => id)).toEqual(["heartbeat:a", "heartbeat:b"]);
    const own = { ...every("30m"), profiles: { a: { heartbeat: {} }, b: { heartbeat: { every: "10m" } } } };
    expect(putsOf(await synced(jobs, own)).map(([, id, enabled]) => [id, enabled])).toEqual([
      ["heartbeat:b", true],
      ["heartbeat:main", false],
    ]);
  });
});

test("a refusal is another node's change, and no error", async () => {
  const { commits, lines } = await synced([], every("30m"), true);
  expect(commits).toHaveLength(1);
  expect(lines).toMatchObject([{ level: "info", fields: { detail: "taken" } }]);
  expect((await synced([], every("30m"))).lines).toEqual([]);
});

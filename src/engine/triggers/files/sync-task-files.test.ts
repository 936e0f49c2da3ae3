/** What becomes of a job when its file is new, changed, wrong, shared, missing, or another node was first. */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type LogLine, recordingLog } from "../../../../test/kit/log.ts";
import { StoreUnavailableError } from "../../../core/errors.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import type { Op } from "../../../core/store/change.ts";
import { syncTaskFiles, type TaskFile } from "./sync-task-files.ts";

const NOW = Date.parse("2026-01-05T09:30:00Z");
const ID = "tz4a98xxat96iws9zmbrgj3a";
const OTHER = "tz4a98xxat96iws9zmbrgj3b";
const path = "cron/mail/TASK.md";
const text = (more = "", id = ID) => `---\nname: Mail\nschedule: 0 10 * * *\ntaskId: ${id}\n${more}---\nLook.\n`;
const hashOf = (of: string) => createHash("sha256").update(of).digest("hex");
const jobOf = (more: Partial<CronJob> = {}): CronJob => ({
  id: ID,
  agentId: "main",
  name: "Mail",
  enabled: true,
  createdAtMs: 1,
  updatedAtMs: 1,
  schedule: { kind: "cron", expr: "0 10 * * *" },
  zone: "UTC",
  sessionTarget: "isolated",
  wakeMode: "next-heartbeat",
  payload: { kind: "agentTurn", message: "Look." },
  state: { nextRunAtMs: Date.parse("2026-01-05T10:00:00Z"), consecutiveErrors: 2 },
  file: path,
  fileHash: "old",
  version: 5,
  revision: 3,
  memory: "notes",
  ...more,
});

interface World {
  readonly jobs?: readonly CronJob[];
  readonly keepsMissing?: boolean;
  readonly isRefused?: boolean;
  readonly isBroken?: boolean;
}

async function synced(files: readonly Partial<TaskFile>[], world: World = {}) {
  const { jobs = [], keepsMissing, isRefused, isBroken } = world;
  const commits: { site: string; ops: readonly Op[] }[] = [];
  const lines: LogLine[] = [];
  const store = {
    job: async (id: string) => jobs.find((job) => job.id === id),
    jobs: async () => jobs,
    outcome: async () => undefined,
    commit: async ({ site, ops }: { site: string; ops: readonly Op[] }) => {
      if (isBroken) throw new StoreUnavailableError("away");
      commits.push({ site, ops });
      return isRefused ? { ok: false, detail: "changed" } : { ok: true, results: [] };
    },
  };
  const ports = { store, clock: { now: () => NOW }, ids: { change: () => "c" }, log: recordingLog(lines), zone: "UTC" };
  const all = files.map((file) => ({ path, text: text(), ...file }));
  const problems = await syncTaskFiles({ ...ports, keepsMissing } as never, "main", all);
  return { problems, commits, lines, sites: commits.map(({ site }) => site) };
}
const putOf = ({ commits }: Awaited<ReturnType<typeof synced>>) =>
  commits[0]?.ops.at(-1) as unknown as { op: string; job: CronJob; expect: number };

describe("a new file", () => {
  test("adds a job of the owner, for the workspace's profile", async () => {
    const result = await synced([{ text: text("agentId: a7\n") }]);
    expect([result.problems, result.sites]).toEqual([[], ["task.new"]]);
    expect(result.commits[0]?.ops).toHaveLength(1);
    expect(putOf(result)).toMatchObject({
      op: "job.put",
      expect: 0,
      job: {
        id: ID,
        agentId: "main",
        name: "Mail",
        enabled: true,
        file: path,
        fileHash: hashOf(text("agentId: a7\n")),
        targetAgentId: "a7",
        behalf: { person: "owner" },
        zone: "UTC",
        state: { nextRunAtMs: Date.parse("2026-01-05T10:00:00Z") },
      },
    });
    expect(putOf(result).job.behalf?.untrusted).toBeUndefined();
  });

  test("that was written with untrusted text marks its job", async () => {
    expect(putOf(await synced([{ untrusted: true }])).job.behalf).toEqual({ person: "owner", untrusted: true });
    expect(putOf(await synced([{ untrusted: true }], { jobs: [jobOf()] })).job.behalf).toEqual({
      person: "owner",
      untrusted: true,
    });
  });

  test("with the id of a job that is no file is refused, and the job stays", async () => {
    const { problems, commits } = await synced([{}], { jobs: [jobOf({ file: undefined })] });
    expect(problems).toEqual([{ path, reason: `Another job has the id ${ID}, and it is not a file.` }]);
    expect(commits).toEqual([]);
  });

  test("with the id of another file is refused, and the first one counts", async () => {
    const { problems, sites } = await synced([{}, { path: "cron/two/TASK.md", text: text("enabled: false\n") }]);
    expect(problems).toEqual([{ path: "cron/two/TASK.md", reason: `Another file has the taskId ${ID}.` }]);
    expect(sites).toEqual(["task.new"]);
  });
});

describe("a changed file", () => {
  test("edits its job over the version that was read, and keeps what the file does not say", async () => {
    const result = await synced([{ path: "cron/moved/TASK.md" }], { jobs: [jobOf()] });
    expect(result.sites).toEqual(["task.edit"]);
    expect(result.commits[0]?.ops).toHaveLength(1);
    const { op, job, expect: version } = putOf(result);
    expect([op, version]).toEqual(["job.put", 5]);
    expect(job).toMatchObject({
      memory: "notes",
      revision: 3,
      createdAtMs: 1,
      file: "cron/moved/TASK.md",
      fileHash: hashOf(text()),
      state: jobOf().state,
    });
  });

  test("that is the same changes nothing", async () => {
    expect((await synced([{}], { jobs: [jobOf({ fileHash: hashOf(text()) })] })).commits).toEqual([]);
  });

  test("with another schedule closes the due times of the old one in the same commit", async () => {
    const late = jobOf({ schedule: { kind: "cron", expr: "0 9 * * *" }, state: { nextRunAtMs: NOW - 1_800_000 } });
    const result = await synced([{}], { jobs: [late] });
    expect(result.commits[0]?.ops).toMatchObject([
      { op: "job.slot", slot: { reason: "edited", revision: 3 } },
      { op: "job.put", job: { revision: 4, fileHash: hashOf(text()) } },
    ]);
    expect(result.commits[0]?.ops).toHaveLength(2);
  });

  test("turns its job on again, and resets what it names no more", async () => {
    const set = {
      description: "d",
      deleteAfterRun: true,
      isolation: { postToMainPrefix: "p" },
      missed: "all",
      maxLatenessMs: 5,
      overlap: "queue",
      staggerMs: 7,
      gate: { kind: "command", command: "true" },
      targetAgentId: "a7",
    } as const;
    const { job } = putOf(await synced([{}], { jobs: [jobOf({ ...set, enabled: false, wakeMode: "now" })] }));
    expect([job.enabled, job.wakeMode]).toEqual([true, "now"]);
    for (const name of Object.keys(set)) expect(job[name], name).toBeUndefined();
  });

  test("that turns its job off does so", async () => {
    expect(putOf(await synced([{ text: text("enabled: false\n") }], { jobs: [jobOf()] })).job.enabled).toBe(false);
  });
});

describe("a missing file", () => {
  const gone = (more: Partial<CronJob>) => synced([], { jobs: [jobOf(more)] });

  test("removes its job, and closes its due times", async () => {
    const { sites, commits } = await gone({ state: { nextRunAtMs: NOW } });
    expect(sites).toEqual(["task.gone"]);
    expect(commits[0]?.ops).toMatchObject([
      { op: "job.slot", slot: { reason: "removed" } },
      { op: "job.remove", id: ID, expect: 5 },
    ]);
  });

  test.each<readonly [string, Partial<CronJob>]>([
    ["no file", { file: undefined }],
    ["a file of another workspace", { agentId: "work" }],
    ["a file of no workspace", { agentId: undefined }],
  ])("is none of a job with %s", async (_what, more) => {
    expect((await gone(more)).commits).toEqual([]);
  });

  test("may be on another machine", async () => {
    expect((await synced([], { jobs: [jobOf()], keepsMissing: true })).commits).toEqual([]);
  });

  test("is not one that is wrong now: that keeps its job, and the others are still read", async () => {
    const jobs = [jobOf(), jobOf({ id: OTHER, file: "cron/two/TASK.md" })];
    const { problems, sites, commits } = await synced([{ text: "nothing" }], { jobs });
    expect(problems).toEqual([{ path, reason: "The task has no name." }]);
    expect(sites).toEqual(["task.gone"]);
    expect(commits[0]?.ops).toMatchObject([{ op: "job.remove", id: OTHER }]);
  });

  test("is one that has another id now", async () => {
    const { sites } = await synced([{ text: text("", OTHER) }], { jobs: [jobOf()] });
    expect(sites).toEqual(["task.new", "task.gone"]);
  });
});

describe("the store", () => {
  test("that refuses, because another node was first, is asked again later", async () => {
    const { problems, lines } = await synced([{}], { isRefused: true });
    expect(problems).toEqual([]);
    expect(lines).toMatchObject([{ level: "info", fields: { detail: "changed" } }]);
    expect((await synced([{}])).lines).toEqual([]);
  });

  test("that does not answer is no problem of the file", async () => {
    await expect(synced([{}], { isBroken: true })).rejects.toThrow("away");
  });
});

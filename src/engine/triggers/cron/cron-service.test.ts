/** Jobs that are listed, viewed, changed and started: what is shown, what is committed, and who may do it. */

import { describe, expect, test } from "vitest";
import { type SettingsPart, testSettings } from "../../../../test/kit/settings.ts";
import { StoreUnavailableError } from "../../../core/errors.ts";
import type { Behalf } from "../../../core/people/behalf.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import type { Op } from "../../../core/store/change.ts";
import { hostZone } from "../../../core/zoned-time.ts";
import { CronService, type CronServiceOptions } from "./cron-service.ts";

const HOUR = 3_600_000;
const NOW = Date.parse("2026-01-05T09:30:00Z");
const turn = { kind: "agentTurn", message: "work" } as const;
const jobOf = (more: Partial<CronJob> = {}): CronJob => ({
  id: "j",
  name: "mail",
  enabled: true,
  createdAtMs: 1,
  updatedAtMs: 1,
  schedule: { kind: "every", everyMs: HOUR, anchorMs: NOW - HOUR / 2 },
  sessionTarget: "isolated",
  wakeMode: "next-heartbeat",
  payload: turn,
  state: { nextRunAtMs: NOW + HOUR / 2 },
  behalf: { person: "owner" as never },
  version: 4,
  revision: 2,
  ...more,
});

interface World {
  readonly jobs?: readonly CronJob[];
  readonly slots?: readonly object[];
  readonly deliveries?: Readonly<Record<string, object>>;
  /** Commits that are refused before one is taken. */
  readonly refused?: number;
  /** No commit is possible. */
  readonly broken?: boolean;
  readonly post?: ConstructorParameters<typeof CronService>[0]["post"];
  readonly settings?: SettingsPart;
  readonly jobProblem?: CronServiceOptions["jobProblem"];
}

function open({ jobs = [jobOf()], slots = [], deliveries = {}, refused = 0, broken, post, ...more }: World = {}) {
  const known = new Map(jobs.map((job) => [job.id, job]));
  const asked: unknown[] = [];
  const commits: { site: string; ops: readonly Op[] }[] = [];
  const seen = { changed: 0, tries: 0, made: 0, reads: 0 };
  const ports = {
    clock: { now: () => NOW },
    ids: { uuid: () => `u${++seen.made}`, change: () => "c", agent: () => "a", entry: () => "e" },
    store: {
      jobs: async (page: unknown) => {
        asked.push(page);
        return jobs;
      },
      job: async (id: string) => {
        seen.reads += 1;
        return known.get(id);
      },
      jobSlots: async (id: string, page: unknown) => {
        asked.push([id, page]);
        return slots;
      },
      delivery: async (id: string) => deliveries[id],
      agentByKey: async () => undefined,
      outcome: async () => undefined,
      commit: async ({ site, ops }: { site: string; ops: readonly Op[] }) => {
        seen.tries += 1;
        if (broken) throw new StoreUnavailableError("away");
        if (seen.tries <= refused) return { ok: false, detail: "the job has changed" };
        commits.push({ site, ops });
        for (const op of ops) if (op.op === "job.put") known.set(op.job.id, op.job);
        return { ok: true, results: [] };
      },
    },
    people: {
      addressOf: async () => ({ to: "route" }),
      addressOfConversation: async () => ({ to: "route" }),
      personOf: async () => "ann",
      personOfNew: async (_seed: unknown, behalf?: Behalf) => behalf?.person ?? "no one",
      directory: {
        now: async () => ({ standing: (person: string) => ({ person, role: "stranger" }), personOf: () => undefined }),
      },
    },
    changed: () => {
      seen.changed += 1;
    },
    post,
  } as never;
  return {
    cron: new CronService(ports, { settings: testSettings(more.settings), jobProblem: more.jobProblem }),
    commits,
    asked,
    seen,
    known,
  };
}
const opOf = (ops: readonly Op[] | undefined, kind: Op["op"]): Record<string, never> =>
  ops?.find(({ op }) => op === kind) as never;

describe("the id of a job", () => {
  test.each(["a", "7", "A-b_c.d:e", `a${"x".repeat(199)}`])("may be %j", async (id) => {
    expect(await open({ jobs: [jobOf({ id })] }).cron.get(id)).toMatchObject({ id });
  });

  test.each([
    ["", "Cron task id is required."],
    ["  ", "Cron task id is required."],
    [" a", "Cron task id contains invalid characters."],
    [".a", "Cron task id contains invalid characters."],
    ["a/b", "Cron task id contains invalid characters."],
    ["a..b", "Cron task id contains invalid characters."],
    ["../..", "Cron task id contains invalid characters."],
    [`a${"x".repeat(200)}`, "Cron task id contains invalid characters."],
  ])("may not be %j", async (id, message) => {
    await expect(open({ jobs: [jobOf({ id })] }).cron.get(id)).rejects.toThrow(message);
  });

  test("that no job has is told", async () => {
    await expect(open().cron.get("other")).rejects.toThrow("unknown cron job id: other");
    await expect(open().cron.remove("a..b")).rejects.toThrow("invalid characters");
  });
});

describe("the list of jobs", () => {
  const jobs = [
    jobOf({ id: "on" }),
    jobOf({ id: "off", enabled: false }),
    jobOf({ id: "heartbeat:main", system: "heartbeat" }),
    jobOf({ id: "heartbeat:off", system: "heartbeat", enabled: false }),
  ];

  test.each([
    [undefined, ["on"]],
    [{ includeDisabled: false }, ["on"]],
    [{ includeDisabled: true }, ["on", "off"]],
  ])("with %j has these, and never the heartbeat's", async (options, expected) => {
    expect((await open({ jobs }).cron.list(options)).map(({ id }) => id)).toEqual(expected);
  });

  test("is read in pages of a thousand", async () => {
    const { cron, asked } = open({ jobs });
    await cron.list();
    await cron.list({ limit: 5, after: "on" });
    expect(asked).toEqual([
      { limit: 1_000, after: undefined },
      { limit: 5, after: "on" },
    ]);
  });
});

describe("the runs of a job", () => {
  test.each([
    [{}, 200],
    [{ limit: 7.9 }, 7],
    [{ limit: 0 }, 1],
    [{ limit: -3 }, 1],
    [{ limit: 5_000 }, 5_000],
    [{ limit: 5_001 }, 5_000],
  ])("are read for the page %j up to %i", async (page, limit) => {
    const { cron, asked } = open();
    await cron.runs("j", { ...page, beforeN: 9 });
    expect(asked).toEqual([["j", { limit, beforeN: 9 }]]);
  });

  test("show what became of their deliveries, without those that are gone", async () => {
    const sent = { id: "d1", state: "sent", reason: undefined, payload: { text: "secret" } };
    const failed = { id: "d2", state: "failed", reason: "blocked" };
    const slots = [
      { slot: "1@5", n: 3, end: { deliveryIds: ["d1", "gone", "d2"] } },
      { slot: "1@4", n: 2 },
    ];
    const { cron } = open({ slots, deliveries: { d1: sent, d2: failed } });
    expect(await cron.runs("j")).toEqual([
      { ...slots[0], deliveries: [{ id: "d1", state: "sent" }, failed] },
      { ...slots[1], deliveries: [] },
    ]);
  });
});

describe("a job is shown", () => {
  const shown = (more: Partial<CronJob>) => open().cron.view(jobOf(more));
  const hours = (more: Partial<CronJob>) => shown(more).nextTimes.map(({ atMs }) => (atMs - NOW) / HOUR);

  test("with its schedule as a sentence and its next three times", () => {
    expect(shown({})).toMatchObject({ id: "j", name: "mail", when: "Every hour" });
    expect(hours({})).toEqual([0.5, 1.5, 2.5]);
    expect(shown({}).nextTimes[0]?.text).toBe("2026-01-05 10:00:00 (UTC)");
  });

  test("from the due time that has no outcome yet, and without times if it is off", () => {
    expect(hours({ state: { nextRunAtMs: NOW - 1.5 * HOUR } })).toEqual([-0.5, 0.5, 1.5]);
    expect(hours({ state: {} })).toEqual([0.5, 1.5, 2.5]);
    expect(hours({ state: { nextRunAtMs: NOW } })).toEqual([0.5, 1.5, 2.5]);
    expect(hours({ enabled: false })).toEqual([]);
  });

  test("with a due time of this very moment", () => {
    const schedule = { kind: "every", everyMs: HOUR, anchorMs: NOW } as const;
    expect(hours({ schedule, state: { nextRunAtMs: NOW } })).toEqual([0, 1, 2]);
    // Without a stored time only later ones are due.
    expect(hours({ schedule, state: {} })).toEqual([1, 2, 3]);
  });

  test.each([
    ["that it names", { schedule: { kind: "cron", expr: "0 9 * * *", tz: "Asia/Tokyo" }, zone: "Europe/Berlin" }],
    ["that it was planned in", { schedule: { kind: "cron", expr: "0 9 * * *" }, zone: "Asia/Tokyo" }],
  ] as const)("in the zone %s", (_what, more) => {
    const { when, nextTimes } = shown({ ...more, state: {} });
    expect(when).toBe("At 09:00 (Asia/Tokyo)");
    expect(nextTimes[0]).toEqual({ atMs: Date.parse("2026-01-06T00:00Z"), text: "2026-01-06 09:00:00 (Asia/Tokyo)" });
  });

  test("in the configured zone otherwise", () => {
    const schedule = { kind: "cron", expr: "0 9 * * *" } as const;
    const { when, nextTimes } = open({ settings: { session: { timeZone: "Asia/Tokyo" } } }).cron.view(
      jobOf({ schedule, state: {} }),
    );
    expect([when, nextTimes[0]?.atMs]).toEqual(["At 09:00 (Asia/Tokyo)", Date.parse("2026-01-06T00:00Z")]);
  });
});

test("without a configured zone the machine's counts", () => {
  const settings = testSettings({ session: { timeZone: undefined } });
  const cron = new CronService({ clock: { now: () => NOW } } as never, { settings });
  const { when, nextTimes } = cron.view(jobOf({ schedule: { kind: "cron", expr: "0 9 * * *" }, state: {} }));
  expect(when).toBe(`At 09:00 (${hostZone()})`);
  expect(nextTimes[0]?.text).toContain(`09:00:00 (${hostZone()})`);
});

describe("an agent may touch", () => {
  const agent = (sessionKey: string, more: object = {}) =>
    ({ sessionKey, profile: "main", descriptor: { type: "user" }, ...more }) as never;
  const own = agent("cron:j", { descriptor: { type: "cron", id: "j" } });
  const other = agent("cron:x", { descriptor: { type: "cron", id: "x" } });
  test.each([
    ["the main conversation", agent("agent:main:home"), {}, true],
    ["the main conversation of another profile", agent("agent:main:home", { profile: "work" }), {}, false],
    ["a conversation that made it", agent("k"), { sessionKey: "k" }, true],
    ["another conversation", agent("k"), { sessionKey: "l" }, false],
    ["a conversation, of a job without one", agent("k"), {}, false],
    ["its own agent", own, { sessionKey: "l" }, true],
    ["the agent of another job, in the same conversation", other, { sessionKey: "cron:x" }, false],
    ["the main conversation, of the heartbeat", agent("agent:main:home"), { system: "heartbeat" as const }, false],
  ])("a job: %s: %#", (_what, by, more, expected) => {
    expect(open({ settings: { session: { mainKey: "home" } } }).cron.mayTouch(jobOf(more), by)).toBe(expected);
  });
});

describe("a new job", () => {
  const raw = { name: "new", schedule: { everyMs: HOUR }, payload: { message: "work" } };

  test("is committed as the owner's, with what else belongs to it, and the broker is told", async () => {
    const { cron, commits, seen } = open();
    const also = { op: "rights.move" } as const;
    const added = await cron.add(raw, { profile: "p", sessionKey: "k" }, ({ id, when }) => {
      expect([id, when]).toEqual(["u1", "Every hour"]);
      return [also];
    });
    expect(added).toMatchObject({ id: "u1", version: 1, name: "new", agentId: "p", sessionKey: "k" });
    expect(commits).toMatchObject([{ site: "cron.add", ops: [{ op: "job.put", expect: 0 }, also] }]);
    expect(commits[0]?.ops).toHaveLength(2);
    expect(opOf(commits[0]?.ops, "job.put").job).toMatchObject({ behalf: { person: "owner" }, createdAtMs: NOW });
    expect(seen.changed).toBe(1);
  });

  test("of a person is that person's, and that of a tool names no one yet", async () => {
    const { cron, commits } = open();
    await cron.add(raw, { behalf: { person: "bob" as never } });
    expect(opOf(commits[0]?.ops, "job.put").job).toMatchObject({ behalf: { person: "bob" } });
    expect(cron.addOps(raw).job.behalf).toBeUndefined();
  });

  test("may have an id and fields of its maker, in the job and in its op", () => {
    const { job, ops } = open().cron.addOps(raw, {}, { id: "mine", memory: "notes" });
    expect(job).toMatchObject({ id: "mine", memory: "notes", name: "new" });
    expect(ops).toEqual([{ op: "job.put", job, expect: 0 }]);
  });

  test("reads times in the configured zone, from now", () => {
    const { cron } = open({ settings: { session: { timeZone: "Asia/Tokyo" } } });
    const at = (schedule: object) => cron.addOps({ ...raw, schedule }).job.schedule;
    expect(at({ at: "2026-01-06T09:00" })).toEqual({ kind: "at", atMs: Date.parse("2026-01-06T00:00Z") });
    expect(at({ inMs: 5 })).toEqual({ kind: "at", atMs: NOW + 5 });
    expect(cron.addOps({ ...raw, schedule: "0 9 * * *" }).job).toMatchObject({ zone: "Asia/Tokyo" });
  });

  test("with a wrong name in it is refused, and one that was added at the same time too", async () => {
    const { cron, commits } = open({ jobProblem: ({ name }) => `no ${name}` });
    await expect(cron.add(raw)).rejects.toMatchObject({ message: "no new", hint: "Nothing was changed." });
    expect(commits).toEqual([]);
    const { cron: second, seen } = open({ refused: 1 });
    await expect(second.add(raw)).rejects.toThrow("the job has changed");
    expect([seen.tries, seen.changed]).toEqual([1, 0]);
  });
});

describe("a change of a job", () => {
  test("is one of the owner, over the version that was read, and shows the job as it is then", async () => {
    const { cron, commits, seen } = open({ jobs: [jobOf({ behalf: { person: "bob" as never } })] });
    expect(await cron.update("j", { name: "post" })).toMatchObject({ id: "j", name: "post", when: "Every hour" });
    expect(commits).toMatchObject([{ site: "cron.update", ops: [{ op: "job.put", expect: 4 }] }]);
    // The person stays, and the one who changed it is on its way.
    expect(opOf(commits[0]?.ops, "job.put").job).toMatchObject({ behalf: { person: "bob", through: ["owner"] } });
    expect(seen.changed).toBe(1);
  });

  test("of a person has that person on its way, and a job without people stays the owner's", async () => {
    const { cron, commits } = open({ jobs: [jobOf({ behalf: undefined })] });
    await cron.update("j", { name: "post" }, { person: "bob" as never });
    expect(opOf(commits[0]?.ops, "job.put").job).toMatchObject({ behalf: { person: "owner", through: ["bob"] } });
  });

  test("of the schedule closes the due times before it in the same commit", async () => {
    const { cron, commits } = open({ jobs: [jobOf({ state: { nextRunAtMs: NOW - HOUR / 2 } })] });
    await cron.update("j", { schedule: { everyMs: 2 * HOUR } });
    expect(commits[0]?.ops.map(({ op }) => op)).toEqual(["job.slot", "job.put"]);
  });

  test("reads times in the configured zone, from now", async () => {
    const { cron } = open({ settings: { session: { timeZone: "Asia/Tokyo" } } });
    const at = async (schedule: object) => (await cron.updateOps("j", { schedule })).job;
    expect((await at({ at: "2026-01-06T09:00" })).schedule).toMatchObject({ atMs: Date.parse("2026-01-06T00:00Z") });
    expect((await at({ inMs: 5 })).schedule).toMatchObject({ atMs: NOW + 5 });
    expect((await at({ expr: "0 9 * * *" })).zone).toBe("Asia/Tokyo");
  });

  test("to wrong names is refused, unless the job is off then", async () => {
    const { cron } = open({ jobProblem: () => "no such profile" });
    await expect(cron.updateOps("j", { name: "post" })).rejects.toThrow("no such profile");
    expect((await cron.updateOps("j", { enabled: false })).job.enabled).toBe(false);
  });

  test.each([
    [4, 5, true],
    [5, 5, false],
  ])("that is refused %i times is tried %i times, and done: %s", async (refused, tries, isDone) => {
    for (const change of ["update", "remove"] as const) {
      const { cron, commits, seen } = open({ refused });
      const changing = change === "update" ? cron.update("j", { name: "x" }) : cron.remove("j");
      if (isDone) await changing;
      else await expect(changing).rejects.toThrow("the job has changed");
      expect([seen.tries, commits.length, seen.changed]).toEqual([tries, isDone ? 1 : 0, isDone ? 1 : 0]);
    }
  });

  test("that is wrong is not tried again, and neither is one that the store cannot take", async () => {
    const { cron, seen } = open();
    await expect(cron.update("j", { schedule: { everyMs: 1 } })).rejects.toThrow("Invalid cron job");
    expect([seen.reads, seen.tries]).toEqual([1, 0]);
    const broken = open({ broken: true });
    await expect(broken.cron.remove("j")).rejects.toThrow("away");
    expect(broken.seen.tries).toBe(1);
  });

  test("that removes it closes its due times", async () => {
    const { cron, commits } = open({ jobs: [jobOf({ state: { nextRunAtMs: NOW - HOUR / 2 } })] });
    await cron.remove("j");
    expect(commits).toMatchObject([
      {
        site: "cron.remove",
        ops: [
          { op: "job.slot", slot: { reason: "removed" } },
          { op: "job.remove", id: "j", expect: 4 },
        ],
      },
    ]);
  });

  test("of its notes changes nothing else", async () => {
    expect(await open().cron.memoryOps("j", "notes")).toEqual([
      { op: "job.put", job: { ...jobOf(), memory: "notes", updatedAtMs: NOW }, expect: 4 },
    ]);
  });
});

describe("a run by hand", () => {
  const row = { jobId: "j", slot: "manual@u1", revision: 2, dueAt: NOW, count: 1, status: "fired", at: NOW };

  test("has a slot of its own, posts the message with it, and leaves the schedule", async () => {
    const posts: unknown[] = [];
    const { cron, commits } = open({ post: async (request) => posts.push(request) });
    const also = { op: "rights.move" } as const;
    const asked: unknown[] = [];
    const started = await cron.run("j", {
      also: (one) => {
        asked.push(one);
        return [also];
      },
    });
    expect([started, asked]).toEqual([{ slot: "manual@u1" }, [{ slot: "manual@u1" }]]);
    expect(posts).toMatchObject([
      {
        to: { descriptor: { type: "cron", id: "j" } },
        body: {
          kind: "trigger",
          text: expect.not.stringContaining("late"),
          trigger: { type: "cron", id: "j", slot: "manual@u1" },
        },
        behalf: { person: "owner" },
      },
    ]);
    expect((posts[0] as { also: unknown }).also).toEqual([{ op: "job.slot", slot: row }, also]);
    expect(commits).toEqual([]);
  });

  test("of a person has that person on its way", async () => {
    const posts: unknown[] = [];
    const { cron } = open({ post: async (request) => posts.push(request) });
    await cron.run("j", { by: { person: "bob" as never } });
    expect(posts).toMatchObject([{ behalf: { person: "owner", through: ["bob"] } }]);
  });

  test.each([
    ["no agents are connected", undefined],
    ["they are not connected yet", () => undefined],
  ])("is committed and found later if %s", async (_what, post) => {
    const { cron, commits, seen } = open({ post });
    expect(await cron.run("j", { also: () => [{ op: "rights.move" }] })).toEqual({ slot: "manual@u1" });
    expect(commits).toMatchObject([{ site: "cron.run" }]);
    expect(commits[0]?.ops.map(({ op }) => op)).toEqual(["message.post", "job.slot", "rights.move"]);
    expect(opOf(commits[0]?.ops, "message.post")).toMatchObject({
      to: { sessionKey: "cron:j", create: { person: "owner", profile: "main" } },
      message: { acceptedAt: NOW, behalf: { person: "owner" }, body: { kind: "trigger" } },
    });
    expect(seen.changed).toBe(1);
  });

  test("is not known before its message is posted", async () => {
    const posting = Promise.withResolvers<unknown>();
    const { cron } = open({ post: () => posting.promise });
    const running = cron.run("j");
    posting.reject(new Error("full"));
    await expect(running).rejects.toThrow("full");
  });

  test("wakes the main conversation at once, also if the job would wait for the heartbeat", async () => {
    const event = jobOf({ sessionTarget: "main", payload: { kind: "systemEvent", text: "look" }, agentId: "work" });
    const { slot, job, ops } = await open({ jobs: [event], settings: { session: { mainKey: "home" } } }).cron.runOps(
      "j",
    );
    expect([slot, job]).toEqual(["manual@u1", event]);
    expect(ops).toMatchObject([
      {
        op: "message.post",
        to: { sessionKey: "agent:work:home", create: { profile: "work" } },
        message: { body: { kind: "trigger", text: "look" }, delivery: { to: "route" }, acceptedAt: NOW },
      },
      { op: "job.slot", slot: row },
    ]);
  });

  test("goes to the agent that the job names", async () => {
    const { ops } = await open({ jobs: [jobOf({ targetAgentId: "a7" })] }).cron.runOps("j");
    expect(ops[0]).toMatchObject({ to: { agentId: "a7" } });
  });

  test("of a person who is not known here any more is refused", async () => {
    const { cron, commits } = open({ jobs: [jobOf({ behalf: { person: "bob" as never } })] });
    await expect(cron.run("j")).rejects.toThrow("The job does not run: bob is not known here any more.");
    expect(commits).toEqual([]);
  });
});

describe("a text for the main conversation", () => {
  test("is for now unless it waits for the heartbeat, silent and without an address", async () => {
    const { cron, commits, seen } = open({ settings: { session: { mainKey: "home" } } });
    const by = { profile: "work", delivery: { to: "ann" }, behalf: { person: "ann" as never } };
    await cron.wake("look", "next-heartbeat", by);
    await cron.wake(" look ", undefined, by);
    await cron.wake("look", "next-heartbeat", { ...by, sessionKey: "k" });
    expect(commits.map(({ site }) => site)).toEqual(["cron.wake", "cron.wake", "cron.wake"]);
    const [silent, loud, own] = commits.map(({ ops }) => opOf(ops, "message.post"));
    const body = { kind: "system", text: "look", origin: "cron:wake" };
    expect(silent?.message).toEqual({ body: { ...body, silent: true }, behalf: by.behalf, acceptedAt: NOW });
    expect(loud?.message).toEqual({ body, delivery: by.delivery, behalf: by.behalf, acceptedAt: NOW });
    expect(loud?.to).toMatchObject({ sessionKey: "agent:work:home", create: { profile: "work", person: "ann" } });
    expect(own?.to).toMatchObject({ sessionKey: "k" });
    expect(seen.changed).toBe(3);
  });

  test("must have words", async () => {
    await expect(open().cron.wake("  ")).rejects.toThrow("text required");
  });

  test("goes to the main conversation of the default profile if it names none", async () => {
    const [op] = await open().cron.wakeOps("look");
    expect(op).toMatchObject({ to: { sessionKey: "agent:main:main" }, message: { body: { text: "look" } } });
  });
});

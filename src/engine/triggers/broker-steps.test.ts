/** One due time of one job: whether it fires, what is committed with it, and what happens if another writer was first. */
import { describe, expect, test } from "vitest";
import { START } from "../../../test/kit/clock.ts";
import { NotFoundError } from "../../core/errors.ts";
import type { CronJob } from "../../core/schedule/job.ts";
import { BrokerWorld } from "./broker.test-kit.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const gate = { kind: "command", command: "true" } as const;
const BUSY = { waiting: 0, runId: "r" } as const;
const QUEUED = { waiting: 1 } as const;
const IDLE = { waiting: 0 } as const;

describe("a due time during the job's last run", () => {
  const outcome = async (
    more: Partial<CronJob>,
    agent: { readonly waiting: number; readonly runId?: string } | undefined,
    options: ConstructorParameters<typeof BrokerWorld>[0] = {},
  ) => {
    const world = new BrokerWorld(options, { tick: async () => ({ kind: "skip", reason: "ticked" }) });
    world.put({ id: "j", ...more });
    if (agent) world.agents.set(`agent:${more.agentId ?? "main"}:cron:j`, agent).set("cron:j", agent);
    await world.start();
    return world.outcomes()[0];
  };
  const late = (ms: number) => ({ state: { nextRunAtMs: START - ms } });

  test.each<readonly [string, Partial<CronJob>, { waiting: number; runId?: string } | undefined, string]>([
    ["an agent that runs", {}, BUSY, "overlap"],
    ["an agent with a message that waits", {}, QUEUED, "overlap"],
    ["an agent that is idle", {}, IDLE, "fired"],
    ["no agent yet", {}, undefined, "fired"],
    ["another agent that the job names", { targetAgentId: "a" }, BUSY, "fired"],
    ["the main conversation", { sessionTarget: "main" }, BUSY, "fired"],
    ["the heartbeat", { system: "heartbeat" }, BUSY, "ticked"],
    ["a queue", { overlap: "queue" }, BUSY, "fired"],
    ["a queue, because every due time counts", { missed: "all" }, BUSY, "fired"],
    ["every due time, and no queue", { missed: "all", overlap: "skip" }, BUSY, "overlap"],
    ["every due time, a minute late", { missed: "all", overlap: "skip", ...late(MINUTE) }, BUSY, "overlap"],
    ["every due time, later", { missed: "all", overlap: "skip", ...late(MINUTE + 1) }, BUSY, "fired"],
    ["the newest due time, later", { ...late(MINUTE + 1) }, BUSY, "overlap"],
  ])("with %s", async (_what, more, agent, expected) => {
    expect(await outcome(more, agent)).toBe(`j ${expected}`);
  });

  test("counts as late by the configured grace, and every due time by the configured policy", async () => {
    expect(await outcome({}, BUSY, { settings: { cron: { missed: "all" } } })).toBe("j fired");
    expect(await outcome({ missed: "once" }, BUSY, { settings: { cron: { missed: "all" } } })).toBe("j overlap");
    const skip = { overlap: "skip", ...late(10) } as const;
    expect(await outcome(skip, BUSY, { settings: { cron: { missed: "all", missedGraceSeconds: 0.01 } } })).toBe(
      "j overlap",
    );
    expect(await outcome(skip, BUSY, { settings: { cron: { missed: "all", missedGraceSeconds: 0.009 } } })).toBe(
      "j fired",
    );
  });
});

describe("missed due times", () => {
  const missed = (more: Partial<CronJob> = {}) => ({ id: "j", state: { nextRunAtMs: START - 3 * HOUR }, ...more });
  test.each([
    ["once by default", {}, ["j missed", "j fired"]],
    ["all if configured", { missed: "all" } as const, ["j fired", "j fired", "j fired", "j fired"]],
    [
      "not later than configured",
      { missed: "all", maxLatenessMinutes: 60 } as const,
      ["j too late", "j fired", "j fired"],
    ],
  ] as const)("run %s", async (_what, cron, expected) => {
    const world = new BrokerWorld({ settings: { cron } });
    world.put(missed());
    await world.start();
    expect(world.outcomes()).toEqual(expected);
  });

  test("count as on time within the configured grace", async () => {
    for (const [graceMs, expected] of [
      [5, "j fired"],
      [4, "j missed"],
    ] as const) {
      const world = new BrokerWorld({ settings: { cron: { missed: "skip", missedGraceSeconds: graceMs / 1000 } } });
      world.put({ id: "j", state: { nextRunAtMs: START - 5 } });
      await world.start();
      expect(world.outcomes()).toEqual([expected]);
    }
  });

  test("of a one-time job that is skipped turn it off, and of another job not", async () => {
    const world = new BrokerWorld({ settings: { cron: { missed: "skip" } } });
    world.put({ id: "once", schedule: { kind: "at", atMs: START - HOUR }, state: { nextRunAtMs: START - HOUR } });
    world.put({ id: "often", state: { nextRunAtMs: START - 2 * HOUR + MINUTE, consecutiveErrors: 1 } });
    await world.start();
    expect(world.jobs.get("once")).toMatchObject({ enabled: false, state: { lastStatus: "skipped" } });
    expect(world.jobs.get("often")).toMatchObject({
      enabled: true,
      state: { nextRunAtMs: START + MINUTE, consecutiveErrors: 1 },
    });
  });

  test("of more jobs than one read returns are all handled", async () => {
    const world = new BrokerWorld();
    for (let n = 0; n < 130; n++) world.put({ id: `j${n}` });
    await world.start();
    expect(world.posts).toHaveLength(130);
    expect(world.reads.slice(0, 3)).toEqual([64, 64, 64].map((limit) => ({ before: START, limit })));
  });
});

describe("a gate", () => {
  const checked = async (verdict: unknown, more: Partial<CronJob> = {}, roles = ["guest"]) => {
    let asked = 0;
    let reads = 0;
    const grants = [{ allow: "gate" }];
    const standing = (person: string) => ({ person, role: roles[Math.min(reads, roles.length) - 1], grants });
    const world = new BrokerWorld(
      {},
      {
        gates: {
          check: async () => {
            asked += 1;
            return verdict;
          },
        } as never,
        people: {
          directory: {
            now: async () => {
              reads += 1;
              return { standing, personOf: (of: string) => of };
            },
          },
          personOf: async () => "owner",
          addressOf: async () => ({ to: "owner" }),
        } as never,
      },
    );
    world.put({ id: "j", gate, ...more });
    await world.start();
    return { world, asked, reads };
  };

  test("that passes fires the job with its output", async () => {
    const { world, asked } = await checked({ pass: true, output: "2 mails" });
    expect([asked, world.outcomes()]).toEqual([1, ["j fired"]]);
    expect(world.texts()[0]).toContain("[Gate output]\n2 mails");
  });

  test("that does not pass skips the due time with its reason, and asks for no rights", async () => {
    const { world } = await checked({ pass: false, reason: "no mail" });
    expect(world.outcomes()).toEqual(["j gate: no mail"]);
    expect(world.slots).toMatchObject([{ slot: `1@${START}`, dueAt: START, count: 1, status: "skipped", at: START }]);
    expect(world.slots[0]?.untilAt).toBeUndefined();
    expect(world.jobs.get("j")).toMatchObject({ enabled: true, state: { nextRunAtMs: START + HOUR } });
  });

  test("of a person who is not known here any more is not asked", async () => {
    const behalf = { person: "bob" as never };
    const { world, asked, reads } = await checked({ pass: true, output: "" }, { behalf }, ["stranger"]);
    expect([asked, reads, world.outcomes()]).toEqual([0, 2, ["j bob is not known here any more"]]);
    expect(world.jobs.get("j")?.enabled).toBe(false);
  });

  test.each([
    ["passes", { pass: true, output: "" }, 3, "bob is not known here any more"],
    ["does not pass", { pass: false, reason: "no mail" }, 1, "gate: no mail"],
  ])("of a person who is removed while it is asked, and which then %s", async (_what, verdict, looks, reason) => {
    const behalf = { person: "bob" as never };
    const { world, asked, reads } = await checked(verdict, { behalf }, ["guest", "stranger"]);
    expect([asked, reads, world.outcomes()]).toEqual([1, looks, [`j ${reason}`]]);
  });

  test("that no one may run here skips", async () => {
    const world = new BrokerWorld();
    world.put({ id: "j", gate });
    await world.start();
    expect(world.outcomes()).toEqual(["j gate: gates are not allowed here"]);
  });
});

describe("a tick of the heartbeat", () => {
  const ticking = async (tick: unknown) => {
    const world = new BrokerWorld({ settings: { session: { mainKey: "home" } } }, { tick: tick as never });
    world.put({ id: "heartbeat:main", system: "heartbeat", sessionTarget: "main" });
    await world.start();
    return world;
  };

  test("stays due without a heartbeat, and holds no other job back", async () => {
    const world = new BrokerWorld();
    world.put({ id: "heartbeat:main", system: "heartbeat" });
    world.put({ id: "j" });
    await world.broker.fireOnce();
    expect(world.outcomes()).toEqual(["j fired"]);
  });

  test("is skipped with its reason", async () => {
    const world = await ticking(async () => ({ kind: "skip", reason: "quiet-hours" }));
    expect([world.outcomes(), world.posts]).toEqual([["heartbeat:main quiet-hours"], []]);
  });

  test("posts its own message with the slot", async () => {
    const firings: unknown[] = [];
    const message = { to: { agentId: "a" }, body: { kind: "trigger", text: "tick" } };
    const world = await ticking(async (_job: unknown, firing: unknown) => {
      firings.push(firing);
      return { kind: "post", message };
    });
    expect(firings).toMatchObject([
      { slot: `1@${START}`, dueAt: START, lateMs: 0, now: START, zone: "UTC", mainKey: "home", graceMs: 60_000 },
    ]);
    expect(world.posts).toMatchObject([{ ...message, key: `slot:heartbeat:main:1@${START}` }]);
    expect(world.outcomes()).toEqual(["heartbeat:main fired"]);
  });
});

describe("what a job fires", () => {
  test("is late by the time since its due time, and has the key of its slot", async () => {
    const world = new BrokerWorld({ settings: { cron: { missedGraceSeconds: (MINUTE - 1) / 1000 } } });
    world.put({ id: "j", revision: 3, state: { nextRunAtMs: START - MINUTE } });
    await world.start();
    const [post] = world.posts;
    expect(post?.key).toBe(`slot:j:3@${START - MINUTE}`);
    expect(world.texts()[0]).toContain("This run is late: it was due at 2026-01-05 08:59:00 (UTC)");
    expect(world.slots).toMatchObject([{ slot: `3@${START - MINUTE}`, revision: 3, at: START, status: "fired" }]);
    expect(world.jobs.get("j")?.state).toMatchObject({ runningAtMs: START, nextRunAtMs: START - MINUTE + HOUR });
  });

  test("is not the heartbeat's to decide", async () => {
    let ticks = 0;
    const tick = async () => {
      ticks += 1;
      return { kind: "skip", reason: "no" } as const;
    };
    const world = new BrokerWorld({}, { tick });
    world.put({ id: "j" });
    await world.start();
    expect([ticks, world.outcomes()]).toEqual([0, ["j fired"]]);
  });

  test("for an agent that is gone is skipped with that reason, and the job goes on", async () => {
    const world = new BrokerWorld();
    world.put({ id: "j", targetAgentId: "gone" });
    world.before = (what) => {
      if (what === "post") throw new NotFoundError("There is no agent gone.");
    };
    await world.start();
    expect(world.outcomes()).toEqual(["j There is no agent gone."]);
    expect(world.jobs.get("j")).toMatchObject({ enabled: true, state: { nextRunAtMs: START + HOUR } });
  });
});

describe("if another writer was first", () => {
  /** The other writer comes once, before the first commit or post of this broker. */
  const raced = async (other: (world: BrokerWorld, job: CronJob) => void, more: Partial<CronJob> = {}) => {
    const gates = { check: async () => ({ pass: true, output: "" }) } as never;
    const world = new BrokerWorld({ pollMs: HOUR }, { gates });
    const job = world.put({ id: "j", ...more });
    let attempts = 0;
    world.before = (what) => {
      if (what === "post" && ++attempts === 1) other(world, job);
    };
    await world.start();
    return { world, job, attempts };
  };
  const row = (slot: string) => ({ jobId: "j", slot, dueAt: START, count: 1, status: "fired", revision: 1 }) as never;
  const passed = (world: BrokerWorld) => world.commits.filter(({ site }) => site === "trigger.pass");

  describe.each([
    ["a job", {}],
    ["a job with a gate", { gate }],
  ])("%s", (_what, more) => {
    test("that the other one fired is not fired again", async () => {
      const { world } = await raced((now, job) => {
        now.slots.push(row(`1@${START}`));
        now.jobs.set("j", { ...job, version: 2, state: { nextRunAtMs: START + HOUR } });
      }, more);
      expect([world.posts, world.outcomes(), passed(world), world.lines]).toEqual([[], ["j fired"], [], []]);
    });

    test("that was edited is fired as it is now", async () => {
      const { world } = await raced((now, job) => {
        now.jobs.set("j", { ...job, version: 2, payload: { kind: "agentTurn", message: "edited" } });
      }, more);
      expect(world.texts()).toEqual([expect.stringContaining("edited")]);
      expect([world.outcomes(), passed(world)]).toEqual([["j fired"], []]);
    });

    test("that is not due any more, because the clock was set back, is left alone", async () => {
      const { world } = await raced((now) => {
        now.slots.push(row(`1@${START}`));
        now.clock.jump(-1_000);
      }, more);
      expect([world.posts, passed(world), world.lines]).toEqual([[], [], []]);
    });

    test("that was removed is left alone", async () => {
      const { world } = await raced((now) => now.jobs.delete("j"), more);
      expect([world.posts, world.outcomes(), world.commits, world.lines]).toEqual([[], [], [], []]);
    });

    test("whose slot has an outcome although the job has not changed is passed over, and told", async () => {
      const state = { nextRunAtMs: START, consecutiveErrors: 1 };
      const { world, attempts } = await raced((now) => now.slots.push(row(`1@${START}`)), { ...more, state });
      expect([attempts, world.posts, world.outcomes()]).toEqual([1, [], ["j fired"]]);
      expect(world.jobs.get("j")).toMatchObject({
        version: 2,
        enabled: true,
        state: { nextRunAtMs: START + HOUR, consecutiveErrors: 1 },
      });
      expect(world.lines).toMatchObject([{ level: "warn", fields: { job: "j", dueAt: START } }]);
    });
  });

  test("a due time that is to be skipped and has an outcome is passed over too", async () => {
    const world = new BrokerWorld();
    world.put({ id: "j" });
    world.agents.set("cron:j", BUSY);
    world.slots.push(row(`1@${START}`));
    await world.start();
    expect([world.outcomes(), passed(world).length]).toEqual([["j fired"], 1]);
    expect(world.jobs.get("j")).toMatchObject({ state: { nextRunAtMs: START + HOUR } });
  });

  test("an unchanged job without an outcome is tried again and not passed over", async () => {
    const { world } = await raced((now, job) => {
      now.jobs.set("j", { ...job, version: 2 });
      const { before } = now;
      now.before = (what) => {
        if (what === "job") now.jobs.set("j", job);
        before(what);
      };
    });
    expect([world.posts.length, world.outcomes(), passed(world)]).toEqual([1, ["j fired"], []]);
  });
});

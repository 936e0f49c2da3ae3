import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { configSchema } from "../../../config/config-schema.ts";
import { homePaths } from "../../../config/paths.ts";
import { statusLines } from "../../cli/status-parts.ts";
import { readStatusParts } from "../../gateway/reads/status-parts.ts";
import { CHECKS } from "./all-checks.ts";
import { type DoctorFacts, defineCheck } from "./check.ts";
import { connectorsCheck, exposureCheck } from "./checks/outside.ts";
import { setAsideCheck } from "./checks/set-aside.ts";
import { diskCheck } from "./checks/system.ts";
import { budgetsCheck, deliveriesCheck, runsCheck, schedulesCheck } from "./checks/work.ts";
import { examine, repairFound } from "./examine.ts";

const facts: DoctorFacts = { paths: homePaths("/nowhere"), env: {}, now: Date.UTC(2026, 5, 1) };
const one = async (check: Parameters<typeof examine>[0][number], given: Partial<DoctorFacts> = {}) =>
  (await examine([check], { ...facts, ...given })).items;

describe("examine", () => {
  it("reports a check that throws or hangs, and all others as well", async () => {
    const throwing = defineCheck({
      id: "throws",
      check() {
        throw new Error("no idea");
      },
    });
    const hanging = defineCheck({ id: "hangs", check: () => new Promise(() => {}) });
    const fine = defineCheck({ id: "fine", check: () => ({ fine: "All is well." }) });
    const report = await examine([throwing, hanging, fine], facts, { checkMs: 20 });
    expect(report).toMatchObject({ problems: 2, notices: 0, next: null });
    expect(report.items.map(({ check, status }) => [check, status])).toEqual([
      ["throws", "problem"],
      ["hangs", "problem"],
      ["fine", "ok"],
    ]);
    expect(report.items[0]?.text).toContain("no idea");
  });

  it("reports files that were set aside", async () => {
    const paths = homePaths(mkdtempSync(join(tmpdir(), "rookery-doctor-")));
    const config = configSchema.parse({});
    try {
      mkdirSync(paths.workspace);
      expect(await one(setAsideCheck, { paths, config })).toMatchObject([{ text: "No file waits for a review." }]);
      for (const name of ["SOUL.md.proposed", "cron.proposed-2", "notes.proposed"])
        writeFileSync(join(paths.workspace, name), "");
      const [found] = await one(setAsideCheck, { paths, config });
      expect(found?.status).toBe("notice");
      expect(found?.text).toMatch(/^2 files were set aside.*SOUL\.md\.proposed/);
    } finally {
      rmSync(paths.home, { recursive: true });
    }
  });

  it("looks at the disk on which a home will be made", async () => {
    for (const paths of [homePaths("/nowhere"), homePaths("/nowhere/at/all")])
      expect(await one(diskCheck, { paths })).toMatchObject([{ text: expect.stringMatching(/ free on the disk of /) }]);
  });

  it("skips a check whose needs are missing, and says what is missing", async () => {
    const check = defineCheck({ id: "x", needs: ["store"], check: () => ({ fine: "" }) });
    expect(await one(check)).toMatchObject([{ status: "skipped", text: "Not checked: there is no database yet." }]);
    expect(await one(check, { storeProblem: "it is broken" })).toMatchObject([
      { status: "skipped", text: "Not checked: the store cannot be read." },
    ]);
  });

  it("repairs only what was found fixable", async () => {
    let fixed = 0;
    const check = (fixable: true | undefined) =>
      defineCheck({
        id: `fixable-${fixable}`,
        check: () => ({ fine: "", findings: [{ level: "problem", text: "x", help: "y", fixable }] }),
        fix() {
          fixed += 1;
          return ["done"];
        },
      });
    const checks = [check(true), check(undefined)];
    expect(await repairFound(checks, facts, await examine(checks, facts))).toEqual(["done"]);
    expect(fixed).toBe(1);
  });

  it("has checks with distinct ids, and every check runs on a home that does not exist", async () => {
    expect(new Set(CHECKS.map(({ id }) => id)).size).toBe(CHECKS.length);
    const config = configSchema.parse({ models: { default: "offline" } });
    const report = await examine(CHECKS, { ...facts, config });
    expect(report.items.filter(({ text }) => text.startsWith("This check did not work"))).toEqual([]);
  });
});

describe("the checks of the work", () => {
  const now = facts.now;
  const HOUR = 3_600_000;
  const config = configSchema.parse({ budgets: { day: { dollars: 1 } } });
  const none = {
    busyAgents: async () => [],
    heldBackRuns: async () => [],
    waitingDeliveries: async () => ({ "waiting-reader": 0, unroutable: 0 }),
    deliveries: async () => [],
    jobs: async () => [],
    budget: async () => undefined,
  };
  const storeWith = (more: object) => ({ ...none, ...more }) as unknown as NonNullable<DoctorFacts["store"]>;
  const engine = { connectors: new Map(), degraded: new Map() };

  it("name a run that is older than an hour, and not one that waits for a person", async () => {
    const run = (suspended: boolean) => ({ id: "r1", startedAt: now - 3 * HOUR, body: { suspended } });
    const beat = { descriptor: { type: "heartbeat" }, profile: "main", state: {} };
    const busy = async () => [{ ...beat, id: "a", runId: "r1", sessionKey: "agent:main:heartbeat", waiting: 0 }];
    const stuck = storeWith({ busyAgents: busy, run: async () => run(false) });
    expect(await one(runsCheck, { store: stuck, engine })).toMatchObject([
      { status: "problem", text: expect.stringContaining("A run of heartbeat began 3 hours") },
    ]);
    const waiting = storeWith({ busyAgents: busy, run: async () => run(true) });
    expect(await one(runsCheck, { store: waiting, engine })).toMatchObject([{ status: "ok" }]);
    expect(await one(runsCheck, { store: waiting })).toMatchObject([{ status: "notice" }]);
  });

  it("name a message that keeps failing, its reason and what to do", async () => {
    const notes = { memory: () => Promise.reject(new TypeError("no notes")) };
    const failing = await TestEngine.open({ system: { commands: notes } });
    await failing.send({ kind: "command", name: "memory", text: "" });
    await failing.settle();
    const { id } = await failing.agent();
    expect(await one(runsCheck, { store: failing.store, engine })).toMatchObject([
      {
        status: "problem",
        text: "Message 1 (command) of ann on test failed 1 time: no notes.",
        help: `It is tried again by itself; \`rookery agents inbox ${id.slice(0, 8)} --drop 1\` drops it.`,
      },
    ]);
    const sources = { store: failing.store, now: 1, config: configSchema.parse({}), connectors: new Map() };
    const lines = statusLines(await readStatusParts(sources, { busy: 1, undelivered: 0, failed: 0 }), 1);
    expect(lines.find((line) => line.startsWith("Failing"))).toContain("Message 1 (command) of ann on test failed");
  });

  it("name the runs that wait for their trial", async () => {
    const heldBack = storeWith({ heldBackRuns: async () => [{ id: "r1" }, { id: "r2" }] });
    expect(await one(runsCheck, { store: heldBack, engine })).toMatchObject([
      { status: "notice", text: expect.stringContaining("2 runs wait for their trial") },
    ]);
  });

  it("name each account that fails, with the reason, and none that works", async () => {
    const account = (name: string, state: string, detail: string) => ({ name, state, detail });
    const telegram = { accounts: () => [account("home", "running", "@a"), account("work", "failing", "wrong token")] };
    const stdin = { health: () => ({ ok: true, detail: "" }) };
    const failing = (connectors: object) => ({ ...engine, connectors: new Map(Object.entries(connectors)) }) as never;
    expect(await one(connectorsCheck, { config, engine: failing({ telegram, stdin }) })).toMatchObject([
      {
        status: "problem",
        text: "The account work on telegram does not work: wrong token",
        help: expect.stringContaining("connectors.work"),
      },
    ]);
    expect(await one(connectorsCheck, { config, engine: failing({ stdin }) })).toMatchObject([
      { status: "ok", text: "1 connectors work." },
    ]);
  });

  it("name unroutable deliveries, and dead ones of the last day only", async () => {
    const store = storeWith({
      waitingDeliveries: async () => ({ "waiting-reader": 4, unroutable: 2 }),
      deliveries: async () => [
        { state: "failed", endedAt: now - HOUR },
        { state: "unconfirmed", endedAt: now - 48 * HOUR },
      ],
    });
    const texts = (await one(deliveriesCheck, { store })).map(({ text }) => text);
    expect(texts).toEqual([
      expect.stringContaining("2 deliveries have no route"),
      "1 deliveries of the last day ended failed.",
    ]);
  });

  it("name overdue, failed and disabled schedules", async () => {
    const job = (name: string, state: object, enabled = true) => ({ id: name, name, enabled, state });
    const jobs = [
      job("late", { nextRunAtMs: now - HOUR }),
      job("soon", { nextRunAtMs: now + HOUR }),
      job("broken", { lastStatus: "error", lastError: "no key" }),
      job("off", { disabledReason: "failed ten times" }, false),
    ];
    const items = await one(schedulesCheck, { store: storeWith({ jobs: async () => jobs }), config, engine });
    expect(items.map(({ text }) => text)).toEqual([
      "1 schedule is overdue by more than five minutes: late.",
      "The schedule broken failed: no key",
      "The schedule off was turned off: failed ten times",
    ]);
  });

  it("count the schedules that people made, and name the heartbeat beside them", async () => {
    const job = (name: string, more: object = {}) => ({ id: name, name, enabled: true, state: {}, ...more });
    const fine = async (...jobs: readonly object[]) =>
      (await one(schedulesCheck, { store: storeWith({ jobs: async () => jobs }), config, engine }))[0]?.text;
    expect(await fine()).toBe("0 schedules, none overdue.");
    expect(await fine(job("tea"))).toBe("1 schedule, none overdue.");
    expect(await fine(job("tea"), job("Heartbeat", { system: "heartbeat" }))).toBe(
      "1 schedule and the heartbeat, none overdue.",
    );
    expect(await fine(job("tea"), job("news"))).toBe("2 schedules, none overdue.");
  });

  it("name a day whose budget is used up, with the command that lifts it", async () => {
    const row = { spent: { tokens: 0, micros: 1_000_000 }, lifted: { tokens: 0, micros: 0 } };
    const [item] = await one(budgetsCheck, { store: storeWith({ budget: async () => row }), config });
    expect(item).toMatchObject({ status: "problem", help: expect.stringContaining("rookery usage lift day:2026-") });
    expect(await one(budgetsCheck, { store: storeWith({}), config })).toMatchObject([{ status: "ok" }]);
    expect(await one(budgetsCheck, { store: storeWith({}), config: configSchema.parse({}) })).toMatchObject([
      { status: "notice" },
    ]);
  });

  it.each([
    ["127.0.0.1", {}, "ok"],
    ["0.0.0.0", {}, "problem"],
    ["0.0.0.0", { tls: { cert: "a", key: "b" } }, "notice"],
    ["10.0.0.1", { trustedProxies: ["10.0.0.2"] }, "notice"],
  ])("say who reaches a gateway on %s with %j: %s", async (host, more, status) => {
    const config = configSchema.parse({ gateway: { host, ...more } });
    expect(await one(exposureCheck, { config })).toMatchObject([{ status }]);
  });
});

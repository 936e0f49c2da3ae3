import { describe, expect, test } from "vitest";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { Delivery, DeliveryContext, NewDelivery } from "../../../core/delivery/delivery.ts";
import type { AgentId, DeliveryId, Ids, RunId, SessionKey } from "../../../core/ids.ts";
import type { Message } from "../../../core/message/message.ts";
import type { RunBody, RunResult } from "../../../core/run/run.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import type { Op } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import type { JobPorts } from "./job-message.ts";
import { opsOnDelivered, opsOnRunEnd, opsOnSettle } from "./run-end.ts";

const AT = 900_000;
const SLOT = { jobId: "j", slot: "1@5" };

const jobOf = (rest: Partial<CronJob> = {}): CronJob => ({
  id: "j",
  name: "digest",
  enabled: true,
  createdAtMs: 1,
  updatedAtMs: 1,
  schedule: { kind: "every", everyMs: 1_000, anchorMs: 0 },
  sessionTarget: "isolated",
  wakeMode: "now",
  payload: { kind: "agentTurn", message: "" },
  state: {},
  ...rest,
});

interface World {
  readonly job?: CronJob;
  /** Conversations by session key. */
  readonly agents?: Readonly<Record<string, string>>;
  readonly deliveries?: Readonly<Record<string, Partial<Delivery>>>;
  readonly slotStatus?: string;
}

const agentOf = (id: string, key: string, state: object = {}): AgentRecord =>
  ({ id: id as AgentId, sessionKey: key as SessionKey, descriptor: { type: "user" }, state }) as unknown as AgentRecord;

function portsOf({ job, agents = { "agent:main:main": "main" }, deliveries = {}, slotStatus }: World) {
  const store: Partial<StoreReader> = {
    job: async (id) => (id === "j" ? job : undefined),
    agentByKey: async (key) => {
      const id = agents[key];
      return id === undefined ? undefined : agentOf(id, key);
    },
    delivery: async (id) => deliveries[id] as Delivery | undefined,
    jobSlot: async () => ({ end: { delivery: { status: slotStatus } } }) as never,
  };
  const people = {
    addressOf: async (person: string): Promise<DeliveryContext> => ({ to: `route to ${person}` }),
    addressOfConversation: async (key: SessionKey): Promise<DeliveryContext> => ({ to: `route of ${key}` }),
    directory: { now: async () => ({ standing: () => ({ role: "guest" }) }) },
    personOf: async () => "ann",
  };
  let made = 0;
  const ids = new Proxy({}, { get: () => () => `id${++made}` }) as Ids;
  return { store: store as StoreReader, people: people as unknown as JobPorts["people"], ids };
}

interface Ended {
  readonly outcome?: RunResult["outcome"];
  readonly text?: string;
  readonly error?: string;
  readonly trigger?: RunBody["trigger"];
  readonly body?: Partial<RunBody>;
  readonly agent?: AgentRecord;
  readonly deliveries?: readonly Partial<NewDelivery>[];
}

async function endOf(world: World, { outcome = "ok", text, error, body, ...rest }: Ended = {}): Promise<readonly Op[]> {
  const { trigger = { type: "cron", id: "j", slot: "1@5" }, agent = agentOf("worker", "cron:j") } = rest;
  const run = { id: "r1" as RunId, startedAt: 3, body: { deliveries: 0, trigger, ...body } as RunBody };
  const result = {
    runId: run.id,
    outcome,
    payloads: text === undefined ? [] : [{ text: "first" }, { text }],
    meta: { durationMs: 40, error: error === undefined ? undefined : { message: error } },
  } as unknown as RunResult;
  return opsOnRunEnd(portsOf(world), agent, run, result, {
    at: AT,
    deliveries: rest.deliveries as readonly NewDelivery[] | undefined,
  });
}

/** The op of a kind, as plain data. */
const opOf = (ops: readonly Op[], kind: Op["op"]): Record<string, never> | undefined =>
  ops.find(({ op }) => op === kind) as Record<string, never> | undefined;
const ranEnd = (ops: readonly Op[]): Record<string, unknown> =>
  (opOf(ops, "job.ran") as { end?: object })?.end as never;
const posted = (ops: readonly Op[]): Record<string, unknown> | undefined => opOf(ops, "message.post")?.message;
const alerted = (ops: readonly Op[]): string | undefined =>
  (opOf(ops, "delivery.add") as { delivery?: { payload: { text: string } } } | undefined)?.delivery?.payload.text;

describe("the end of a triggered run", () => {
  test.each([
    [undefined, { body: { trigger: undefined } }],
    ["without a slot", { trigger: { type: "cron", id: "j" } as RunBody["trigger"] }],
    ["of a webhook", { trigger: { type: "webhook", id: "j", slot: "s" } as RunBody["trigger"] }],
  ])("%s writes nothing", async (_name, ended) => {
    expect(await endOf({ job: jobOf() }, ended)).toEqual([]);
  });

  test("records what the run did", async () => {
    const ops = await endOf({ job: jobOf() }, { text: " done ", body: { usage: { cost: { total: 0.5 } } as never } });
    expect(ops[0]).toEqual({
      op: "job.ran",
      jobId: "j",
      slot: "1@5",
      end: {
        at: AT,
        status: "ok",
        agentId: "worker",
        runId: "r1",
        startedAt: 3,
        durationMs: 40,
        summary: "done",
        delivery: { status: "none" },
        cost: 0.5,
        failed: false,
      },
    });
  });

  test("of a job that is gone is only recorded", async () => {
    expect(await endOf({}, { outcome: "error", error: "x" })).toMatchObject([{ op: "job.ran", end: { failed: true } }]);
  });

  test("that has nothing to say asks for no address", async () => {
    const ports = portsOf({ job: jobOf() });
    const asked: string[] = [];
    const people = {
      ...ports.people,
      addressOfConversation: async (key: SessionKey) => {
        asked.push(key);
        return { to: key };
      },
    };
    const run = {
      id: "r1" as RunId,
      startedAt: 3,
      body: { deliveries: 0, trigger: { type: "cron", ...SLOT, id: "j" } },
    };
    const result = { runId: run.id, outcome: "ok", payloads: [], meta: {} } as unknown as RunResult;
    await opsOnRunEnd({ ...ports, people }, agentOf("w", "cron:j"), run as never, result, { at: AT });
    expect(asked).toEqual([]);
  });

  test("cuts the summary of the slot after 2000 characters", async () => {
    expect(ranEnd(await endOf({ job: jobOf() }, { text: "a".repeat(2_000) })).summary).toBe("a".repeat(2_000));
    expect(ranEnd(await endOf({ job: jobOf() }, { text: "a".repeat(2_001) })).summary).toBe(`${"a".repeat(2_000)}…`);
    expect(ranEnd(await endOf({ job: jobOf() }, { text: "  " })).summary).toBeUndefined();
  });

  test.each([
    ["manual@7", true],
    ["1@5", undefined],
  ])("in slot %s is manual: %s", async (slot, manual) => {
    expect(ranEnd(await endOf({ job: jobOf() }, { trigger: { type: "cron", id: "j", slot } })).manual).toBe(manual);
  });

  const ended = (state: string, reason?: string) => ({ id: "d0", ended: { state, reason } }) as never;
  const waits = (state?: string, reason?: string) => ({ id: "d1", waits: state && { state, reason } }) as never;
  test.each([
    ["nothing to send", [], { status: "none" }, false],
    ["one that ended at once", [ended("suppressed", "quiet")], { status: "suppressed", reason: "quiet" }, false],
    ["one that failed at once", [ended("failed", "no")], { status: "failed", reason: "no" }, true],
    ["one that is owed", [waits()], { status: "owed" }, false],
    ["one without a route", [waits("unroutable", "who?")], { status: "unroutable", reason: "who?" }, false],
    ["one that waits for something else", [waits("held")], { status: "owed" }, false],
    ["one ended and one owed", [ended("failed"), waits()], { status: "owed" }, false],
    ["one owed and one ended", [waits(), ended("failed")], { status: "owed" }, false],
    ["one owed and one without a route", [waits(), waits("unroutable")], { status: "unroutable" }, false],
  ])("with %s", async (_name, deliveries, delivery, failed) => {
    const end = ranEnd(await endOf({ job: jobOf() }, { deliveries }));
    expect(end).toMatchObject({ delivery, failed });
    expect((end.delivery as { reason?: string }).reason).toBe((delivery as { reason?: string }).reason);
  });

  test("lists the deliveries before the answer first", async () => {
    expect(ranEnd(await endOf({ job: jobOf() }, { body: { deliveries: 2 } })).deliveryIds).toBeUndefined();
    const ops = await endOf({ job: jobOf() }, { body: { deliveries: 2 }, deliveries: [waits()] });
    expect(ranEnd(ops).deliveryIds).toEqual(["r1.0", "r1.1", "d1"]);
  });

  test.each([
    ["ok", false],
    ["stopped", false],
    ["error", true],
    ["timeout", true],
    ["lost", true],
  ] as const)("with outcome %s failed: %s", async (outcome, failed) => {
    expect(ranEnd(await endOf({ job: jobOf() }, { outcome: outcome as never }))).toMatchObject({
      status: outcome,
      failed,
    });
  });

  test.each([
    [true, false],
    [false, true],
    [undefined, true],
  ])("with a failed delivery and bestEffortDeliver %s failed: %s", async (bestEffortDeliver, failed) => {
    const job = jobOf({ payload: { kind: "agentTurn", message: "", bestEffortDeliver } });
    expect(ranEnd(await endOf({ job }, { deliveries: [ended("failed")] })).failed).toBe(failed);
  });
});

describe("what an isolated run leaves in the main conversation", () => {
  const said = async (job: Partial<CronJob>, run: Ended = { text: "ten mails" }): Promise<unknown> =>
    (posted(await endOf({ job: jobOf(job) }, run))?.body as { text?: string } | undefined)?.text;

  test.each([
    ["its answer", {}, { text: "ten mails" }, "Cron: ten mails"],
    ["with a prefix", { isolation: { postToMainPrefix: " Mail " } }, { text: "ten" }, "Mail: ten"],
    ["with an empty prefix", { isolation: { postToMainPrefix: " " } }, { text: "ten" }, "Cron: ten"],
    ["nothing to say", {}, { text: "HEARTBEAT_OK" }, undefined],
    ["nothing said", {}, {}, undefined],
    ["the error", {}, { outcome: "error", error: "broke" }, "Cron (error): broke"],
    ["the status", {}, { outcome: "timeout" }, "Cron (timeout): timeout"],
    ["an acknowledgement that failed", {}, { outcome: "error", text: "HEARTBEAT_OK" }, "Cron (error): error"],
    ["nothing of a system job", { system: "heartbeat" }, { text: "ten" }, undefined],
    ["nothing of a main job", { sessionTarget: "main" }, { text: "ten" }, undefined],
  ] as const)("%s", async (_name, job, run, text) => {
    expect(await said(job, run)).toBe(text);
  });

  test.each([
    [{}, 2_000],
    [{ postToMainMode: "summary", postToMainMaxChars: 5 }, 2_000],
    [{ postToMainMode: "full" }, 8_000],
    [{ postToMainMode: "full", postToMainMaxChars: 5 }, 5],
  ] as const)("with %j is at most %i characters", async (isolation, chars) => {
    expect(await said({ isolation }, { text: "b".repeat(chars) })).toBe(`Cron: ${"b".repeat(chars)}`);
    expect(await said({ isolation }, { text: "b".repeat(chars + 1) })).toBe(`Cron: ${"b".repeat(chars)}…`);
  });

  test.each([
    ["now", undefined, { to: "route to owner" }],
    ["next-heartbeat", true, undefined],
  ] as const)("wakes it or not: %s", async (wakeMode, silent, delivery) => {
    const message = posted(await endOf({ job: jobOf({ wakeMode }) }, { text: "ten" }));
    expect(message).toEqual({
      body: { kind: "system", text: "Cron: ten", origin: "cron:j", silent },
      delivery,
      acceptedAt: AT,
    });
  });

  test("wakes no one if the person gets the answer", async () => {
    const deliveries = [{ id: "d" as DeliveryId }];
    expect(posted(await endOf({ job: jobOf({ wakeMode: "now" }) }, { text: "ten", deliveries }))).toEqual({
      body: { kind: "system", text: "Cron: ten", origin: "cron:j", silent: true, said: "delivered" },
      acceptedAt: AT,
    });
  });

  test("is nothing if the run was in the main conversation itself", async () => {
    const agent = agentOf("main", "agent:main:main");
    expect(await endOf({ job: jobOf() }, { agent, text: "ten" })).toHaveLength(1);
  });

  test("goes to the conversation the job was made in, then to the profile's, then to a new one", async () => {
    const toOf = async (agents: Record<string, string>): Promise<unknown> =>
      opOf(await endOf({ job: jobOf({ sessionKey: "chat" }), agents }, { text: "x" }), "message.post")?.to;
    expect(await toOf({ chat: "c", "agent:main:main": "main" })).toEqual({ agentId: "c" });
    expect(await toOf({ "agent:main:main": "main" })).toEqual({ agentId: "main" });
    expect(await toOf({})).toMatchObject({ create: { sessionKey: "agent:main:main", person: "owner" } });
  });

  test("of a job without a conversation goes to its profile's main one", async () => {
    const ops = await endOf({ job: jobOf({ agentId: "work" }), agents: {} }, { text: "x" });
    expect(opOf(ops, "message.post")?.to).toMatchObject({ create: { sessionKey: "agent:work:main" } });
    expect(posted(ops)).toMatchObject({ delivery: { to: "route to owner" } });
  });
});

describe("the alert to the person", () => {
  const errorOf = (errors: number | undefined, rest: Partial<CronJob> = {}): Promise<readonly Op[]> =>
    endOf({ job: jobOf({ ...rest, state: { consecutiveErrors: errors } }) }, { outcome: "error", error: "broke" });

  test.each([
    [undefined, {}, undefined],
    [0, {}, undefined],
    [1, {}, '⚠️ The cron job "digest" failed 2 times in a row: broke'],
    [2, {}, undefined],
    [8, {}, undefined],
    [9, {}, '⚠️ The cron job "digest" failed 10 times in a row and was turned off: broke'],
    [10, {}, undefined],
    [0, { schedule: { kind: "at", atMs: 1 } }, '⚠️ The cron job "digest" failed: broke'],
    [1, { system: "heartbeat" }, "⚠️ The heartbeat failed 2 times in a row: broke"],
  ] as const)("after %s failures of a job with %j: %s", async (errors, rest, text) => {
    expect(alerted(await errorOf(errors, rest))).toBe(text);
  });

  test("is owed to the person who made the job", async () => {
    expect(opOf(await errorOf(1), "delivery.add")).toEqual({
      op: "delivery.add",
      delivery: {
        id: "r1.alert",
        agentId: "worker",
        runId: "r1",
        target: { to: "route to owner" },
        payload: { text: '⚠️ The cron job "digest" failed 2 times in a row: broke', isError: true },
        createdAt: AT,
      },
    });
  });

  test("says why: the error, then the delivery's reason, then the status", async () => {
    const job = jobOf({ state: { consecutiveErrors: 1 } });
    const deliveries = [{ id: "d" as DeliveryId, ended: { state: "failed", reason: "blocked" } as never }];
    expect(alerted(await endOf({ job }, { deliveries }))).toMatch(/row: blocked$/);
    expect(alerted(await endOf({ job }, { outcome: "lost" }))).toMatch(/row: lost$/);
    expect(alerted(await endOf({ job }, { outcome: "error", error: "own", deliveries }))).toMatch(/row: own$/);
    expect(alerted(await endOf({ job }))).toBeUndefined();
  });
});

describe("words of a heartbeat that found no route", () => {
  const agent = agentOf("worker", "k", { lastHeartbeatDeliveryId: "r0.1" });
  const deliveries = {
    "r0.0": { id: "r0.0" as DeliveryId, state: "unroutable", attempts: 2 },
    "r0.1": { id: "r0.1" as DeliveryId, state: "sent", attempts: 1 },
    "r0.2": { id: "r0.2" as DeliveryId, state: "unroutable", attempts: 0 },
  } as const;
  const trigger = { type: "heartbeat", id: "j", slot: "1@5" } as RunBody["trigger"];
  const moved = async (ended: Ended): Promise<readonly string[]> => {
    const ops = await endOf({ job: jobOf({ system: "heartbeat" }), deliveries }, { agent, trigger, ...ended });
    return ops.flatMap((one) =>
      one.op === "delivery.move" ? [`${one.id} ${one.from}>${one.to} ${one.attempts}`] : [],
    );
  };

  test("are replaced by the next words", async () => {
    const both = ["r0.0 unroutable>suppressed 2", "r0.2 unroutable>suppressed 0"];
    expect(await moved({ deliveries: [{ id: "d" as DeliveryId }] })).toEqual(both);
  });
  test("stay if it has nothing to say, or if what it says ended at once, or if it is no heartbeat", async () => {
    expect(await moved({})).toEqual([]);
    expect(await moved({ deliveries: [{ id: "d" as DeliveryId, ended: { state: "suppressed" } as never }] })).toEqual(
      [],
    );
    const cron = { type: "cron", id: "j", slot: "1@5" } as const;
    expect(await moved({ trigger: cron, deliveries: [{ id: "d" as DeliveryId }] })).toEqual([]);
  });
});

describe("the end of a delivery of a job", () => {
  const told = (
    to: Delivery["state"],
    {
      job = jobOf({ state: { consecutiveErrors: 1 } }),
      slotStatus = "owed",
      reason,
      agents,
      slot = SLOT,
    }: {
      job?: CronJob | null;
      slotStatus?: string;
      reason?: string;
      agents?: Record<string, string>;
      slot?: typeof SLOT | null;
    } = {},
  ): Promise<readonly Op[]> => {
    const delivery = { id: "d", payload: { text: "x", slot: slot ?? undefined } } as unknown as Delivery;
    return opsOnDelivered(portsOf({ job: job ?? undefined, slotStatus, agents }), delivery, { to, reason }, AT);
  };

  test.each(["sending", "owed", "suppressed"] as const)("that is now %s writes nothing", async (to) => {
    expect(await told(to as Delivery["state"])).toEqual([]);
  });
  test("of no slot writes nothing", async () => {
    expect(await told("failed", { slot: null })).toEqual([]);
  });

  test.each([
    ["sent", undefined, false],
    ["unconfirmed", undefined, false],
    ["unroutable", undefined, false],
    ["failed", "blocked", true],
    ["failed", "no route", false],
    ["failed", "never read: the mailbox is full", false],
    ["failed", "there is no route", true],
  ] as const)("%s because of %s counts as a failure: %s", async (to, reason, failed) => {
    const [op] = await told(to, { reason });
    expect(op).toEqual({ op: "job.delivered", ...SLOT, told: { at: AT, status: to, failed, reason } });
  });

  test("of a job that does its best is no failure, and one of a job that is gone is", async () => {
    const job = jobOf({ payload: { kind: "agentTurn", message: "", bestEffortDeliver: true } });
    expect(await told("failed", { job })).toMatchObject([{ told: { failed: false } }]);
    expect(await told("failed", { job: null })).toMatchObject([{ told: { failed: true } }]);
  });

  test.each([
    ["owed", true],
    ["sent", true],
    ["unroutable", true],
    ["failed", false],
    ["none", false],
  ])("that failed while the slot was %s alerts: %s", async (slotStatus, alerts) => {
    const ops = await told("failed", { slotStatus, reason: "blocked" });
    expect(posted(ops) !== undefined).toBe(alerts);
  });

  test("sends a notice to the person of the job", async () => {
    const ops = await told("failed", { reason: "blocked" });
    expect(ops[1]).toEqual({
      op: "message.post",
      to: { agentId: "main" },
      message: {
        body: {
          ...{ kind: "system", text: '⚠️ The cron job "digest" failed 2 times in a row: blocked', origin: "cron:j" },
          ...{ silent: true, said: "notice" },
        },
        behalf: { person: "owner" },
        delivery: { to: "route to owner" },
        acceptedAt: AT,
      },
    });
    expect(posted(await told("failed"))).toMatchObject({ body: { text: expect.stringMatching(/row: failed$/) } });
    expect(await told("sent")).toHaveLength(1);
    expect(await told("failed", { job: jobOf() })).toHaveLength(1);
  });
});

describe("messages that were settled without a run", () => {
  const message = (body: object): Message => ({ body }) as unknown as Message;
  test("close their slots as dropped, which is no failure", async () => {
    const ops = await opsOnSettle(
      portsOf({ job: jobOf() }),
      [
        message({ kind: "trigger", trigger: { type: "cron", id: "j", slot: "1@5" } }),
        message({ kind: "trigger", trigger: { type: "cron", id: "j" } }),
        message({ kind: "trigger", trigger: { type: "webhook", id: "h", slot: "s" } }),
        message({ kind: "user", trigger: { type: "cron", id: "j", slot: "1@6" } }),
      ],
      { state: "aborted", reason: "stopped" },
      { at: AT },
    );
    const end = { at: AT, status: "dropped", error: "stopped", delivery: { status: "none" }, failed: false };
    expect(ops).toEqual([{ op: "job.ran", jobId: "j", slot: "1@5", end }]);
  });
});

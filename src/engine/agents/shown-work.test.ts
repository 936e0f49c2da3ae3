/** What people see of an agent's work: what waits and what will happen to it, what is stuck, what a status line shows. No engine. */
import { describe, expect, test } from "vitest";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Message } from "../../core/message/message.ts";
import type { QueueMode } from "../../core/message/queue.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import { describeConversation } from "./describe-conversation.ts";
import { diagnose } from "./diagnose.ts";
import { MAX_LISTED, permanentAgentsOf } from "./permanent-agents.ts";
import { whatWaits } from "./what-waits.ts";

const AGENT = "a".repeat(24) as AgentId;
const NOW = 10_000;
const clock = { now: () => NOW };
const message = (seq: number, body: object = { kind: "user", text: `m${seq}` }, more: object = {}): Message =>
  ({
    seq,
    id: `${AGENT}/${seq}`,
    agentId: AGENT,
    state: "waiting",
    acceptedAt: NOW - 5_000,
    body,
    ...more,
  }) as unknown as Message;

interface World {
  readonly waiting?: readonly Message[];
  readonly dropped?: readonly Message[];
  readonly mode?: QueueMode;
  readonly run?: object;
  readonly busyUntil?: number;
  readonly debounceMs?: number;
  readonly cap?: number;
}
async function waits({
  waiting = [],
  dropped = [],
  mode = "collect",
  run,
  busyUntil,
  debounceMs = 0,
  cap = 20,
}: World) {
  const limits: number[] = [];
  const store = {
    agent: async () => ({ id: AGENT, state: {}, person: "ann" }) as unknown as AgentRecord,
    waiting: async (_id: AgentId, { limit }: { limit: number }) => {
      limits.push(limit);
      return waiting;
    },
    messages: async (_id: AgentId, { limit }: { limit: number }) => {
      limits.push(limit);
      return dropped;
    },
  };
  const queue = {
    settingsFor: (one: Message) => ({
      ...{ mode: one.body.kind === "user" && one.body.queue?.mode ? one.body.queue.mode : mode },
      ...{ debounceMs, cap, dropPolicy: "old" as const },
    }),
    dedupe: "message-id" as const,
  };
  const actor = run || busyUntil !== undefined ? { run: run as LiveRun | undefined, busyUntil } : undefined;
  const found = await whatWaits(
    { store: store as never, clock: clock as never },
    actor as never,
    queue as never,
    AGENT,
  );
  return { ...found, limits };
}
const running = (more: object = {}) => ({
  ...{ id: "r1" as RunId, state: "active" },
  ...more,
  body: { seqs: [1, 2], behalf: { person: "ann" }, ...(more as { body?: object }).body },
});

describe("what waits", () => {
  test("is listed with its kind, its mode and its beginning, and what was dropped with its policy", async () => {
    const found = await waits({
      waiting: [message(3, { kind: "user", text: "two\nlines" }), message(4, { kind: "compact" })],
      dropped: [
        message(1, undefined, { state: "dropped", reason: "cap" }),
        message(2, undefined, { state: "dropped" }),
      ],
    });
    expect(found.waiting).toMatchObject([
      { seq: 3, kind: "user", text: "two lines", acceptedAt: NOW - 5_000, mode: "collect" },
      { seq: 4, kind: "compact", text: "" },
    ]);
    expect(found.dropped).toEqual([
      { seq: 1, policy: "cap", text: "m1" },
      { seq: 2, policy: "", text: "m2" },
    ]);
    expect(found.run).toBeUndefined();
    expect(found.limits).toEqual([200, 20]);
  });

  test.each<[string, World, string]>([
    ["a steered message", { mode: "steer", run: running({ state: "streaming" }) }, "enters run r1 at its next step"],
    [
      "a steered message while the run only works",
      { mode: "steer-backlog", run: running() },
      "waits for the run, then runs in its turn",
    ],
    [
      "a steered message during a compaction",
      { mode: "steer-backlog", run: running({ state: "compacting" }) },
      "waits for the run, then runs in its turn",
    ],
    ["a collected message", { run: running() }, "waits for the run, then joins one prompt with its route"],
    ["an interrupting message", { mode: "interrupt", run: running() }, "ends run r1 and runs next"],
    ["a stop", { waiting: [message(3, { kind: "stop" })], run: running() }, "ends run r1"],
    ["a reset", { waiting: [message(3, { kind: "reset", by: "person" })], run: running() }, "ends run r1"],
    [
      "a stop that the run has already taken",
      { waiting: [message(2, { kind: "stop" })], run: running() },
      "waits for the run, then joins one prompt with its route",
    ],
    [
      "a command",
      { waiting: [message(3, { kind: "command", name: "status", text: "" })], run: running() },
      "is answered at the next step of run r1",
    ],
    [
      "a message of another person",
      {
        mode: "steer",
        waiting: [message(3, undefined, { behalf: { person: "bob" } })],
        run: running({ state: "streaming" }),
      },
      "waits for the run, then runs in its turn",
    ],
    [
      "a message for another route",
      {
        mode: "steer",
        waiting: [message(3, undefined, { delivery: { channel: "x", to: "1" } })],
        run: running({ state: "streaming" }),
      },
      "waits for the run, then runs in its turn",
    ],
  ])("during a run: %s", async (_title, world, will) => {
    const found = await waits({ waiting: [message(3)], ...world });
    expect(found.waiting[0]?.will).toBe(will);
    expect(found.run).toEqual({ id: "r1", state: (world.run as { state: string }).state });
  });

  test.each<[string, World, string[]]>([
    ["one message", { waiting: [message(3)] }, ["runs next"]],
    [
      "two that are collected",
      { waiting: [message(3), message(4)] },
      ["runs next, in one prompt with others", "runs next, in one prompt with others"],
    ],
    ["two in turn", { mode: "queue", waiting: [message(3), message(4)] }, ["runs next", "waits its turn"]],
    [
      "a reset behind a message",
      { waiting: [message(3), message(4, { kind: "reset", by: "person" })] },
      ["waits its turn", "is handled next (reset)"],
    ],
    ["a stop", { waiting: [message(3, { kind: "stop" })] }, ["is handled next (stop)"]],
    [
      "a silent note",
      { waiting: [message(3, { kind: "system", text: "x", silent: true })] },
      ["is handled next (record)"],
    ],
    [
      "a setting",
      { waiting: [message(3, { kind: "setting" }), message(4)] },
      ["is handled next (settle)", "waits its turn"],
    ],
    [
      "more than may wait",
      { mode: "queue", cap: 1, waiting: [message(3), message(4)] },
      ["will be dropped", "runs next"],
    ],
    [
      "messages that came during the last run",
      { waiting: [message(3, undefined, { acceptedAt: NOW - 100 })], busyUntil: NOW - 50, debounceMs: 1_000 },
      [`waits until it has been quiet, at the latest until ${new Date(NOW + 900).toISOString()}`],
    ],
  ])("at rest: %s", async (_title, world, will) => {
    expect((await waits(world)).waiting.map((one) => one.will)).toEqual(will);
  });

  test("of an agent that does not exist is an error", async () => {
    const store = { agent: async () => undefined } as never;
    await expect(whatWaits({ store, clock: clock as never }, undefined, {} as never, AGENT)).rejects.toThrow(
      "There is no agent",
    );
  });
});

describe("a diagnosis", () => {
  const agent = (n: number, more: object = {}): AgentRecord =>
    ({
      id: `a${n}`,
      sessionKey: `k${n}`,
      descriptor: { type: "heartbeat" },
      state: {},
      waiting: 1,
      ...more,
    }) as unknown as AgentRecord;
  const found = (
    parts: { agents?: AgentRecord[]; jobs?: object[]; degraded?: number; runs?: object; waiting?: object[] } = {},
  ) => {
    const limits: unknown[] = [];
    const noted = (value: unknown) => async (filter?: unknown) => {
      limits.push(filter);
      return value;
    };
    const store = {
      busyAgents: noted(parts.agents ?? []),
      waits: noted([{ from: "a", to: "b", since: NOW - 7 }]),
      deliveries: noted([
        { id: "d", agentId: "a", state: "failed", reason: "no", target: { channel: "c" }, attempts: 2 },
      ]),
      jobs: noted(parts.jobs ?? []),
      waitingDeliveries: noted({ unroutable: 1 }),
      run: async () => parts.runs,
    };
    const degraded = new Map(Array.from({ length: parts.degraded ?? 0 }, (_, n) => [`x${n}` as AgentId, "why"]));
    return diagnose({
      ports: { store: store as never, clock: clock as never },
      lanes: { counts: () => ({ main: 1 }) as never },
      degraded,
      whatWaits: async () => ({ waiting: parts.waiting ?? [] }) as never,
    }).then((diagnosis) => ({ ...diagnosis, limits }));
  };

  test("lists at most fifty of each, and says that there are more", async () => {
    const many = (length: number) => Array.from({ length }, (_, n) => agent(n));
    const jobs = Array.from({ length: 52 }, (_, n) => ({
      id: `j${n}`,
      name: `n${n}`,
      state: { lastStatus: "error", lastError: "e" },
    }));
    const all = await found({ agents: many(51), jobs, degraded: 51 });
    expect([all.busy.length, all.more, all.failedJobs.length, all.degraded.length]).toEqual([50, true, 50, 50]);
    expect((await found({ agents: many(50) })).more).toBe(false);
    expect(all.limits.slice(0, 3)).toEqual([
      { limit: 51 },
      { limit: 50 },
      { limit: 50, states: ["failed", "unconfirmed"] },
    ]);
  });

  test("shows how long, why and what is next", async () => {
    const all = await found({
      agents: [agent(1, { runId: "r", node: 3, stopped: { reason: "enough" }, state: { label: "mine" } })],
      jobs: [{ id: "j", name: "n", state: { lastStatus: "ok" } }],
      runs: {
        ...{ id: "r", startedAt: NOW - 9, attempt: 2, abort: { reason: "person" } },
        body: { iterations: 3, calls: [{ name: "dig", state: "intended" }] },
      },
      waiting: [1, 2, 3, 4].map((n) => ({ kind: "user", acceptedAt: NOW - n, will: `w${n}`, text: "secret" })),
    });
    expect(all.busy).toEqual([
      {
        ...{
          agentId: "a1",
          sessionKey: "k1",
          kind: "heartbeat",
          label: "mine",
          held: true,
          stopped: "enough",
          waiting: 1,
        },
        run: { id: "r", forMs: 9, attempt: 2, iterations: 3, calls: ["dig (intended)"], abort: "person" },
        next: [1, 2, 3].map((n) => ({ kind: "user", forMs: n, will: `w${n}` })),
      },
    ]);
    expect(all.failedJobs).toEqual([]);
    expect(all.waits).toEqual([{ from: "a", to: "b", sinceMs: 7 }]);
    expect(all.deadLetters).toEqual([
      { id: "d", agentId: "a", state: "failed", reason: "no", channel: "c", attempts: 2 },
    ]);
    const [bare] = (await found({ agents: [agent(2)] })).busy;
    expect(bare).toMatchObject({ label: "heartbeat", held: false, stopped: undefined, run: undefined });
  });
});

describe("a status line", () => {
  const size = { input: 1, cacheRead: 2, cacheWrite: 3, output: 4 };
  const described = (agent: object | undefined, options: object = {}, counts?: () => boolean) => {
    const store = new Proxy({}, { get: () => async () => [] });
    return describeConversation(
      { store: store as never, clock: clock as never },
      options as never,
      { settingsFor: (one: Message) => ({ mode: one.source?.connector === "test" ? "steer" : "collect" }) } as never,
      { agent: agent as never, profile: "main", channel: "test", counts },
    );
  };
  test("of a conversation that has not begun", async () => {
    expect(await described(undefined)).toMatchObject({
      ...{ model: null, why: null, thinking: null, verbose: null, reasoning: null, queueMode: "steer", logins: [] },
      context: { used: null, window: null },
    });
  });
  test("of one that has", async () => {
    const agent = {
      profile: "p",
      state: { tokens: { model: "old", size }, thinkingLevel: "low", verboseLevel: "on", reasoningLevel: "off" },
    };
    expect(await described(agent)).toMatchObject({
      ...{ model: "old", thinking: "low", verbose: "on", reasoning: "off" },
      context: { used: 10, window: null },
    });
    const seen: unknown[] = [];
    const saw = <Value>(one: unknown, value: Value): Value => {
      seen.push(one);
      return value;
    };
    const known = { model: "m", why: "w", thinking: "high", logins: ["l"] };
    const options = {
      commands: { models: { describe: async (one: unknown) => saw(one, known) } },
      contextLimits: async (one: unknown) => saw(one, { contextWindow: 99 }),
    };
    expect(await described(agent, options)).toMatchObject({
      ...{ model: "m", why: "w", thinking: "high", logins: ["l"], context: { used: 10, window: 99 } },
    });
    expect(seen).toEqual([agent, agent]);
    seen.length = 0;
    await described(undefined, options);
    expect(seen).toMatchObject([{ profile: "main" }, { profile: "main" }]);
  });
});

test("a status line counts since the day began, or for a day", async () => {
  const since: number[] = [];
  const now = 5 * 86_400_000;
  const store = {
    usageSince: async (at: number) => {
      since.push(at);
      return [{ agentId: AGENT, tokens: 3, cost: 0.5 }];
    },
    agent: async () => undefined,
  };
  const queue = { settingsFor: () => ({ mode: "queue" }) } as never;
  const of = (options: object) =>
    describeConversation({ store: store as never, clock: { now: () => now } as never }, options as never, queue, {
      profile: "main",
      channel: "test",
    });
  expect((await of({})).today).toEqual({ tokens: 3, dollars: 0.5 });
  await of({ commands: { dayStart: (at: number) => at - 7 } });
  expect(since).toEqual([now - 86_400_000, now - 7]);
});

describe("permanent agents in a prompt", () => {
  const agents = (count: number, stopped: (n: number) => boolean = () => false) =>
    Array.from({ length: count }, (_, n) => ({
      id: `a${String(n).padStart(4, "0")}`,
      descriptor: { type: "permanent", name: `n${String(count - n).padStart(4, "0")}`, description: "d" },
      stopped: stopped(n) ? { reason: "x" } : undefined,
    }));
  const listed = async (all: ReturnType<typeof agents>) => {
    const pages: number[] = [];
    const agentsOfKind = async (_kind: string, { limit, after = "" }: { limit: number; after?: string }) => {
      const page = all.filter(({ id }) => id > after).slice(0, limit);
      pages.push(page.length);
      return page as never;
    };
    const list = await permanentAgentsOf({ agentsOfKind }, { monotonic: () => 0 }).list();
    return { list, pages };
  };
  test("are read a hundred at a time, the last page once", async () => {
    expect((await listed(agents(100))).pages).toEqual([100, 0]);
    expect((await listed(agents(99))).pages).toEqual([99]);
    const { list, pages } = await listed(agents(101));
    expect([list.length, pages]).toEqual([101, [100, 1]]);
    expect(list.map(({ name }) => name)).toEqual(list.map(({ name }) => name).toSorted());
  });
  test("are the oldest five hundred that are not stopped", async () => {
    const { list, pages } = await listed(agents(700, (n) => n < 50));
    expect(list).toHaveLength(MAX_LISTED);
    expect(MAX_LISTED).toBe(500);
    expect(list.some(({ id }) => id === "a0049")).toBe(false);
    expect(list.some(({ id }) => id === "a0550")).toBe(false);
    expect(pages).toEqual([100, 100, 100, 100, 100, 100]);
  });
});

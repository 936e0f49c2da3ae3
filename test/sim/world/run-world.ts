/**
 * One world: a seed, a scenario, a subject. People write, nodes run the subject, things go wrong; then the faults end,
 * everything must come to rest within a bounded time, and the auditor judges. The same three always give the same bytes.
 */

import type { Database } from "../../../src/adapters/store/sqlite/database.ts";
import type { AgentRecord } from "../../../src/core/agent/agent.ts";
import type { ChangeId } from "../../../src/core/ids.ts";
import { silentLog } from "../../../src/core/ports/log.ts";
import type { Ports } from "../../../src/core/ports/ports.ts";
import type { Change } from "../../../src/core/store/change.ts";
import { seedAgent } from "../../../src/engine/context/seed-agent.ts";
import { seededIds } from "../../kit/ids.ts";
import { randomOf } from "../../kit/random.ts";
import { type Applied, recording } from "../audit/audit-subagents.ts";
import type { Violation } from "../audit/audit-view.ts";
import { audit, lawfulState } from "../audit/auditor.ts";
import { type Evidence, type ListedAgent, listAgent, listAgents } from "../audit/evidence.ts";
import type { Scenario } from "../scenarios/scenarios.ts";
import type { Subject, SubjectUnderTest } from "../subjects/subject.ts";
import { makeAborts } from "./aborts.ts";
import { makeBranches } from "./branches.ts";
import { type Channel, makeChannel } from "./channel.ts";
import { type Coverage, type CrashAim, makeCrashPlan } from "./crash-plan.ts";
import { fileDatabase, memoryDatabase } from "./database.ts";
import { makeEventLog } from "./event-log.ts";
import type { Faults } from "./faults.ts";
import { makeJobs } from "./jobs.ts";
import { makeOperator } from "./operator.ts";
import { postgresDatabase } from "./postgres-database.ts";
import { type SimProcess, startProcess } from "./process.ts";
import { makeRoutedModel, ROUTED_CHOICE } from "./routed-model.ts";
import { makeScheduler } from "./scheduler.ts";
import { makeScriptedModel } from "./scripted-model.ts";
import { makeSimFiles } from "./sim-files.ts";
import { afterwards, type Backend, makeSimStore } from "./sim-store.ts";
import { makeSimTools } from "./sim-tools.ts";
import { tokenText } from "./tokens.ts";
import { makeTreeStops } from "./tree-stops.ts";
import { makeWaitLog } from "./wait-log.ts";
import { makeWorkload, type WorkItem } from "./workload.ts";

export interface WorldOptions {
  readonly seed: number;
  readonly scenario: Scenario;
  readonly subject: SubjectUnderTest;
  /** Crashes that must happen beside those the seed plans. */
  readonly aims?: readonly CrashAim[];
  /** How long everything may take to come to rest once the faults have ended. */
  readonly restMs?: number;
  /** On a real file with its write-ahead log, not in memory. */
  readonly onFile?: boolean;
  /** On a real PostgreSQL: the address of a server where a database can be made. */
  readonly postgres?: string;
  /** A broken store, for the mutations of a store in memory. */
  readonly mutateStore?: (backend: Backend, db: Database) => Backend;
  /** A broken world as the subject sees it, for the mutations. Asked for each life of a node. */
  readonly mutatePorts?: (ports: Ports) => Ports;
}

export interface WorldResult {
  readonly violations: readonly Violation[];
  readonly coverage: Coverage;
  readonly digest: string;
  readonly lines: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

const LEASE_MS = 5_000;
/** How long everything may take to come to rest once the faults have ended: leases, back-offs and jumped clocks. */
const REST_MS = 180_000;
/** How far a wall clock may be off; whatever waits for a wall time waits at most twice as long. */
const MAX_SKEW_MS = 60_000;
const PEACE = "in peace";
const WALL_START = 1_800_000_000_000;

/** How often each kind of compaction was made. */
function compactionsIn(listed: readonly ListedAgent[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const line of listed.flatMap(({ lines }) => lines)) {
    const { type, hidden, details } = JSON.parse(line) as {
      type?: string;
      hidden?: boolean;
      details?: { kind: string; reason: string };
    };
    const isFlush = type === "custom_message" && hidden === true;
    if (!isFlush && (type !== "compaction" || !details)) continue;
    const what = isFlush ? "flushes" : `compaction ${details?.kind} (${details?.reason})`;
    counts[what] = (counts[what] ?? 0) + 1;
  }
  return counts;
}

export async function runWorld(options: WorldOptions): Promise<WorldResult> {
  const { seed, scenario, subject, restMs = REST_MS } = options;
  const random = randomOf(`${scenario.name}/${seed}`);
  const violations: Violation[] = [];
  const failed = (what: string, error: unknown): void => {
    violations.push({
      law: "program",
      what: `${what}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    });
  };
  const database = options.postgres
    ? await postgresDatabase(options.postgres)
    : options.onFile
      ? fileDatabase()
      : memoryDatabase();
  const scheduler = makeScheduler(
    (error) => failed("thrown out of a call-back", error),
    () => database.idle?.(),
  );
  const log = makeEventLog(() => scheduler.time);
  const faults: Faults = {
    active: true,
    outage: false,
    diskFull: false,
    store: scenario.store,
    channel: scenario.channel,
  };
  const behind = options.mutateStore?.(database.backend as Backend, database.db) ?? database.backend;
  const applied: Applied[] = [];
  const backend = {
    // Asked anew each time: a database on a file is opened again by every node that starts.
    get reader() {
      return behind.reader;
    },
    outcome: (id: ChangeId) => behind.outcome(id),
    apply(changes: readonly Change[]) {
      const results = behind.apply(changes);
      afterwards(results, (all) => recording(applied, changes, all));
      return results;
    },
  } as typeof behind;
  const parts = { scheduler, log, faults };
  const channels = scenario.classes.map((kind) =>
    makeChannel({ ...parts, random: random.fork(kind) }, kind.slice(0, 5), kind),
  );
  const workload = makeWorkload(
    random.fork("workload"),
    scenario.workload,
    channels.map(({ name }) => name),
  );
  const routes = new Map(
    workload.items.flatMap((item) => (item.kind === "command" ? [] : [[item.token, item.conversation.route]])),
  );
  const speakers = new Map(
    workload.items.flatMap((item) => (item.kind === "command" ? [] : [[item.token, item.conversation]])),
  );
  const waitLog = makeWaitLog(() => scheduler.time);
  const clerks = Array.from({ length: scenario.clerks?.count ?? 0 }, (_, index) => `clerk${index + 1}`);
  const crowd = {
    people: workload.conversations,
    clerks,
    speakerOf: (token: string) => speakers.get(token),
    waits: waitLog.begin,
  };
  const model = makeScriptedModel({ ...parts, random: random.fork("model"), context: scenario.context });
  const routed = scenario.keys
    ? makeRoutedModel({ scheduler, log, faults, random: random.fork("keys"), model })
    : undefined;
  const tools = makeSimTools({ ...parts, random: random.fork("tools"), routeOf: (token) => routes.get(token) });
  const files = makeSimFiles(scheduler);
  const plan = makeCrashPlan(random.fork("crashes"), random.int(...scenario.crashes), options.aims);
  const names = ["a", "b", "c"].slice(0, random.int(...scenario.nodes));
  const embedded = names.length === 1;
  const alone = embedded && random.fork("alone").chance(0.5);
  const store = makeSimStore({
    ...parts,
    random: random.fork("store"),
    backend,
    embedded,
    onBatchDeath(process, sites) {
      plan.countBatchDeath(sites);
      process.kill("inside a batch");
    },
  });

  // Nodes and their lives.
  const onCommit = random.fork("nodes");
  const wallOffset = new Map<string, number>();
  const lives = new Map<string, { process: SimProcess; subject: Subject | undefined; life: number }>();
  let ending = false;
  let deaths = 0;
  const paused: string[] = [];

  const processDeps = {
    scheduler,
    log,
    wall: (node: string) => WALL_START + (scenario.wallOffsetMs ?? 0) + scheduler.time + (wallOffset.get(node) ?? 0),
    onCommitAt: plan.at,
    onPause(process: SimProcess) {
      paused.push(process.name);
      // Short ones keep the lease, long ones outlive it and whoever waits for it.
      const leases = onCommit.chance(0.35) ? 0.2 + onCommit.next() : 1.7 + onCommit.next() * 1.5;
      scheduler.after(Math.round(LEASE_MS * leases), () => process.resume());
    },
    onDeath({ node }: SimProcess, why: string) {
      if (why !== PEACE) deaths += 1;
      if (ending) return;
      const quick = !faults.active || onCommit.chance(0.7);
      scheduler.after(
        quick ? onCommit.int(150, 1_500) : onCommit.int(3_000, 12_000),
        () => void startNode(node, false),
      );
    },
  };

  async function startNode(node: string, first: boolean): Promise<void> {
    const life = (lives.get(node)?.life ?? 0) + 1;
    const duringFaults = faults.active;
    const process = startProcess(processDeps, node, life);
    lives.set(node, { process, subject: undefined, life });
    if (!first) plan.onRestart();
    log.write(process.name, "starts");
    for (const of of await listAgents(backend.reader)) violations.push(...lawfulState(of));
    await database.reopen(embedded);
    const sound: Ports = {
      clock: process.clock,
      ids: seededIds(process.name, random.fork(`ids/${process.name}`)),
      store: store.view(process),
      model: routed ? routed.port(process) : model.port(process),
      tools: tools.port(process),
      files: files.port(process),
      log: silentLog,
      connectors: new Map(channels.map((channel) => [channel.name, channel.connector(process)])),
    };
    const ports = options.mutatePorts?.(sound) ?? sound;
    try {
      const running = await subject.start(ports, {
        name: node,
        leaseMs: LEASE_MS,
        alone,
        restore: scenario.restore,
        queue: scenario.queue,
        subagents: scenario.subagents,
        ...(scenario.lanes ? { lanes: scenario.lanes } : {}),
        crowd,
        budgets: scenario.budgets,
        ...(scenario.keys ? { model: ROUTED_CHOICE } : {}),
        triggers: scenario.jobs !== undefined,
        context: scenario.context,
        reset: scenario.reset,
      });
      lives.set(node, { process, subject: running, life });
    } catch (error) {
      if (!duringFaults) failed(`${process.name} does not start`, error);
      process.kill("because it cannot start");
    }
  }

  function drain(node: string): void {
    const current = lives.get(node);
    if (!current?.subject || current.process.state !== "up") return;
    const { process, subject: running } = current;
    log.write(process.name, "is asked to end");
    scheduler.after(30_000, () => process.kill("because it does not end"));
    process.enter(() => {
      running.drain().then(
        () => process.kill(PEACE),
        (error: unknown) => failed("drain", error),
      );
    });
  }

  // What people write, and what goes wrong, laid out over time.
  for (const item of workload.items) scheduler.after(item.at, () => enterWork(item));
  const faultsEnd = workload.endsAt + onCommit.int(0, 3_000);
  const someTime = (): number => onCommit.int(500, faultsEnd);
  const times = (range: readonly [number, number], what: () => void): void => {
    for (let n = onCommit.int(...range); n > 0; n--) scheduler.after(someTime(), () => faults.active && what());
  };
  times(scenario.pauses, plan.armPause);
  times(scenario.outages, () => {
    faults.outage = true;
    log.write("store", "is away");
    scheduler.after(onCommit.int(300, 8_000), () => {
      faults.outage = false;
    });
  });
  times(scenario.fullDisks, () => {
    faults.diskFull = true;
    log.write("store", "is full");
    scheduler.after(onCommit.int(300, 5_000), () => {
      faults.diskFull = false;
    });
  });
  times(scenario.clockJumps, () => {
    const ms = onCommit.int(1_000, 2 * MAX_SKEW_MS) * (onCommit.chance(0.5) ? 1 : -1);
    const whose = onCommit.chance(0.5) ? names : [onCommit.pick(names)];
    for (const node of whose) {
      const skew = (wallOffset.get(node) ?? 0) + ms;
      wallOffset.set(node, Math.max(-MAX_SKEW_MS, Math.min(MAX_SKEW_MS, skew)));
    }
    log.write("clock", `of ${whose.join(" ")} jumps by ${ms}`);
  });
  times(scenario.drains, () => drain(onCommit.pick(names)));
  const aborts = makeAborts({
    random: random.fork("aborts"),
    log,
    backend,
    living: () => [...lives.values()],
  });
  times(scenario.aborts, () => void aborts.ask());
  const jobs = makeJobs(
    { random: random.fork("jobs"), log, backend, now: WALL_START, living: () => [...lives.values()] },
    scenario.jobs,
  );
  if (scenario.jobs) times(scenario.jobs.edits, () => jobs.edit());
  const branches = makeBranches({ random: random.fork("branches"), log, backend, living: () => [...lives.values()] });
  if (scenario.branches) times(scenario.branches, () => void branches.ask());
  const trees = makeTreeStops({ random: random.fork("trees"), log, backend, living: () => [...lives.values()] });
  if (scenario.treeStops) times(scenario.treeStops, () => void trees.stop());
  if (scenario.removals) times(scenario.removals, () => void trees.remove());
  scheduler.after(faultsEnd, () => {
    log.write("world", "the faults end");
    faults.active = false;
    plan.stop();
  });

  function enterWork(item: WorkItem): void {
    if (item.kind === "system") return void postSystem(item);
    if (item.kind === "child") return void postChild(item);
    const channel = channels.find(({ name }) => name === item.conversation.channel) as Channel;
    channel.write(item.message, item.kind === "message" ? item.token : undefined);
  }

  /** A message from another program on the same store: no connector brings it, nobody outside is answered. */
  async function postSystem(item: Extract<WorkItem, { kind: "system" }>): Promise<void> {
    const { user, channel } = item.conversation;
    const agent = (await backend.reader.agents({ limit: 1_000 })).find(
      ({ descriptor }) => descriptor.type === "user" && descriptor.connector === channel && descriptor.userId === user,
    );
    if (!agent) return void scheduler.after(500, () => void postSystem(item));
    const at = processDeps.wall("a");
    const body = { kind: "system", text: tokenText(item.token), silent: item.silent } as const;
    const change: Change = {
      id: `world-${item.token}` as ChangeId,
      site: "world.post",
      at,
      ops: [{ op: "message.post", to: { agentId: agent.id }, message: { body, acceptedAt: at } }],
    };
    backend.apply([change]);
    log.write("world", `posts ${item.token}`);
  }

  /** A child of somebody's agent is made and told what to do, by another program on the same store. */
  async function postChild(item: Extract<WorkItem, { kind: "child" }>): Promise<void> {
    const { user, channel } = item.conversation;
    const parent = (await backend.reader.agents({ limit: 1_000 })).find(
      ({ descriptor }) => descriptor.type === "user" && descriptor.connector === channel && descriptor.userId === user,
    );
    if (!parent) return void scheduler.after(500, () => void postChild(item));
    const at = processDeps.wall("a");
    const descriptor = { type: "subagent", id: item.token, parentAgentId: parent.id, name: item.token } as const;
    const seed = seedAgent(seededIds(item.token, random.fork(`child/${item.token}`)), descriptor, at);
    const body = { kind: "system", text: [tokenText(item.token), ...item.directives].join(" ") } as const;
    backend.apply([
      {
        id: `world-${item.token}` as ChangeId,
        site: "world.child",
        at,
        ops: [
          { op: "agent.create", seed },
          { op: "message.post", to: { agentId: seed.id }, message: { body, acceptedAt: at } },
        ],
      },
    ]);
    log.write("world", `starts a child for ${item.token}`);
  }
  // Whoever runs the place: publishes the swarm, makes the permanent agents, tells them otherwise about themselves.
  const house = makeOperator({ backend, log, random: random.fork("house"), wall: () => processDeps.wall("a"), clerks });
  times(scenario.clerks?.describes ?? [0, 0], house.describe);
  times(scenario.clerks?.removals ?? [0, 0], house.remove);

  /** Everybody is up, nothing waits, runs or is owed, and everything written was acknowledged. */
  async function isQuiet(): Promise<boolean> {
    if (!(await jobs.end())) return false;
    if ([...lives.values()].some(({ process, subject: running }) => process.state !== "up" || !running)) return false;
    if (channels.some(({ inbound }) => inbound.some(({ acknowledgedAt }) => acknowledgedAt === undefined)))
      return false;
    if ((await backend.reader.deliveries({ limit: 1 })).length > 0) return false;
    if ((await backend.reader.reservations({ limit: 1 })).length > 0) return false;
    const ended = await backend.reader.subagentRuns();
    if (ended.some(({ cleanup, endedAt }) => cleanup === "delete" && endedAt !== undefined)) return false;
    const agents = await backend.reader.agents({ limit: 1_000 });
    return agents.every(({ waiting, runId }) => waiting === 0 && runId === undefined);
  }

  const onRejection = (error: unknown): void => failed("nobody catches", error);
  process.on("unhandledRejection", onRejection);
  try {
    for (const node of names) void startNode(node, true);
    await scheduler.run(faultsEnd);
    let quiet = false;
    for (let waited = 0; !quiet && waited < restMs; waited += 500) {
      await scheduler.run(scheduler.time + 500);
      quiet = await isQuiet();
    }
    if (!quiet) violations.push({ law: "liveness", what: `not at rest ${restMs} ms after the faults ended` });
    const restedAt = scheduler.time;
    // Late redeliveries and zombies get their chance to do harm.
    await scheduler.run(scheduler.time + 2 * LEASE_MS + 2_000);
    ending = true;
    for (const node of names) drain(node);
    await scheduler.run(scheduler.time + 20_000, () =>
      [...lives.values()].every(({ process }) => process.state === "dead"),
    );
    for (const { process } of lives.values()) {
      if (process.state !== "dead") violations.push({ law: "liveness", what: `${process.name} does not end` });
    }
    for (const channel of channels) {
      for (const { token, acknowledgedAt, message } of channel.inbound) {
        if (acknowledgedAt === undefined)
          violations.push({ law: "liveness", what: `${token ?? message.messageId} was never acknowledged` });
      }
    }
    const gone: ListedAgent[] = [];
    for (const id of house.removed) {
      gone.push(await listAgent(backend.reader, (await backend.reader.agent(id)) as AgentRecord));
    }
    const listed = [...(await listAgents(backend.reader)), ...gone.filter(({ agent }) => agent.stopped?.removed)];
    const evidence: Evidence = {
      scenario,
      workload,
      channels,
      calls: model.calls,
      summaries: model.summaries,
      executions: tools.executions,
      listed,
      aborts: aborts.records,
      budgets: await backend.reader.budgets({ limit: 10_000 }),
      reservations: await backend.reader.reservations({ limit: 10_000 }),
      keyUses: routed?.uses ?? [],
      branches: branches.records,
      applied,
      deaths,
      paused,
      leases: alone ? new Map() : store.leases,
      leaseMs: LEASE_MS,
      nodes: names.length,
      waits: await backend.reader.waits({ limit: 100 }),
      waited: waitLog.waited,
      jobs: await jobs.evidence(),
      clerks,
      described: house.described,
      removed: house.removed,
      gone,
    };
    violations.push(...audit(evidence));
    const states: Record<string, number> = {};
    for (const { state } of listed.flatMap(({ messages }) => messages)) states[state] = (states[state] ?? 0) + 1;
    for (const { state } of listed.flatMap(({ deliveries }) => deliveries)) {
      states[`delivery ${state}`] = (states[`delivery ${state}`] ?? 0) + 1;
    }
    for (const { error, results } of model.calls) {
      if (error === undefined) continue;
      const what = `${error} behind ${Math.min(results, 2)} results`;
      states[what] = (states[what] ?? 0) + 1;
    }
    for (const { outcome } of routed?.uses ?? []) states[`key ${outcome}`] = (states[`key ${outcome}`] ?? 0) + 1;
    const overBudget = listed.flatMap(({ runs }) => runs).filter(({ body }) => body.error?.kind === "budget");
    if (scenario.budgets) states["runs over budget"] = overBudget.length;
    return {
      violations,
      coverage: plan.coverage,
      digest: log.digest(),
      lines: log.lines,
      counts: {
        ...states,
        crashes: plan.crashes,
        commits: store.commits,
        "model calls": model.calls.length,
        ...(model.summaries.length > 0 ? { summaries: model.summaries.length } : {}),
        ...compactionsIn(listed),
        "tool executions": tools.executions.length,
        events: scheduler.events,
        "virtual ms": scheduler.time,
        "ms to rest": restedAt - faultsEnd,
      },
    };
  } finally {
    ending = true;
    for (const { process } of lives.values()) process.kill("with its world");
    process.off("unhandledRejection", onRejection);
    database.close();
  }
}

/** Everything a world consists of before time starts: a database behind a wire, channels, people, a model, tools, nodes. */
import type { Database } from "../../../src/adapters/store/sqlite/database.ts";
import type { ChangeId } from "../../../src/core/ids.ts";
import type { Ports } from "../../../src/core/ports/ports.ts";
import type { Change } from "../../../src/core/store/change.ts";
import { type Random, randomOf } from "../../kit/random.ts";
import { type Applied, recording } from "../audit/audit-subagents.ts";
import type { Violation } from "../audit/audit-view.ts";
import type { Scenario } from "../scenarios/scenario.ts";
import type { Participants, SubjectUnderTest } from "../subjects/subject.ts";
import { Channel } from "./channel.ts";
import { type CrashAim, type CrashPlan, makeCrashPlan } from "./crash-plan.ts";
import { fileDatabase, memoryDatabase, type WorldDatabase } from "./database.ts";
import { type EventLog, makeEventLog } from "./event-log.ts";
import type { Faults } from "./faults.ts";
import type { IndexParts } from "./index-follower.ts";
import { postgresDatabase } from "./postgres-database.ts";
import { makeRoutedModel, type RoutedModel } from "./routed-model.ts";
import { makeScheduler, type Scheduler } from "./scheduler.ts";
import { ScriptedModel } from "./scripted-model.ts";
import { makeSimFiles, type SimFiles } from "./sim-files.ts";
import { afterwards, type Backend, type ServerBackend, SimStore } from "./sim-store.ts";
import { SimTools } from "./sim-tools.ts";
import { makeWaitLog, type Waited } from "./wait-log.ts";
import { type Conversation, makeWorkload, type Workload } from "./workload.ts";

export interface WorldOptions {
  readonly seed: number;
  readonly scenario: Scenario;
  readonly subject: SubjectUnderTest;
  /** Crashes that must happen in addition to those the seed plans. */
  readonly aims?: readonly CrashAim[];
  /** How long all work may take to end once the faults have ended. */
  readonly restMs?: number;
  /** On a real file with its write-ahead log, not in memory. */
  readonly onFile?: boolean;
  /** On a real PostgreSQL: the address of a server where a database can be created. */
  readonly postgres?: string;
  /** A broken store, for the mutations of a store in memory. */
  readonly mutateStore?: (backend: Backend, db: Database) => Backend;
  /** Broken ports, for the mutations. Called for each life of a node. */
  readonly mutatePorts?: (ports: Ports) => Ports;
  /** A broken search index, for the mutations. Called for each life of it. */
  readonly mutateIndex?: (parts: IndexParts) => IndexParts;
}

export interface World {
  readonly options: WorldOptions;
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly log: EventLog;
  readonly faults: Faults;
  readonly database: WorldDatabase;
  readonly backend: ServerBackend;
  /** Everything the store applied, in its order. */
  readonly applied: readonly Applied[];
  readonly channels: readonly Channel[];
  readonly workload: Workload;
  readonly participants: Participants;
  readonly waited: readonly Waited[];
  readonly model: ScriptedModel;
  /** The router over keys, in scenarios that have keys. */
  readonly routed: RoutedModel | undefined;
  readonly tools: SimTools;
  readonly files: SimFiles;
  readonly plan: CrashPlan;
  readonly store: SimStore;
  /** The names of the nodes. */
  readonly names: readonly string[];
  /** One node with the embedded store. */
  readonly embedded: boolean;
  /** One node that uses no lease. */
  readonly alone: boolean;
  readonly violations: Violation[];
  /** Records an error that the program must not make. */
  failed(what: string, error: unknown): void;
}

export async function buildWorld(options: WorldOptions): Promise<World> {
  const { seed, scenario } = options;
  const random = randomOf(`${scenario.name}/${seed}`);
  const violations: Violation[] = [];
  const failed = (what: string, error: unknown): void => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    violations.push({ law: "program", what: `${what}: ${text}` });
  };
  const database = await openDatabase(options);
  const scheduler = makeScheduler(
    (error) => failed("thrown out of a call-back", error),
    () => database.idle?.(),
  );
  const log = makeEventLog(() => scheduler.time);
  const { store: storeFaults, channel: channelFaults } = scenario;
  const faults: Faults = { active: true, outage: false, diskFull: false, store: storeFaults, channel: channelFaults };
  const applied: Applied[] = [];
  const backend = recordingBackend(
    options.mutateStore?.(database.backend as Backend, database.db) ?? database.backend,
    applied,
  );
  const parts = { scheduler, log, faults };
  const channels = scenario.classes.map(
    (kind) =>
      new Channel({ ...parts, random: random.fork(kind) }, kind.slice(0, 5), kind, {
        receipts: scenario.receipts,
      }),
  );
  const channelNames = channels.map(({ name }) => name);
  const { routes = [] } = scenario.workload;
  for (const [name, kind, connected] of [
    ["api", "idempotent", () => false],
    ["later", "ambiguous", () => !faults.active],
  ] as const) {
    if (routes.includes(name))
      channels.push(new Channel({ ...parts, random: random.fork(name) }, name, kind, { connected }));
  }
  const workload = makeWorkload(random.fork("workload"), scenario.workload, channelNames);
  const speakers = speakersOf(workload);
  const waitLog = makeWaitLog(() => scheduler.time);
  const participants: Participants = {
    people: workload.conversations,
    permanentAgents: Array.from({ length: scenario.permanentAgents?.count ?? 0 }, (_, n) => `permanent${n + 1}`),
    speakerOf: (token) => speakers.get(token),
    waits: waitLog.begin,
  };
  const model = new ScriptedModel({
    ...parts,
    random: random.fork("model"),
    context: scenario.context,
    repeatsIds: scenario.repeatsIds,
  });
  const routed = scenario.keys ? makeRoutedModel({ ...parts, random: random.fork("keys"), model }) : undefined;
  const routeOf = (token: string) => speakers.get(token)?.route;
  const tools = new SimTools({ ...parts, random: random.fork("tools"), routeOf });
  const plan = makeCrashPlan(random.fork("crashes"), random.int(...scenario.crashes), options.aims);
  const names = ["a", "b", "c"].slice(0, random.int(...scenario.nodes));
  const embedded = names.length === 1;
  const store = new SimStore({
    ...parts,
    random: random.fork("store"),
    backend,
    embedded,
    onBatchDeath(process, sites) {
      plan.countBatchDeath(sites);
      process.kill("inside a batch");
    },
  });
  return {
    options,
    random,
    ...parts,
    database,
    backend,
    applied,
    channels,
    workload,
    participants,
    waited: waitLog.waited,
    model,
    routed,
    tools,
    files: makeSimFiles(scheduler),
    plan,
    store,
    names,
    embedded,
    alone: embedded && random.fork("alone").chance(0.5),
    violations,
    failed,
  };
}

async function openDatabase({ postgres, onFile }: WorldOptions): Promise<WorldDatabase> {
  if (postgres) return postgresDatabase(postgres);
  return onFile ? fileDatabase() : memoryDatabase();
}

/** The backend, with every change that it applies recorded in order. */
function recordingBackend(backend: ServerBackend, applied: Applied[]): ServerBackend {
  return {
    // Read each time: every node start reopens a database on a file.
    get reader() {
      return backend.reader;
    },
    outcome: (id: ChangeId) => backend.outcome(id),
    apply(changes: readonly Change[]) {
      const results = backend.apply(changes);
      afterwards(results, (all) => recording(applied, changes, all));
      return results;
    },
  };
}

const speakersOf = ({ items }: Workload): ReadonlyMap<string, Conversation> =>
  new Map(items.flatMap((item) => (item.kind === "command" ? [] : [[item.token, item.conversation]])));

/**
 * Opens a node: one engine process on a home and its configuration. `createParts` builds the store's users, `connect` ties
 * them together, and closing undoes each step in reverse.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { shardConnector } from "../../adapters/connectors/shard/shard-connector.ts";
import { type WebhookTarget, webhookConnector } from "../../adapters/connectors/webhook/webhook-connector.ts";
import { sharedLogins } from "../../adapters/models/logins/shared-logins.ts";
import { type OpenModels, openModels } from "../../adapters/models/open-models.ts";
import type { MemorySearch } from "../../adapters/search/search-scope.ts";
import { postgresUrl } from "../../adapters/store/shared-store-url.ts";
import { httpPost } from "../../adapters/system/http-post.ts";
import { jsonLog } from "../../adapters/system/json-log.ts";
import { systemClock } from "../../adapters/system/system-clock.ts";
import { systemIds } from "../../adapters/system/system-ids.ts";
import type { Telemetry } from "../../adapters/system/telemetry.ts";
import type { RunningWatchdog } from "../../adapters/system/watchdog/start-watchdog.ts";
import type { FileMarks } from "../../adapters/tools/files/file-marks.ts";
import type { FileChanges } from "../../adapters/workspace/changes/file-changes.ts";
import { openFileMarks } from "../../adapters/workspace/open-file-marks.ts";
import { personNotes } from "../../adapters/workspace/person-notes.ts";
import { makeWorkspaces } from "../../adapters/workspace/workspaces.ts";
import type { Config } from "../../config/config-schema.ts";
import { createHome } from "../../config/create-home.ts";
import { secretDeps } from "../../config/load-config.ts";
import { type HomePaths, processDirectory, sharedBeforeFile } from "../../config/paths.ts";
import { CurrentSettings, type Settings } from "../../config/settings.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { Current } from "../../core/current.ts";
import { errorText } from "../../core/errors.ts";
import type { Ids } from "../../core/ids.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Connector } from "../../core/ports/connector.ts";
import type { Log, LogLevel } from "../../core/ports/log.ts";
import type { Model } from "../../core/ports/model.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Tool, ToolHost } from "../../core/ports/tool.ts";
import type { Store } from "../../core/store/store.ts";
import { AgentSystem } from "../../engine/agents/agent-system.ts";
import { startRetention } from "../../engine/agents/retention.ts";
import type { RemoteNodes } from "../../engine/cluster/relay-events.ts";
import { syncConfiguredPeople } from "../../engine/people/configured-people.ts";
import { personOf } from "../../engine/runtime/people.ts";
import type { Triggers } from "../../engine/triggers/triggers.ts";
import { commandParts } from "./command-parts.ts";
import { type ConfiguredConnectors, configuredConnectors } from "./configured-connectors.ts";
import { engineOptions, retentionLimits } from "./engine-options.ts";
import { followScope } from "./follow-scope.ts";
import { type LazyToolkit, lazyToolkit } from "./lazy-toolkit.ts";
import { linkedAccounts } from "./linked-accounts.ts";
import { nodeChanges } from "./node-changes.ts";
import { type NodeModels, nodeModels } from "./node-models.ts";
import type { NodeTraces } from "./node-traces.ts";
import { openFiles } from "./open-files.ts";
import { type NodeStore, openStore } from "./open-store.ts";
import { type OpenTriggers, openTriggers } from "./open-triggers.ts";
import type { WatchdogDeps, WatchdogTimes } from "./open-watchdog.ts";
import { warnOfModels } from "./warn-of-models.ts";

export interface NodeOptions {
  readonly paths: HomePaths;
  readonly config: Config;
  readonly connectors: readonly Connector[];
  /** Default: the configured model, else one that is detected on this machine, else the offline model. */
  readonly model?: Model;
  /** The environment that holds keys. Without it no model is detected. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Replaces all tools. */
  readonly tools?: ToolHost;
  /** Tools in addition to those of the node. */
  readonly moreTools?: readonly Tool[];
  /** A store of the program, which closes it. Default: that of the home, or the shared one that is configured. */
  readonly store?: Store;
  readonly clock?: Clock;
  readonly log?: Log;
  /** Also receives warnings. */
  readonly errors?: { write(text: string): unknown };
  /** True for a process that keeps running; false for one that does one thing and exits. */
  readonly stays?: boolean;
  readonly onFatal: (error: unknown) => void;
  /** Ends the whole process if it does not respond (M34). For a process that does nothing else. */
  readonly watchdog?: boolean;
  /** Shorter times, for tests. */
  readonly times?: {
    readonly watchdog?: WatchdogTimes;
    readonly outbox?: Pick<Settings["outbox"], "retryMinMs" | "retryMaxMs">;
  };
}

export interface RookeryNode {
  readonly agents: AgentSystem;
  readonly ports: Ports;
  /** Jobs, the heartbeat and webhooks. */
  readonly triggers: Triggers;
  /** Starts to post a message whenever a trigger is due. For a process that keeps running. */
  startTriggers(): Promise<void>;
  /** Posts the messages of the jobs that are due now. For a process that exits. */
  fireDueJobs(): Promise<void>;
  /** Undefined: the program provides the model. */
  readonly models: NodeModels | undefined;
  /** The changes of prompt files, notes, skills and the configuration. */
  readonly changes: FileChanges;
  readonly rebuilt: NodeStore["rebuilt"];
  /** Search over conversations and notes. Absent on a store of the program. */
  readonly memory?: MemorySearch;
  /** The files about people that this node keeps besides the store. */
  readonly traces: () => Promise<NodeTraces>;
  /** Agents that other nodes work on. Undefined on an embedded store. */
  readonly remoteNodes: RemoteNodes | undefined;
  /** The watchdog ends the process if `close` is not done within the time of a stop from now on. */
  limitStop(): void;
  /** Suspends all work and closes the store. Unfinished work resumes at the next start. */
  close(): Promise<void>;
  /** The settings in force. */
  readonly settings: Current<Settings>;
  /**
   * Puts another configuration in force. `changed`: the keys that differ, all of them live. Rejects with `ConfigError` and
   * changes nothing if it cannot be used.
   */
  reload(config: Config, changed: readonly string[]): Promise<void>;
}

/** The sources of the parts of a node. */
interface Base {
  readonly options: Omit<NodeOptions, "config">;
  readonly settings: CurrentSettings;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly opened: NodeStore;
  readonly telemetry: Telemetry | undefined;
  readonly watchdog: RunningWatchdog | undefined;
}

interface Parts {
  readonly ports: Ports;
  readonly models: OpenModels;
  readonly triggers: OpenTriggers;
  readonly toolkit: LazyToolkit;
  readonly system: AgentSystem;
  readonly marks: FileMarks;
  readonly changes: FileChanges;
  readonly configured: ConfiguredConnectors;
}

export async function openNode(options: NodeOptions): Promise<RookeryNode> {
  const { paths, errors } = options;
  const timed = (config: Config): Config => ({ ...config, outbox: { ...config.outbox, ...options.times?.outbox } });
  const config = timed(options.config);
  const settings = new CurrentSettings(config);
  const linked = linkedAccounts(settings, config);
  await createHome(paths);
  makeWorkspaces(config, paths);
  const level = (): LogLevel => settings.current.log.level;
  const log: Log & { close?(): void } =
    options.log ?? jsonLog({ file: join(paths.logs, "rookery.log"), level, errors });
  const ids = systemIds();
  const { clock = systemClock } = options;
  const closing = new AsyncDisposableStack();
  if (!options.log) closing.defer(() => log.close?.());
  let watchdog: RunningWatchdog | undefined;
  // Last: closing the store is watched too.
  closing.defer(() => watchdog?.stop());
  try {
    const opened = await openStore({ ...options, config, clock, ids, log });
    closing.defer(() => opened.close());
    watchdog = options.watchdog
      ? await watchdogOf({ paths, times: options.times?.watchdog, opened, clock, ids, log })
      : undefined;
    const telemetry = await openTelemetryOf(config);
    const base: Base = { options, settings, clock, ids, log, opened, watchdog, telemetry };
    const parts = createParts(base);
    const { ports, system, triggers, models } = parts;
    closing.defer(() => parts.toolkit.close?.());
    closing.defer(() => system.drain());
    closing.defer(() => triggers.stop());
    closing.defer(startRetention(ports, () => retentionLimits(settings.current), system.files));
    connect(base, parts);
    await linked.read(ports);
    // Another node may have linked accounts.
    closing.defer(linked.follow(ports, system.directory));
    await start(base, parts);
    let closed: Promise<void> | undefined;
    return {
      agents: system,
      triggers: triggers.triggers,
      ports,
      models: options.model ? undefined : nodeModels(settings, models, clock),
      changes: parts.changes,
      rebuilt: opened.rebuilt,
      memory: opened.search && { index: opened.search, notesOf: personNotes(settings, paths) },
      traces: async () => ({
        flush: async () => opened.flush?.(),
        forgetSearch: async (traces) => opened.search?.forget(traces),
        marks: parts.marks,
      }),
      remoteNodes: opened.shared?.cluster.remoteNodes,
      async startTriggers() {
        if (config.cron.enabled) await triggers.start(system);
      },
      async fireDueJobs() {
        if (!config.cron.enabled) return;
        await triggers
          .fireOnce(system)
          .catch((error) => log.warn("the due jobs were not handled", { error: errorText(error) }));
      },
      settings,
      async reload(next, changed) {
        makeWorkspaces(next, paths);
        await linked.reload(timed(next), changed);
      },
      limitStop: () => watchdog?.drain(),
      close() {
        watchdog?.drain();
        closed ??= closing.disposeAsync();
        return closed;
      },
    };
  } catch (error) {
    // A part that already started must not keep the process alive or work on a closed store.
    await closing.disposeAsync();
    throw error;
  }
}

/** Builds every part. Nothing runs yet. */
function createParts(base: Base): Parts {
  const { options, settings, clock, ids, log, opened, telemetry, watchdog } = base;
  const { paths, env } = options;
  const { store } = opened;
  const shared = opened.shared && sharedLogins({ store, leases: opened.shared.leases, clock, ids });
  const models = openModels({ settings, paths, clock, log, env, sharedLogins: shared });
  const leaseMs = opened.shared?.leaseMs;
  // One for all readers and writers: it is read once, and then kept in memory.
  const marks = openFileMarks(paths);
  const changes = nodeChanges({ settings, paths, clock, env, log });
  const ownPorts = { clock, ids, log, store };
  const connectors = connectorsOf(base, { clock, ids });
  const triggers = openTriggers({
    ...{ ports: ownPorts, settings, paths, models, env: env ?? {}, marks, guard: changes.guard, leaseMs },
    channels: () => connectors.keys(),
  });
  const toolkit = lazyToolkit();
  const model = options.model ?? models.model;
  const ports: Ports = {
    clock,
    ids,
    log,
    store,
    model: telemetry?.model(model) ?? model,
    tools: telemetry?.tools(toolkit.tools) ?? toolkit.tools,
    files: opened.files,
    connectors,
  };
  const files = openFiles({ ports: ownPorts, blobs: opened.files, settings, paths, env });
  const configured = configuredConnectors({
    ...{ settings, home: paths.home, env: env ?? {}, ports: ownPorts, connectors, starts: options.stays ?? false },
    once: (connector) => opened.shared?.cluster.singleton(connector) ?? connector,
  });
  const modelGiven = options.model !== undefined;
  const system = new AgentSystem(
    ports,
    engineOptions({
      settings,
      paths,
      nodeName: opened.nodeName,
      files,
      watchdog,
      leaseMs,
      remoteNodes: opened.shared?.cluster.remoteNodes,
      hooks: triggers.triggers.hooks,
      toolkit,
      models,
      modelGiven,
      connectors,
      commands: commandParts({ settings, paths, clock, models, cron: triggers.triggers.cron, modelGiven, changes }),
    }),
  );
  return { ports, models, triggers, toolkit, system, marks, changes, configured };
}

/** Ties the parts together that need each other. */
function connect({ options, settings, opened, telemetry }: Base, parts: Parts): void {
  const { ports, triggers, toolkit, system, marks, changes, configured } = parts;
  toolkit.connect(async () => {
    const { createNodeToolkit } = await import("./node-toolkit.ts");
    const { paths, tools, moreTools, env } = options;
    return createNodeToolkit({
      ...{ settings, paths, ports, system, tools, moreTools, marks, changes, env },
      guard: changes.guard,
      nodeName: opened.nodeName,
      search: opened.search,
      triggers: triggers.triggers,
    });
  });
  // Models and triggers follow a reload by themselves, before this.
  settings.onReload(async (reloaded) => {
    await syncConfiguredPeople(ports, reloaded.settings.people.records);
    system.directory.forget();
    if (reloaded.changed.includes("session.dmScope")) await followScope(ports, reloaded.settings);
    await configured.follow((connector) => system.connectorHost(connector));
    system.reloaded();
  });
  triggers.triggers.connect(system);
  opened.shared?.cluster.connect(system);
  telemetry?.follow(system.events, (agentId) => system.runs.live(agentId)?.sessionId);
}

async function start(base: Base, { ports, toolkit, system, configured, models, changes }: Parts): Promise<void> {
  const { opened, log } = base;
  const config = base.settings.current;
  // Not awaited: a catalogue is a large module, and Ollama may be slow.
  if (base.options.stays && !base.options.model) void warnOfModels(config, models, log);
  await syncConfiguredPeople(ports, config.people.records);
  if (base.options.stays) await followScope(ports, config);
  await configured.add();
  await system.load();
  await warnOfShared(base, ports);
  // Runs that resume, of this node or of a dead one, need their tools at once. Processes of an earlier start are looked after.
  const hasProcesses = existsSync(processDirectory(base.options.paths)) || changes.guard.left().length > 0;
  if (opened.shared || hasProcesses || (await mayResume(ports.store))) await toolkit.ready();
  await system.start();
}

/** Whether a run may continue that a process before this one began: one that was at work, or one that waits for a person. */
const mayResume = async (store: Ports["store"]): Promise<boolean> =>
  (await store.busyAgents({ limit: 1 })).length > 0 ||
  (await store.approvals({ limit: 1, states: ["pending"] })).length > 0;

/** Reads the conversations once per home: at its first start with separate directories for people. */
async function warnOfShared({ options: { paths }, settings, log }: Base, { store }: Ports): Promise<void> {
  if (existsSync(paths.people) && !existsSync(sharedBeforeFile(paths))) return;
  const { warningOfShared } = await import("../../adapters/workspace/shared-before.ts");
  const config = settings.current;
  const whose = (agent: AgentRecord) => agent.person ?? personOf(store, config.identity, agent);
  const warning = await warningOfShared({ config, paths, personOf: async (agent) => whose(agent) }, store);
  if (warning !== undefined) log.warn(warning);
}

/** The given connectors, each a singleton if it must be, and the one to other shards. */
function connectorsOf(
  { options, settings, opened }: Base,
  ports: Pick<Ports, "clock" | "ids">,
): Map<string, Connector> {
  const { connectors, paths, env = {} } = options;
  const { shared } = opened;
  const { shard, shards } = settings.current.store;
  const toShards = shardConnector(ports, {
    name: shard,
    others: Object.keys(shards),
    async open(name) {
      const { openPostgresStore } = await import("../../adapters/store/postgres/open-store.ts");
      const url = postgresUrl(shards[name]?.reveal(secretDeps(paths.home, env)) ?? "");
      return openPostgresStore({ url, maxConnections: 3, lanes: 1 });
    },
  });
  const webhooks = webhookConnector({
    clock: ports.clock,
    post: httpPost,
    targets: () => webhooksOf(settings.current, paths, env),
  });
  const all = [...connectors, webhooks, ...(Object.keys(shards).length > 0 ? [toShards] : [])];
  return new Map(all.map((connector) => [connector.name, shared?.cluster.singleton(connector) ?? connector]));
}

/** The addresses of applications, as the configuration has them now. */
const webhooksOf = (
  { mailbox }: Config,
  { home }: HomePaths,
  env: Readonly<Record<string, string | undefined>>,
): ReadonlyMap<string, WebhookTarget> =>
  new Map(
    Object.entries(mailbox.webhooks).map(([name, { secret, ...webhook }]) => [
      name,
      { ...webhook, secret: () => secret.reveal(secretDeps(home, env)) },
    ]),
  );

/** Loads the module only if the configuration asks for telemetry. */
async function openTelemetryOf({ telemetry }: Config): Promise<Telemetry | undefined> {
  return telemetry.enabled ? (await import("../../adapters/system/telemetry.ts")).openTelemetry() : undefined;
}

/** Loads its modules only for a process that wants it. Armed after the store is open: a migration may take long. */
async function watchdogOf(
  deps: Omit<WatchdogDeps, "ports"> & { readonly ids: Ids; readonly clock: Clock },
): Promise<RunningWatchdog> {
  const { openWatchdog } = await import("./open-watchdog.ts");
  return openWatchdog({ ...deps, ports: { store: deps.opened.store, ids: deps.ids, clock: deps.clock } });
}

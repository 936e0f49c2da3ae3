/**
 * An engine that changes the store and does no work: for commands while no engine runs. It never joins the store, claims no
 * agent, fires no trigger and sends nothing. What it accepts waits for the next engine, or for the nodes of a shared store.
 */
import { sharedStoreUrl } from "../../adapters/store/shared-store-url.ts";
import { diskFileStore } from "../../adapters/system/disk-file-store.ts";
import { systemClock } from "../../adapters/system/system-clock.ts";
import { systemIds } from "../../adapters/system/system-ids.ts";
import type { FileChanges } from "../../adapters/workspace/changes/file-changes.ts";
import type { Config } from "../../config/config-schema.ts";
import type { HomePaths } from "../../config/paths.ts";
import { CurrentSettings } from "../../config/settings.ts";
import { InvariantError, StoreUnreadableError } from "../../core/errors.ts";
import type { Log } from "../../core/ports/log.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Store, StoreReader } from "../../core/store/store.ts";
import { AgentSystem } from "../../engine/agents/agent-system.ts";
import type { CommandParts } from "../../engine/commands/chat-command.ts";
import { Triggers } from "../../engine/triggers/triggers.ts";
import { jobProblem } from "./job-problem.ts";
import { nodeChanges } from "./node-changes.ts";
import type { NodeTraces } from "./node-traces.ts";
import { openFiles } from "./open-files.ts";

interface IdleEngineOptions {
  readonly paths: HomePaths;
  readonly config: Config;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  /** Read this store instead of opening one: then it can change nothing. */
  readonly reader?: StoreReader & { close(): Promise<void> };
}

interface IdleEngine {
  readonly agents: AgentSystem;
  readonly ports: Ports;
  readonly triggers: Triggers;
  readonly settings: CurrentSettings;
  readonly remoteNodes: undefined;
  readonly isIdle: true;
  /** Whether nodes share the store: then it holds the tokens. */
  readonly isShared: boolean;
  readonly changes: FileChanges;
  /** Loaded when it is used. Undefined on a shared store. */
  readonly traces: (() => Promise<NodeTraces>) | undefined;
  close(): Promise<void>;
}

/** Rejects with `HomeLockedError` if another process holds an embedded store. */
export async function openIdleEngine(options: IdleEngineOptions): Promise<IdleEngine> {
  const { config, log, reader } = options;
  const settings = new CurrentSettings(config);
  // Only `commit` writes.
  const store = reader ? ({ ...reader, commit: doesNoWork } as unknown as Store) : await openStoreOf(options);
  const [clock, ids] = [systemClock, systemIds()];
  const ports: Ports = {
    ...{ clock, ids, log, store },
    model: { call: doesNoWork },
    tools: { list: () => [], find: () => undefined },
    files: { write: doesNoWork, read: doesNoWork },
    connectors: new Map(),
  };
  const triggers = new Triggers(
    { ...ports, reveal: doesNoWork },
    { settings, jobProblem: (job) => jobProblem(config, [], job) },
  );
  // Neither loaded nor started: it has no number in the store, and wakes no one.
  const isShared = sharedStoreUrl(options.paths, config, options.env) !== undefined;
  // The bytes of a shared store are elsewhere: then files need a running engine.
  const files = isShared
    ? undefined
    : openFiles({ ...options, settings, ports, blobs: diskFileStore(options.paths.files) });
  const agents = new AgentSystem(ports, {
    nodeName: "command",
    settings,
    resolveModel: doesNoWork,
    commands: { models: modelsOf(options, settings, triggers) },
    files,
  });
  return {
    agents,
    ports,
    triggers,
    settings,
    remoteNodes: undefined,
    isIdle: true,
    isShared,
    changes: nodeChanges({ ...options, settings, clock }),
    traces: isShared ? undefined : async () => (await import("./node-traces.ts")).tracesOfHome(options.paths, log),
    async close() {
      await agents.drain();
      await store.close();
    },
  };
}

/** Checks settings of models and describes the one in use. Loaded at the first use: most commands need neither. */
function modelsOf(
  { paths, env, log }: IdleEngineOptions,
  settings: CurrentSettings,
  { cron }: Triggers,
): CommandParts["models"] {
  const parts = async () => {
    const { commandParts } = await import("./command-parts.ts");
    const { openModels } = await import("../../adapters/models/open-models.ts");
    const models = openModels({ settings, paths, env, clock: systemClock, log });
    return commandParts({ settings, paths, clock: systemClock, models, cron, modelGiven: false }).models;
  };
  let opened: ReturnType<typeof parts> | undefined;
  const open = () => {
    opened ??= parts();
    return opened;
  };
  return {
    describe: async (agent) => (await open())?.describe(agent) ?? doesNoWork(),
    problem: async (agent, patch) => (await open())?.problem(agent, patch),
  };
}

function doesNoWork(): never {
  throw new InvariantError("A command asked for work that only a running engine does.");
}

async function openStoreOf({ paths, config, env }: IdleEngineOptions): Promise<Store> {
  const url = sharedStoreUrl(paths, config, env);
  if (url !== undefined) {
    const { openPostgresStore } = await import("../../adapters/store/postgres/open-store.ts");
    return openPostgresStore({ url });
  }
  const { openSqliteStore } = await import("../../adapters/store/sqlite/open-store.ts");
  const { rebuildNeeded, refuseUnreadable } = await import("../../adapters/store/files/inspect.ts");
  return openSqliteStore({
    home: paths.home,
    beforeOpen(database) {
      refuseUnreadable(database);
      // An empty database here would hide the plain files from the engine that can rebuild it.
      if (rebuildNeeded(paths.home, database)) {
        throw new StoreUnreadableError(`${database} is missing.`, {
          hint: "Start `rookery serve`: it rebuilds the database from the plain files. Then run this command again.",
        });
      }
    },
  });
}

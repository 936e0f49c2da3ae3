/** Puts one engine process together from a home and its configuration: store, plain files, model, agents, connectors. */
import { join } from "node:path";
import { contextLimitsOf } from "../../adapters/models/context-limits.ts";
import { type OpenModels, openModels } from "../../adapters/models/open-models.ts";
import { jsonLog } from "../../adapters/system/json-log.ts";
import { systemClock } from "../../adapters/system/system-clock.ts";
import { systemIds } from "../../adapters/system/system-ids.ts";
import { openWorkspaces, workspaceMaker } from "../../adapters/workspace/workspaces.ts";
import type { Config } from "../../config/config-schema.ts";
import { createHome } from "../../config/create-home.ts";
import type { HomePaths } from "../../config/paths.ts";
import { addressFor } from "../../core/agent/address.ts";
import { isStale, resetPolicyFor } from "../../core/agent/session-freshness.ts";
import { isOwner } from "../../core/agent/session-key.ts";
import { inheritsParent } from "../../core/agent/thread-settings.ts";
import { errorText, InvariantError } from "../../core/errors.ts";
import type { Connector } from "../../core/ports/connector.ts";
import type { Log } from "../../core/ports/log.ts";
import type { Model } from "../../core/ports/model.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { ToolHost } from "../../core/ports/tool.ts";
import { AgentSystem } from "../../engine/agents/agent-system.ts";
import { permanentAgentsOf } from "../../engine/agents/permanent-agents.ts";
import { startRetention } from "../../engine/agents/retention.ts";
import { systemAgentsOf } from "../../engine/agents/system-agents.ts";
import type { RemoteNodes } from "../../engine/cluster/relay-events.ts";
import type { RunLimits } from "../../engine/runtime/run-ports.ts";
import type { Triggers } from "../../engine/triggers/triggers.ts";
import { agentToolDepsOf } from "./agent-tool-deps.ts";
import { lazyToolkit } from "./lazy-toolkit.ts";
import { liveConfigOf } from "./live-config.ts";
import { liveBudgets, zoneOf } from "./open-budgets.ts";
import { openShards } from "./open-shards.ts";
import { type NodeStore, openStore } from "./open-store.ts";
import { subagentSettingsOf } from "./open-subagents.ts";
import { type OpenTriggers, openTriggers } from "./open-triggers.ts";

export interface NodeOptions {
  readonly paths: HomePaths;
  readonly config: Config;
  readonly connectors: readonly Connector[];
  /** Default: what the configuration says, else what is found on this machine, else the offline model. */
  readonly model?: Model;
  /** Where keys are looked up; without it no model is looked for. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly tools?: ToolHost;
  readonly log?: Log;
  /** Where warnings are also shown. */
  readonly errors?: { write(text: string): unknown };
  /** Whether this process stays, or has one thing to do and ends. */
  readonly stays?: boolean;
  readonly onFatal: (error: unknown) => void;
}

export interface RookeryNode {
  readonly agents: AgentSystem;
  readonly ports: Ports;
  /** Jobs, and whatever else makes messages by itself. */
  readonly triggers: Triggers;
  /** From now on due times become messages here: for a process that stays. */
  startTriggers(): Promise<void>;
  readonly rebuilt: NodeStore["rebuilt"];
  /** Agents that other nodes work on; absent where there are no others. */
  readonly remoteNodes: RemoteNodes | undefined;
  /** Sets everything aside where it stands and closes the store; what is unfinished goes on at the next start. */
  close(): Promise<void>;
  /** Goes on with another configuration, as far as it is read at the moment of use. `changed`: the keys that differ. */
  reload(config: Config, changed: readonly string[]): void;
}

/** Tools are made before the engine that calls them. */
function started(agents: AgentSystem | undefined): AgentSystem {
  if (agents) return agents;
  throw new InvariantError("A tool was called before the engine was there.");
}

const withoutLooking = (models: OpenModels): OpenModels => ({
  ...models,
  get providers() {
    return models.providers;
  },
  detect: async () => ({ model: "offline", why: "a model was handed in" }),
});

const DAY_MS = 24 * 3600_000;

export async function openNode(options: NodeOptions): Promise<RookeryNode> {
  const { paths, errors } = options;
  const live = liveConfigOf(options.config);
  const { config } = live;
  await createHome(paths);
  const log = options.log ?? jsonLog({ file: join(paths.logs, "rookery.log"), level: () => config.log.level, errors });
  const clock = systemClock;
  const ids = systemIds();
  const models = openModels({ config, paths, clock, log, env: options.env });
  const opened = await openStore({ ...options, config, ids, log });
  // Loaded where somebody wants it only.
  const telemetry = config.telemetry.enabled
    ? (await import("../../adapters/system/telemetry.ts")).openTelemetry()
    : undefined;
  let stopRetention = (): void => {};
  let agents: AgentSystem | undefined;
  let triggers: OpenTriggers | undefined;
  try {
    const { list: permanentAgents } = permanentAgentsOf(opened.store, clock);
    const { files, store } = opened;
    const systemAgents = systemAgentsOf(config);
    const swarmNamed = store.swarm;
    const workspaceFor = workspaceMaker(config, paths);
    const subagents = subagentSettingsOf(config, paths);
    const shards = { name: config.store.shard, others: Object.keys(config.store.shards) };
    const parts = { store, clock, ids, files, config, systemAgents, workspaceFor, subagents, shards };
    const toShards = openShards({ clock, ids }, options);
    const connectors = toShards ? [...options.connectors, toShards] : options.connectors;
    const deps = agentToolDepsOf({ ...parts, system: () => started(agents) });
    const timers = openTriggers({
      ports: { clock, ids, log, store },
      ...{ config, paths, models, env: options.env ?? {}, shared: opened.shared !== undefined },
    });
    triggers = timers;
    const { tools: givenTools } = options;
    const toolkit = lazyToolkit(async () => {
      const { loadToolkit } = await import("./load-toolkit.ts");
      return loadToolkit(
        { agents: deps, children: [() => started(agents), { store, clock }], triggers: timers.triggers },
        { config, paths, clock, store, permanentAgents, systemAgents, swarmNamed, tools: givenTools },
      );
    });
    const ports: Ports = {
      clock,
      ids,
      log,
      store,
      model: telemetry ? telemetry.model(options.model ?? models.model) : (options.model ?? models.model),
      tools: telemetry ? telemetry.tools(toolkit.tools) : toolkit.tools,
      files,
      connectors: new Map(
        connectors.map((connector) => [connector.name, opened.shared?.cluster.singleton(connector) ?? connector]),
      ),
    };
    const budgets = liveBudgets(config, () => zoneOf(config));
    const system = new AgentSystem(ports, {
      nodeName: opened.nodeName,
      leaseMs: opened.shared?.leaseMs,
      remoteNodes: opened.shared?.cluster.remoteNodes,
      restore: config.runs.restore,
      lanes: config.lanes,
      runs: { timeoutMs: config.runs.timeoutSeconds * 1000, maxIterations: config.runs.maxIterations },
      outbox: {
        maxAgeMs: config.outbox.maxAgeHours * 3600_000,
        sendTimeoutMs: config.outbox.sendTimeoutSeconds * 1000,
      },
      get queue() {
        return config.queue;
      },
      subagents,
      systemTags: [...systemAgents.keys()],
      resolveModel: async (agent, wishes) => {
        const { text, report } = await toolkit.promptOf(agent);
        const system = [text, wishes?.extraSystemPrompt ?? []].flat().join("\n\n");
        return { ...models.choose(agent, wishes), system, report };
      },
      limits: ({ profile }) => limitsOf(config, profile),
      hooks: timers.triggers.hooks,
      // A model that is handed in is not looked for.
      contextLimits: contextLimitsOf(config, options.model ? withoutLooking(models) : models),
      get budgets() {
        return budgets();
      },
      address: (incoming) => addressFor(incoming, config),
      isOwner: (sender) => isOwner(sender, config.owner.accounts),
      resetTriggers: config.session.resetTriggers,
      inheritsParent: (descriptor) => inheritsParent(config.session.thread, descriptor),
      sendPolicy: config.session.sendPolicy,
      isStale: (agent, last, now) => isStale(resetPolicyFor(agent, config.session.reset), last, now, zoneOf(config)),
    });
    const { retention } = config;
    stopRetention = startRetention(ports, {
      messagesMs: retention.messagesDays * DAY_MS,
      deliveriesMs: retention.deliveriesDays * DAY_MS,
      runsMs: retention.runsDays * DAY_MS,
      changesMs: retention.changesHours * 3600_000,
    });
    agents = system;
    opened.shared?.cluster.connect(system);
    telemetry?.follow(system.events, (agentId) => system.runs.live(agentId)?.sessionId);
    await system.load();
    // What was left unfinished here or elsewhere goes on in the middle of a run.
    if (opened.shared || (await store.busyAgents({ limit: 1 })).length > 0) await toolkit.ready();
    await system.start();
    return {
      agents: system,
      triggers: timers.triggers,
      ports,
      rebuilt: opened.rebuilt,
      remoteNodes: opened.shared?.cluster.remoteNodes,
      async startTriggers() {
        if (config.cron.enabled) await timers.start(system);
      },
      reload(next, changed) {
        openWorkspaces(next, paths);
        live.replace(next);
        void timers.triggers
          .updateConfig(next)
          .catch((error) => log.warn("the heartbeat follows the configuration later", { error: errorText(error) }));
        if (changed.some((key) => key.startsWith("models."))) models.renew();
      },
      async close() {
        stopRetention();
        await timers.stop();
        await system.drain();
        await opened.close();
      },
    };
  } catch (error) {
    // Whatever began already must not keep the process alive, nor work on a store that is closed.
    stopRetention();
    await triggers?.stop();
    await agents?.drain();
    await opened.close();
    throw error;
  }
}

/** What a profile sets for its agents' runs; the rest is as everywhere. */
function limitsOf({ profiles }: Config, profile: string): RunLimits {
  const { timeoutSeconds, maxIterations } = profiles[profile]?.limits ?? {};
  return {
    ...(timeoutSeconds === undefined ? {} : { timeoutMs: timeoutSeconds * 1000 }),
    ...(maxIterations === undefined ? {} : { maxIterations }),
  };
}

/** Puts one engine process together from a home and its configuration: store, plain files, model, agents, connectors. */
import { join } from "node:path";
import { AgentSystem } from "../agents/agent-system.ts";
import type { Config } from "../config/config-schema.ts";
import { createHome } from "../config/create-home.ts";
import type { HomePaths } from "../config/paths.ts";
import type { AgentRecord } from "../core/agent.ts";
import type { Connector } from "../core/connector.ts";
import type { Log } from "../core/log.ts";
import type { Model } from "../core/model.ts";
import type { Ports } from "../core/ports.ts";
import type { ToolHost } from "../core/tool.ts";
import { offlineModel } from "../models/offline-model.ts";
import { diskFileStore } from "../world/disk-file-store.ts";
import { jsonLog } from "../world/json-log.ts";
import { systemClock } from "../world/system-clock.ts";
import { systemIds } from "../world/system-ids.ts";
import { type EmbeddedStore, openEmbeddedStore } from "./open-embedded-store.ts";
import { startRetention } from "./retention.ts";

export interface NodeOptions {
  readonly paths: HomePaths;
  readonly config: Config;
  readonly connectors: readonly Connector[];
  /** Default: the offline model. */
  readonly model?: Model;
  readonly tools?: ToolHost;
  readonly log?: Log;
  /** Where warnings are also shown. */
  readonly errors?: { write(text: string): unknown };
  readonly onFatal: (error: unknown) => void;
}

export interface RookeryNode {
  readonly agents: AgentSystem;
  readonly ports: Ports;
  readonly rebuilt: EmbeddedStore["rebuilt"];
  /** Sets everything aside where it stands and closes the store; what is unfinished goes on at the next start. */
  close(): Promise<void>;
}

const DAY_MS = 24 * 3600_000;
const noTools: ToolHost = { list: () => [], find: () => undefined };
const DEFAULT_PROMPT = "You are a helpful assistant. Answer briefly and truthfully.";

export async function openNode(options: NodeOptions): Promise<RookeryNode> {
  const { paths, config, errors } = options;
  await createHome(paths);
  const log = options.log ?? jsonLog({ file: join(paths.logs, "rookery.log"), level: config.log.level, errors });
  const clock = systemClock;
  const ids = systemIds();
  const { synchronous } = config.store;
  const embedded = openEmbeddedStore({ paths, synchronous, ids, now: clock.now(), log, onFatal: options.onFatal });
  try {
    const ports: Ports = {
      clock,
      ids,
      log,
      store: embedded.store,
      model: options.model ?? offlineModel,
      tools: options.tools ?? noTools,
      files: diskFileStore(paths.files),
      connectors: new Map(options.connectors.map((connector) => [connector.name, connector])),
    };
    const agents = new AgentSystem(ports, {
      nodeName: `pid ${process.pid}`,
      restore: config.runs.restore,
      lanes: config.lanes,
      runs: { timeoutMs: config.runs.timeoutSeconds * 1000, maxIterations: config.runs.maxIterations },
      outbox: {
        maxAgeMs: config.outbox.maxAgeHours * 3600_000,
        sendTimeoutMs: config.outbox.sendTimeoutSeconds * 1000,
      },
      queue: config.queue,
      voice: (agent) => voiceOf(config, agent),
    });
    const { retention } = config;
    const stopRetention = startRetention(ports, {
      messagesMs: retention.messagesDays * DAY_MS,
      deliveriesMs: retention.deliveriesDays * DAY_MS,
      runsMs: retention.runsDays * DAY_MS,
      changesMs: retention.changesHours * 3600_000,
    });
    await agents.load();
    await agents.start();
    return {
      agents,
      ports,
      rebuilt: embedded.rebuilt,
      async close() {
        stopRetention();
        await agents.drain();
        await embedded.close();
      },
    };
  } catch (error) {
    await embedded.close();
    throw error;
  }
}

function voiceOf(config: Config, agent: AgentRecord): { model: string; system: string } {
  const profile = config.profiles[agent.profile];
  const system = agent.descriptor.type === "permanent" ? agent.descriptor.systemPrompt : profile?.prompt;
  return { model: profile?.model ?? config.models.default ?? "offline", system: system ?? DEFAULT_PROMPT };
}

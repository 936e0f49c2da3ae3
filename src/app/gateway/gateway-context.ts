/** What handlers work with: the engine, who may do what, and what is open. One per gateway. */

import type { Config } from "../../config/config-schema.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { AgentSystem } from "../../engine/agents/agent-system.ts";
import type { Triggers } from "../../engine/triggers/triggers.ts";
import type { RemoteNodes } from "../node/relay/relay-events.ts";
import type { Allowances } from "./auth/allowances.ts";
import type { TokenService } from "./auth/token-service.ts";
import type { RunFeed } from "./events/run-feed.ts";
import type { Streams } from "./events/streams.ts";
import type { TreeFeed } from "./events/tree-feed.ts";
import type { Metrics } from "./http/metrics.ts";
import type { RequestLedger } from "./openai/request-ledger.ts";
import type { Reloaded } from "./reload.ts";

export interface GatewayContext {
  readonly agents: AgentSystem;
  readonly ports: Ports;
  /** Jobs, the heartbeat, webhooks. */
  readonly triggers: Triggers;
  /** As it is now: part of it may change while we run. */
  readonly config: () => Config;
  readonly reload: () => Promise<Reloaded>;
  readonly tokens: TokenService;
  /** Other nodes, where there may be any. */
  readonly remoteNodes: RemoteNodes | undefined;
  readonly allowances: Allowances;
  readonly feed: RunFeed;
  readonly tree: TreeFeed;
  readonly streams: Streams;
  readonly ledger: RequestLedger;
  readonly metrics: Metrics;
  readonly version: string;
  readonly startedAt: number;
  /** Aborts when the gateway stops: whoever waits is sent away and comes back. */
  readonly stopping: AbortSignal;
  readonly openApi: () => Promise<unknown>;
}

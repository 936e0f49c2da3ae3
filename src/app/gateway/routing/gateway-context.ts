/** What handlers work with: the engine, the tokens and limits, the events and the open streams. One per gateway. */

import type { MemorySearch } from "../../../adapters/search/search-scope.ts";
import type { FileChanges } from "../../../adapters/workspace/changes/file-changes.ts";
import type { HomePaths } from "../../../config/paths.ts";
import type { Settings } from "../../../config/settings.ts";
import type { Current } from "../../../core/current.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { AgentSystem } from "../../../engine/agents/agent-system.ts";
import type { RemoteNodes } from "../../../engine/cluster/relay-events.ts";
import type { Actor } from "../../../engine/people/audit-entry.ts";
import type { Triggers } from "../../../engine/triggers/triggers.ts";
import type { NodeModels } from "../../node/node-models.ts";
import type { NodeTraces } from "../../node/node-traces.ts";
import type { FailureLog } from "../auth/failure-log.ts";
import type { LoginService } from "../auth/login-service.ts";
import type { TokenService } from "../auth/token-service.ts";
import type { UsageLimiter } from "../auth/usage-limiter.ts";
import type { OpenStreams } from "../events/open-streams.ts";
import type { RunEventHub } from "../events/run-event-hub.ts";
import type { TreeEventLog } from "../events/tree-event-log.ts";
import type { GatewayLimits } from "../http/gateway-limits.ts";
import type { Metrics } from "../http/metrics.ts";
import type { RateLimiter } from "../http/rate-limiter.ts";
import type { RequestLedger } from "../messages/request-ledger.ts";
import type { ReloadReport } from "../schemas/status.ts";

export interface GatewayContext {
  readonly agents: AgentSystem;
  readonly ports: Ports;
  /** Cron jobs, heartbeats, webhooks. */
  readonly triggers: Triggers;
  /** A request takes `current` once: a reload changes part of it. */
  readonly settings: Current<Settings>;
  /** The home of this process. */
  readonly paths: HomePaths;
  /** The environment of this process, with the keys of models. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `by`: who asked for it. Default: the owner, who changed the file. */
  readonly reload: Reload;
  readonly tokens: TokenService;
  /** Invitations and the logins they became. */
  readonly logins: LoginService;
  /** Undefined: the program provides the model, or no agent runs here. */
  readonly models: NodeModels | undefined;
  /** The changes of prompt files, notes and the configuration. Undefined: this engine has no files of its own. */
  readonly changes: FileChanges | undefined;
  /** What this engine keeps of people besides the store. Undefined: nothing, or it is elsewhere. */
  readonly traces: (() => Promise<NodeTraces>) | undefined;
  /** No agent runs in this process. */
  readonly isIdle: boolean;
  /** The other nodes, if the store is shared. */
  readonly remoteNodes: RemoteNodes | undefined;
  /** Absent on a store of the program. */
  readonly memory: MemorySearch | undefined;
  readonly limiter: UsageLimiter;
  /** Requests without a valid token, by client address. */
  readonly failures: RateLimiter;
  readonly failureLog: FailureLog;
  readonly runEvents: RunEventHub;
  readonly treeEvents: TreeEventLog;
  readonly limits: GatewayLimits;
  readonly streams: OpenStreams;
  readonly ledger: RequestLedger;
  readonly metrics: Metrics;
  readonly version: string;
  readonly startedAt: number;
  /** Aborts when the gateway stops. A handler that waits then answers 503, and the caller asks again. */
  readonly stopping: AbortSignal;
  readonly openApi: () => Promise<Readonly<Record<string, unknown>>>;
  /** Where browsers reach the gateway; set when it listens on a port. */
  readonly address: { url?: string };
}

export type Reload = (by?: Actor) => Promise<ReloadReport>;

/** The configuration keys that differ after a reload: those in effect now, and those that need a restart. */
export type { ReloadReport };

/** Builds what handlers work with, for every surface of one engine: the HTTP port, the control socket, or a command. */

import type { FileChanges } from "../../adapters/workspace/changes/file-changes.ts";
import type { HomePaths } from "../../config/paths.ts";
import type { Settings } from "../../config/settings.ts";
import type { Current } from "../../core/current.ts";
import { dayIn } from "../../engine/budgets/budget-settings.ts";
import type { NodeModels } from "../node/node-models.ts";
import type { NodeTraces } from "../node/node-traces.ts";
import type { RookeryNode } from "../node/open-node.ts";
import { FailureLog } from "./auth/failure-log.ts";
import { LoginService } from "./auth/login-service.ts";
import { TokenService } from "./auth/token-service.ts";
import { fileTokenStorage, sharedTokenStorage } from "./auth/token-storage.ts";
import { UsageLimiter } from "./auth/usage-limiter.ts";
import { OpenStreams } from "./events/open-streams.ts";
import { RunEventHub } from "./events/run-event-hub.ts";
import { TreeEventLog } from "./events/tree-event-log.ts";
import { GATEWAY_LIMITS, type GatewayLimits } from "./http/gateway-limits.ts";
import { Metrics } from "./http/metrics.ts";
import { RateLimiter } from "./http/rate-limiter.ts";
import { RequestLedger } from "./messages/request-ledger.ts";
import type { GatewayContext, Reload } from "./routing/gateway-context.ts";
import type { OpenApi } from "./routing/open-api.ts";
import type { Route } from "./routing/route.ts";

const DAY_MS = 24 * 3_600_000;

/** The part of a node that the gateway uses. */
export type ServedNode = Pick<RookeryNode, "agents" | "ports" | "triggers" | "remoteNodes" | "memory"> & {
  /** Whether nodes share the store. Default: whether it knows the others. */
  readonly isShared?: boolean;
  /** Absent: the program provides the model, or no agent runs here. */
  readonly models?: NodeModels | undefined;
  /** Absent: this engine has no files of its own. */
  readonly changes?: FileChanges;
  /** Absent: this engine has no home of its own. */
  readonly traces?: (() => Promise<NodeTraces>) | undefined;
  /** It does no work: no agent runs in it. */
  readonly isIdle?: boolean;
};

export interface ContextOptions {
  readonly node: ServedNode;
  readonly settings: Current<Settings>;
  readonly reload: Reload;
  readonly paths: HomePaths;
  /** Default: that of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Absent: no token is the home's own. */
  readonly rootToken?: string;
  readonly version: string;
  readonly routes?: readonly Route[];
  /** For tests that must reach a limit. Default: `GATEWAY_LIMITS`. */
  readonly limits?: Partial<GatewayLimits>;
}

export async function createContext(options: ContextOptions, stopping: AbortSignal): Promise<GatewayContext> {
  const { node, settings, reload, version, paths, env = process.env } = options;
  const { ports, agents, triggers, remoteNodes, isShared = remoteNodes !== undefined } = node;
  const { clock, log } = ports;
  const runEvents = new RunEventHub(agents.events, remoteNodes);
  const tokens = await TokenService.open({
    storage: isShared ? sharedTokenStorage(ports) : fileTokenStorage(paths.tokens),
    root: options.rootToken,
    now: () => clock.now(),
    log,
  });
  const logins = await LoginService.open({
    ports,
    isShared,
    loginMs: () => settings.current.gateway.loginDays * DAY_MS,
  });
  const limits = { ...GATEWAY_LIMITS, ...options.limits };
  let openApi: Promise<OpenApi> | undefined;
  return {
    agents,
    ports,
    triggers,
    settings,
    paths,
    env,
    reload,
    remoteNodes,
    memory: node.memory,
    tokens,
    logins,
    models: node.models,
    changes: node.changes,
    traces: node.traces,
    isIdle: node.isIdle ?? false,
    limiter: new UsageLimiter(ports, {
      limits: () => settings.current.gateway.limits,
      dayOf: (at) => dayIn(at, settings.current.zone),
    }),
    limits,
    failures: new RateLimiter(() => clock.monotonic()),
    failureLog: new FailureLog(ports),
    runEvents,
    treeEvents: new TreeEventLog(runEvents, agents.tree, clock, remoteNodes),
    streams: new OpenStreams(() => limits),
    ledger: new RequestLedger(ports),
    metrics: new Metrics(),
    version,
    startedAt: clock.now(),
    stopping,
    address: {},
    openApi: () => {
      openApi ??= describeRoutes(options);
      return openApi;
    },
  };
}

const describeRoutes = async (options: ContextOptions): Promise<OpenApi> => {
  const [{ openApi }, routes] = await Promise.all([import("./routing/open-api.ts"), loadRoutes(options)]);
  return openApi(routes, options.version);
};

export const loadRoutes = async ({ routes }: Pick<ContextOptions, "routes">): Promise<readonly Route[]> =>
  routes ?? (await import("./route-table.ts")).ROUTES;

/** Ends the streams of a context and writes what it still holds. Call it when its servers accept nothing more. */
export async function closeContext(context: GatewayContext): Promise<void> {
  await context.ledger.close();
  context.treeEvents.close();
  context.runEvents.close();
}

/** `createRookery`: a running engine in this process, and the methods to use it. */
import { ConfigError, HomeInUseError, HomeLockedError } from "../../core/errors.ts";
import { nodeProblem } from "../../core/node-version.ts";
import { silentLog } from "../../core/ports/log.ts";
import { type RookeryClient, rookeryClient } from "../client/rookery-client.ts";
import { rootToken } from "../gateway/auth/root-token.ts";
import type { FetchEnvironment } from "../gateway/in-process/fetch-handler.ts";
import { loadGateway } from "../gateway/in-process/serve-here.ts";
import { connectorsOf } from "./define-connector.ts";
import { type Engine, openEngine } from "./open-engine.ts";
import { configOf, MEMORY, modelOf, openHome, type RookeryOptions, toolsOf } from "./rookery-options.ts";

/** A running engine. */
export interface Rookery extends RookeryClient, AsyncDisposable {
  /** The directory that holds everything. */
  readonly home: string;
  /**
   * The HTTP gateway as a function, for hono, Bun or another server to mount. A request needs a token, as on the HTTP port, and
   * its Host must be this machine's or one of `gateway.allowedHosts`.
   */
  fetch(request: Request, env?: FetchEnvironment): Promise<Response>;
  /** Resolves when no agent has work. Changes nothing. */
  settled(): Promise<void>;
  /** Suspends all work and closes the store. When it resolves, everything accepted is durable and resumes at the next start. */
  close(): Promise<void>;
}

/**
 * Starts an engine on a home. When it resolves, the engine accepts messages, and unfinished work of an earlier process has resumed.
 * Rejects with `HomeInUseError` (code `HOME_IN_USE`) if another process runs an engine there.
 */
export async function createRookery(options: RookeryOptions): Promise<Rookery> {
  const problem = nodeProblem(process.versions.node);
  if (problem !== undefined) throw new ConfigError(problem);
  const { paths, remove } = openHome(options);
  try {
    const engine = await openOn(options, paths);
    return rookeryOf(engine, paths.home, remove);
  } catch (error) {
    remove();
    throw error instanceof HomeLockedError ? inUse(error, paths.home) : error;
  }
}

async function openOn(options: RookeryOptions, paths: Parameters<typeof configOf>[1]): Promise<Engine> {
  const { home, tools, clock, env = process.env } = options;
  const isTemporary = home === MEMORY;
  // An error is reported by the first request, which needs them.
  loadGateway("program").catch(() => undefined);
  const config = await configOf(options, paths);
  const log = options.log ?? (isTemporary ? silentLog : undefined);
  const engine = await openEngine({
    ...{ paths, config, connectors: connectorsOf(options.connectors), clock, log, env },
    model: await modelOf(options),
    store: typeof options.store === "object" ? options.store : undefined,
    moreTools: toolsOf(tools),
    stays: true,
    control: !isTemporary,
    rootToken: () => rootToken(paths.token, env).text,
    onFatal: options.onFatal ?? ((error) => engine.node.ports.log.error(`the engine cannot continue: ${error}`)),
  });
  try {
    await engine.node.startTriggers();
    return engine;
  } catch (error) {
    await engine.close();
    throw error;
  }
}

function rookeryOf({ node, served, close }: Engine, home: string, remove: () => void): Rookery {
  const closing = new AbortController();
  const end = async (): Promise<void> => {
    closing.abort();
    await close();
    remove();
  };
  return {
    ...rookeryClient(served.transport, closing.signal),
    home,
    fetch: served.fetch,
    settled: () => node.agents.settled(),
    close: end,
    [Symbol.asyncDispose]: end,
  };
}

const inUse = (cause: HomeLockedError, home: string): HomeInUseError =>
  new HomeInUseError(cause.message, {
    cause,
    hint: `Use the engine that runs there: \`connectRookery({ home: ${JSON.stringify(home)} })\` from "rookery/client" has the same methods.`,
  });

/**
 * Gives a command the client of `connectRookery`: that of the engine that runs on its home, else the same API in this process on
 * the store. A command is written once, against the client. If the engine is killed before it has answered, the
 * client sends a request that may be repeated again, with its key, to the engine that is there then.
 */
import { HomeLockedError } from "../../../core/errors.ts";
import { type ApiRequest, textOf } from "../../client/api.ts";
import { connectedBy } from "../../client/connect-url.ts";
import { EngineApi } from "../../client/engine-api.ts";
import type { RookeryClient } from "../../client/rookery-client.ts";
import type { Transport } from "../../client/transport.ts";
import { STORE_HEADER } from "../../gateway/auth/control-headers.ts";
import { findEngine } from "../../gateway/control/find-engine.ts";
import type { CommandContext } from "../command.ts";

export interface Api {
  /** Resolves with the JSON of the answer. */
  ask(request: Pick<ApiRequest, "method" | "path" | "body">): Promise<unknown>;
}

/** How long a command waits for an engine that holds the home and does not answer yet. */
const STARTING_MS = 5_000;
const RETRY_MS = 50;

type Opener = (context: CommandContext) => Promise<Reached>;

interface ApiOptions {
  readonly startingMs?: number;
  /** The command only reads. Then it waits for no engine and needs no lock. */
  readonly reads?: boolean;
}

interface Reached {
  readonly transport: Transport;
  close?(): Promise<void>;
}

export async function withApi<T>(
  context: CommandContext,
  use: (api: Api) => Promise<T>,
  options?: ApiOptions,
): Promise<T> {
  return withTransport(context, options, (transport) => {
    const api = new EngineApi(transport);
    return use({ ask: (request) => api.request(request) });
  });
}

/** The methods of the engine, for a command that only reads. */
export async function reading<T>(context: CommandContext, use: (rookery: RookeryClient) => Promise<T>): Promise<T> {
  return withTransport(context, { reads: true }, (transport) => use(connectedBy(transport)));
}

/** The same for a command that changes something. */
export async function changing<T>(context: CommandContext, use: (rookery: RookeryClient) => Promise<T>): Promise<T> {
  return withTransport(context, {}, (transport) => use(connectedBy(transport)));
}

async function withTransport<T>(
  context: CommandContext,
  { startingMs = STARTING_MS, reads = false }: ApiOptions = {},
  use: (transport: Transport) => Promise<T>,
): Promise<T> {
  const { transport, close } = reaching(context, reads ? 0 : startingMs, reads ? openReading : openLocally);
  try {
    return await use(transport);
  } finally {
    await close();
  }
}

/** The engine of the control socket uses another store than the command names. */
const OTHER_STORE = 421;

/** Looks for the engine at each request, until it has opened the store itself. */
function reaching(context: CommandContext, startingMs: number, open: Opener) {
  let local: Reached | undefined;
  const transport: Transport = async (request) => {
    const sent = { ...request, headers: { ...request.headers, ...storeHeaders(context) } };
    const reached = local ?? (await reach(context, startingMs, open));
    if (reached.close) local = reached;
    const response = await reached.transport(sent);
    if (response.status !== OTHER_STORE || local) return response;
    await textOf(response.body);
    local = await open(context);
    return local.transport(sent);
  };
  return { transport, close: async () => local?.close?.() };
}

/** The running engine. If there is none, the store. If it is held by a process that does not answer yet, tries again. */
async function reach(context: CommandContext, startingMs: number, open: Opener): Promise<Reached> {
  const until = performance.now() + startingMs;
  for (;;) {
    const transport = await findEngine(context.home);
    if (transport) return { transport };
    const isLate = performance.now() >= until;
    try {
      if (isLate || !(await isStarting(context))) return await open(context);
    } catch (error) {
      if (!(error instanceof HomeLockedError)) throw error;
      if (isLate) throw silentHolder(error);
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

const silentHolder = (cause: HomeLockedError): HomeLockedError =>
  new HomeLockedError(`${cause.message} It does not answer on its control socket.`, {
    cause,
    hint: "If it is starting or doing something long, try again later. Else stop it, or use another home with --home.",
  });

const openReading = async (context: CommandContext): Promise<Reached> =>
  (await import("./open-local.ts")).openReading(context);

const openLocally = async (context: CommandContext): Promise<Reached> =>
  (await import("./open-local.ts")).openLocal(context);

/** On a shared store a command does not need the lock, so it looks whether an engine holds it. */
async function isStarting({ home, paths, env, loadConfig }: CommandContext): Promise<boolean> {
  const { config } = await loadConfig();
  const { sharedStoreUrl } = await import("../../../adapters/store/shared-store-url.ts");
  if (sharedStoreUrl(paths, config, env) === undefined) return false;
  const { isHomeLocked } = await import("../../../adapters/store/sqlite/home-lock.ts");
  return isHomeLocked(home);
}

/** Names the store that the command line asks for: an engine that uses another one refuses the request. */
function storeHeaders({ paths, env }: CommandContext): Record<string, string> {
  const named = paths.sharedStore ?? env.ROOKERY_STORE;
  return named ? { [STORE_HEADER]: process.getBuiltinModule("node:crypto").hash("sha256", named, "hex") } : {};
}

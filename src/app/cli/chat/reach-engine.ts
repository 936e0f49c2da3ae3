/** The engine a command talks to: one elsewhere, the one that runs on the home, or one of its own that ends with the command. */
import { setTimeout as pause } from "node:timers/promises";
import { HomeLockedError } from "../../../core/errors.ts";
import type { Transport } from "../../client/transport.ts";
import { findEngine } from "../../gateway/control/find-engine.ts";
import { homeTransport } from "../../gateway/control/home-transport.ts";
import type { CommandContext } from "../command.ts";
import { type REMOTE_OPTIONS, remoteOf } from "../remotes.ts";

export interface ReachedEngine {
  readonly transport: Transport;
  readonly isAttached: boolean;
  /** Its address, if it is elsewhere. */
  readonly url?: string;
  /** Ends an engine of its own: everything accepted is durable and goes on at the next start. */
  close(): Promise<void>;
}

/** How long to wait for a process that holds the home and does not answer yet. */
const STARTING_MS = 5_000;
const RETRY_MS = 100;

export interface ReachOptions {
  /** False: without a running engine the store is only read. */
  readonly work?: boolean;
  /** The command only reads: it makes no database. With `work: false`. */
  readonly reads?: boolean;
}

export async function reachEngine(
  context: CommandContext<typeof REMOTE_OPTIONS>,
  onFatal: (error: unknown) => void,
  { work = true, reads = false }: ReachOptions = {},
): Promise<ReachedEngine> {
  const { home } = context;
  const remote = await remoteOf(context);
  if (remote) return { ...remote, isAttached: true, close: async () => {} };
  const until = performance.now() + STARTING_MS;
  for (;;) {
    if (await findEngine(home)) {
      return { transport: homeTransport(home), isAttached: true, close: async () => {} };
    }
    try {
      return await (work ? ownEngine(context, onFatal) : idleEngine(context, reads));
    } catch (error) {
      if (!(error instanceof HomeLockedError) || performance.now() >= until) throw error;
      await pause(RETRY_MS);
    }
  }
}

async function ownEngine(
  { paths, env, loadConfig }: CommandContext,
  onFatal: (error: unknown) => void,
): Promise<ReachedEngine> {
  const { openEngine } = await import("../../library/open-engine.ts");
  const { config } = await loadConfig();
  const engine = await openEngine({ paths, config, env, connectors: [], stays: true, onFatal });
  await engine.node.startTriggers();
  return { transport: engine.served.transport, isAttached: false, close: () => engine.close() };
}

async function idleEngine(context: CommandContext, reads: boolean): Promise<ReachedEngine> {
  const { openLocal, openReading } = await import("../client/open-local.ts");
  return { ...(await (reads ? openReading(context) : openLocal(context))), isAttached: false };
}

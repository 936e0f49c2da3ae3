/** The engine a chat talks to: the one that runs on the home, or one of its own that ends with the chat. */
import { setTimeout as pause } from "node:timers/promises";
import { HomeLockedError } from "../../../core/errors.ts";
import type { Transport } from "../../client/transport.ts";
import { findEngine } from "../../gateway/control/find-engine.ts";
import { homeTransport } from "../../library/connect-rookery.ts";
import type { CommandContext } from "../command.ts";

export interface ReachedEngine {
  readonly transport: Transport;
  readonly isAttached: boolean;
  /** Ends an engine of its own: everything accepted is durable and goes on at the next start. */
  close(): Promise<void>;
}

/** How long to wait for a process that holds the home and does not answer yet. */
const STARTING_MS = 5_000;
const RETRY_MS = 100;

export async function reachEngine(context: CommandContext, onFatal: (error: unknown) => void): Promise<ReachedEngine> {
  const { home } = context;
  const until = performance.now() + STARTING_MS;
  for (;;) {
    if (await findEngine(home)) {
      return { transport: homeTransport(home), isAttached: true, close: async () => {} };
    }
    try {
      return await ownEngine(context, onFatal);
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

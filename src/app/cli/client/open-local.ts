/** The gateway's API inside this process, on an engine that does no work: for commands while no engine runs. */
import type { Log } from "../../../core/ports/log.ts";
import type { Transport } from "../../client/transport.ts";
import { serveHere } from "../../gateway/in-process/serve-here.ts";
import { openIdleEngine } from "../../node/open-idle-engine.ts";
import type { CommandContext } from "../command.ts";
import type { HomeReader } from "../read-home.ts";

export interface LocalApi {
  readonly transport: Transport;
  close(): Promise<void>;
}

/** Rejects with `HomeLockedError` if another process holds the store of the home. */
export const openLocal = (context: CommandContext): Promise<LocalApi> => open(context);

/** For a command that only reads: it makes no database, needs no lock, and changes nothing. */
export async function openReading(context: CommandContext): Promise<LocalApi> {
  const { openHomeReader } = await import("../read-home.ts");
  return open(context, await openHomeReader(context.paths));
}

async function open({ paths, env, stderr, loadConfig }: CommandContext, reader?: HomeReader): Promise<LocalApi> {
  const { config } = await loadConfig();
  const node = await openIdleEngine({ paths, config, env, log: stderrLog(stderr), reader });
  const served = serveHere({ node, config: () => config, paths, store: paths.sharedStore ?? env.ROOKERY_STORE });
  return {
    transport: served.transport,
    async close() {
      await served.close();
      await node.close();
    },
  };
}

/** A command has no log file: what goes wrong is shown at once. */
const stderrLog = (stderr: CommandContext["stderr"]): Log => ({
  debug() {},
  info() {},
  warn() {},
  error: (message, fields) => {
    stderr.write(`rookery: ${message}: ${String(fields?.error ?? "")}\n`);
  },
});

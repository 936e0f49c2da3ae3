/** The gateway's API inside this process, on an engine that does no work: for commands while no engine runs. */
import type { Log } from "../../../core/ports/log.ts";
import type { Transport } from "../../client/transport.ts";
import type { CommandContext } from "../command.ts";
import type { HomeReader } from "../read-home.ts";

interface LocalApi {
  readonly transport: Transport;
  close(): Promise<void>;
}

/** Rejects with `HomeLockedError` if another process holds the store of the home. */
export const openLocal = (context: CommandContext): Promise<LocalApi> => open(context);

/**
 * For a command that only reads: it makes no database, needs no lock, and changes nothing. Most of the program is loaded only for a
 * request that needs it.
 */
export async function openReading(context: CommandContext): Promise<LocalApi> {
  const { paths, env, loadConfig } = context;
  const config = async () => (await loadConfig()).config;
  const [{ openHomeReader }, { readingFirst }, { systemClock }] = await Promise.all([
    import("../read-home.ts"),
    import("../../gateway/reads/owner-reads.ts"),
    import("../../../adapters/system/system-clock.ts"),
  ]);
  const store = await openHomeReader(paths, env);
  let whole: Promise<LocalApi> | undefined;
  const gateway = async (): Promise<Transport> => {
    whole ??= open(context, store);
    return (await whole).transport;
  };
  return {
    transport: readingFirst({ store, config, paths, env, clock: systemClock }, gateway),
    close: async () => (whole ? (await whole).close() : store.close()),
  };
}

async function open({ paths, env, stderr, loadConfig }: CommandContext, reader?: HomeReader): Promise<LocalApi> {
  const { config } = await loadConfig();
  const { openIdleEngine } = await import("../../node/open-idle-engine.ts");
  const { serveHere } = await import("../../gateway/in-process/serve-here.ts");
  const node = await openIdleEngine({ paths, config, env, log: stderrLog(stderr), reader });
  const served = serveHere({ node, settings: node.settings, paths, store: paths.sharedStore ?? env.ROOKERY_STORE });
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

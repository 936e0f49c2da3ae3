/** The gateway's API inside this process, on an engine that does no work: for commands while no engine runs. */
import { duplexPair } from "node:stream";
import type { Log } from "../../../core/ports/log.ts";
import type { HttpServer } from "../../gateway/http/server.ts";
import { openIdleEngine } from "../../node/open-idle-engine.ts";
import type { CommandContext } from "../command.ts";
import type { Connect } from "./api.ts";
import { serveHere } from "./serve-here.ts";

export interface LocalApi {
  readonly connect: Connect;
  close(): Promise<void>;
}

/** Rejects with `HomeLockedError` if another process holds the store of the home. */
export async function openLocal({ paths, env, stderr, loadConfig }: CommandContext): Promise<LocalApi> {
  const { config } = await loadConfig();
  const node = await openIdleEngine({ paths, config, env, log: stderrLog(stderr) });
  const served = serveHere({ node, config, paths, store: paths.sharedStore ?? env.ROOKERY_STORE });
  const close = async (): Promise<void> => {
    await served.close();
    await node.close();
  };
  try {
    return { connect: connectTo(await served.server()), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Connects to a server of this process, without the network. */
export const connectTo =
  (server: HttpServer): Connect =>
  () => {
    const [ours, theirs] = duplexPair();
    server.emit("connection", theirs);
    return ours;
  };

/** A command has no log file: what goes wrong is shown at once. */
const stderrLog = (stderr: CommandContext["stderr"]): Log => ({
  debug() {},
  info() {},
  warn() {},
  error: (message, fields) => {
    stderr.write(`rookery: ${message}: ${String(fields?.error ?? "")}\n`);
  },
});

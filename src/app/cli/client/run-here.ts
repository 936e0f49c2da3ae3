/** `rookery send` without a running engine: this process is the engine, and its control socket serves other commands. */
import { type StdinConnector, stdinConnector } from "../../../adapters/connectors/stdin/stdin-connector.ts";
import type { Config } from "../../../config/config-schema.ts";
import { errorText } from "../../../core/errors.ts";
import { openEngine } from "../../library/open-engine.ts";
import type { RookeryNode } from "../../node/open-node.ts";
import type { CommandContext } from "../command.ts";
import { lineEndsOf } from "../line-ends.ts";
import { scheduleNotice } from "../schedule-notice.ts";

interface RunHereOptions {
  readonly user: string;
  readonly lines: boolean;
}

/** Returns the exit code. Rejects with `HomeLockedError` before it reads any input. */
export async function runHere(context: CommandContext, { user, lines }: RunHereOptions): Promise<number> {
  const { env, stdin, stdout, stderr, paths, loadConfig } = context;
  const { config } = await loadConfig();
  const opened = Promise.withResolvers<RookeryNode>();
  const ends = lineEndsOf(opened.promise);
  const connector = stdinConnector({ input: stdin(), output: stdout, errors: stderr, user, lines, ends });
  const engine = await openEngine({
    paths,
    config,
    env,
    connectors: [connector],
    errors: stderr,
    watchdog: true,
    onFatal(error) {
      stderr.write(`${errorText(error)}\n`);
      process.exit(4);
    },
  });
  const { node } = engine;
  opened.resolve(node);
  if (node.rebuilt)
    stderr.write(`The database was missing and was rebuilt from the plain files. ${node.rebuilt.gap ?? ""}\n`);
  const stop = Promise.withResolvers<"stopped">();
  const onSignal = (): void => stop.resolve("stopped");
  process.once("SIGTERM", onSignal);
  process.once("SIGINT", onSignal);
  try {
    await Promise.race([answerAll(node, connector, config, stderr), stop.promise]);
  } finally {
    process.off("SIGTERM", onSignal);
    process.off("SIGINT", onSignal);
    await engine.close();
  }
  return connector.failures() > 0 ? 1 : 0;
}

/** Fires what became due while no process ran, answers the input, and says what stays scheduled. */
async function answerAll(
  node: RookeryNode,
  connector: StdinConnector,
  config: Config,
  errors: { write(text: string): unknown },
): Promise<void> {
  await Promise.all([node.fireDueJobs(), connector.finished]);
  await node.agents.settled();
  // A schedule that was just made may be due by now.
  await node.fireDueJobs();
  await node.agents.settled();
  await connector.report();
  const notice = await scheduleNotice(node, config);
  if (notice !== undefined) errors.write(`${notice}\n`);
}

/** `rookery run`: hands what is piped in to an agent, prints the answer, and ends when all is delivered. */
import { stdinConnector } from "../../../adapters/connectors/stdin/stdin-connector.ts";
import { errorText } from "../../../core/errors.ts";
import { openNode } from "../../node/open-node.ts";
import { defineAction } from "../command.ts";

export const runCommand = defineAction({
  summary: "answer what is piped in, then end",
  description:
    "What is piped in is one message; the answer goes to standard output. With --lines each line is a message of its own, answered in order. `/reset` begins a new session. What an earlier run left unfinished is finished first.",
  options: {
    lines: { type: "boolean", description: "each line is a message of its own" },
    user: { type: "string", value: "NAME", description: "who is speaking (default: owner)" },
  },
  async run({ flags, env, stdin, stdout, stderr, paths, loadConfig }) {
    const { config } = await loadConfig();
    const connector = stdinConnector({
      input: stdin(),
      output: stdout,
      errors: stderr,
      user: flags.user ?? "owner",
      lines: flags.lines ?? false,
    });
    const node = await openNode({
      paths,
      config,
      env,
      connectors: [connector],
      errors: stderr,
      onFatal(error) {
        stderr.write(`${errorText(error)}\n`);
        process.exit(4);
      },
    });
    if (node.rebuilt)
      stderr.write(`The database was missing and was rebuilt from the plain files. ${node.rebuilt.gap ?? ""}\n`);
    const stop = Promise.withResolvers<"stopped">();
    const onSignal = (): void => stop.resolve("stopped");
    process.once("SIGTERM", onSignal);
    process.once("SIGINT", onSignal);
    try {
      await Promise.race([connector.finished.then(() => node.agents.settled()), stop.promise]);
    } finally {
      process.off("SIGTERM", onSignal);
      process.off("SIGINT", onSignal);
      await node.close();
    }
    return connector.failures() > 0 ? 1 : 0;
  },
});

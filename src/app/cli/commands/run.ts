/** `rookery run`: sends piped text to an agent, prints the answer, and exits when everything is delivered. */
import { stdinConnector } from "../../../adapters/connectors/stdin/stdin-connector.ts";
import { errorText } from "../../../core/errors.ts";
import { openNode } from "../../node/open-node.ts";
import { defineAction } from "../command.ts";

export const runCommand = defineAction({
  summary: "answer the text you pipe in, then exit",
  description:
    "The piped text is one message, and the answer goes to standard output. With --lines each line is a message, answered in order. `/reset` starts a new session. Unfinished work of an earlier run is completed first.",
  options: {
    lines: { type: "boolean", description: "send each line as its own message" },
    user: { type: "string", value: "NAME", description: "the user who sends the message (default: owner)" },
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

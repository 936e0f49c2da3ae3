/** `rookery serve`: runs the agents and the HTTP gateway until a signal stops it. */

import { flushCompileCache } from "node:module";
import { backgroundTimeout } from "../../../adapters/system/background-timers.ts";
import { errorText, HomeLockedError, UsageError } from "../../../core/errors.ts";
import { OWNER } from "../../../core/people/person.ts";
import { defineAction } from "../command.ts";

const KEEP_COMPILED_MS = 5_000;

export const serveCommand = defineAction({
  summary: "run the agents and serve the HTTP gateway",
  description:
    "Listens on gateway.host and gateway.port of the configuration; by default only this machine can connect. Clients need the token in the file `token` of the home, or the one in ROOKERY_TOKEN. SIGHUP reloads the configuration. SIGTERM and SIGINT stop the process; unfinished work resumes at the next start.",
  options: {
    port: { type: "string", value: "N", description: "the port to listen on; 0 chooses a free one" },
    host: { type: "string", value: "ADDRESS", description: "the address to listen on" },
    mirror: { type: "boolean", description: "also write the plain files of a shared store into this home" },
  },
  async run({ flags, env, json, stdout, stderr, paths, loadConfig, here }) {
    const port = portOf(flags.port);
    const { config } = await loadConfig();
    // Registered first, so that a signal during the start also ends in order.
    const stop = Promise.withResolvers<void>();
    process.once("SIGTERM", stop.resolve);
    process.once("SIGINT", stop.resolve);
    const [{ serve }, { signInUrl }] = await Promise.all([
      import("../../library/serve.ts"),
      import("../../gateway/api/sign-in-url.ts"),
    ]);
    const starting = serve({
      paths: { ...paths, mirror: flags.mirror },
      config,
      env,
      port,
      host: flags.host,
      errors: stderr,
      watchdog: true,
      onFatal(error) {
        stderr.write(`${errorText(error)}\n`);
        process.exit(4);
      },
    });
    const serving = await starting.catch((error) => {
      throw error instanceof HomeLockedError ? inUse(error) : error;
    });
    // Saves the compile cache now: a killed process cannot do it at its end.
    backgroundTimeout(flushCompileCache, KEEP_COMPILED_MS);
    const { gateway, node, token } = serving;
    const open = await signInUrl(gateway.context, { person: OWNER, surface: "cli" });
    const where = "env" in token.from ? token.from.env : token.from.file;
    if (json)
      stdout.write(
        `${JSON.stringify({ url: gateway.url, port: gateway.port, pid: process.pid, token: where, open: open.url })}\n`,
      );
    else {
      const made = "made" in token.from && token.from.made ? " (just made)" : "";
      stdout.write(
        `Rookery listens on ${gateway.url}\nThe token is in ${where}${made}.\nOpen ${open.url}\nThis link works once, within a minute. Later: ${here("`rookery open`")}\n`,
      );
    }
    if (node.rebuilt)
      stderr.write(`The database was missing and was rebuilt from the plain files. ${node.rebuilt.gap ?? ""}\n`);
    await stop.promise;
    await serving.close();
    return 0;
  },
});

const inUse = (cause: HomeLockedError): HomeLockedError =>
  new HomeLockedError(cause.message, {
    cause,
    hint: "If it is `rookery serve`, it runs your agents already, and commands use it. If it is `rookery send` or another command, wait for it. When it has ended, start `rookery serve`.",
  });

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new UsageError("--port takes a whole number from 0 to 65535.");
}

/** `rookery engine`: runs the engine in the background, started with your session. */
import type { ServiceReport } from "../../operations/service/service.ts";
import { type CommandContext, defineAction } from "../command.ts";
import { printResult } from "../print.ts";

const load = () => import("../../operations/service/service.ts");

const install = defineAction({
  summary: "run the engine in the background, from now on and after each login",
  description:
    "Writes a systemd user unit (Linux) or a launchd agent (macOS, untested) and an environment file that only you can read, and starts the service. It restarts after a failure. Keys of model providers that are set now are copied into the environment file; --env names others, --no-keys copies none.",
  options: {
    env: { type: "string", value: "NAME", multiple: true, description: "copy this variable, and no other" },
    "no-keys": { type: "boolean", description: "copy no variables" },
    "no-start": { type: "boolean", description: "do not start it now" },
  },
  examples: ["rookery engine install", "rookery engine install --env ANTHROPIC_API_KEY"],
  async run(context) {
    const { home, env, flags } = context;
    const variables = flags["no-keys"] ? [] : flags.env;
    const { installService } = await load();
    return show(context, await installService({ home, env, variables, start: !flags["no-start"] }), [
      ...(process.platform === "linux" ? ["It stops when you log out, unless you run: loginctl enable-linger"] : []),
      "`rookery engine status` shows it, `rookery engine logs` what it does.",
      "Undo: `rookery engine remove`",
    ]);
  },
});

const remove = defineAction({
  summary: "stop the service and remove its files; the home stays",
  run: async (context) => {
    const { removeService } = await load();
    return show(context, await removeService({ home: context.home, env: context.env }), []);
  },
});

const status = defineAction({
  summary: "show whether the service is installed and runs",
  async run(context) {
    const { serviceStatus } = await load();
    const found = await serviceStatus({ home: context.home, env: context.env });
    const { installed, name, state, enabled, file } = found;
    const text = installed
      ? `${name}: ${state}, ${enabled ? "starts with your session" : "does not start by itself"} (${file})`
      : "There is no service for this home. `rookery engine install` makes one.";
    printResult(context, found, context.here(text));
    return installed && state !== "active" ? 1 : undefined;
  },
});

function show(context: CommandContext, report: ServiceReport, after: readonly string[]): number | undefined {
  const { did, problems } = report;
  printResult(context, report, [...did, ...problems, ...after.map((line) => context.here(line))].join("\n"));
  return problems.length === 0 ? undefined : 1;
}

export const serviceActions = { install, status, remove };

/** `rookery engine update`: installs another version, and goes back if it does not work. */
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { InvalidInputError, UsageError } from "../../../core/errors.ts";
import { defineAction } from "../command.ts";
import { confirmed } from "../confirm.ts";
import { printResult } from "../print.ts";
import { progressOf } from "../progress.ts";

/** The package is four folders above this one, in `src` and in `dist`. */
const ROOT = fileURLToPath(new URL("../../../../", import.meta.url)).replace(/\/$/u, "");

export const updateAction = defineAction({
  summary: "install another version: backup, install, check, and back if it fails",
  usage: "[version]",
  description:
    "Makes a backup of the home, installs the version with npm (default: the latest), opens the home with it and runs its doctor. If the new program does not start, cannot open the home, or finds problems that were not there before, the old program and the database are put back. Stop the engine first. For a program that npm has installed with --global; other installations get the command that updates them.",
  arguments: { min: 0, max: 1 },
  options: {
    check: { type: "boolean", description: "only say which version is available" },
    from: { type: "string", value: "FILE", description: "install this tarball instead of asking the registry" },
    yes: { type: "boolean", description: "do not ask" },
  },
  examples: ["rookery engine update --check", "rookery engine update", "rookery engine update 0.2.0 --yes"],
  async run(context) {
    const { args, flags, paths, env, root = ROOT } = context;
    const [version = "latest"] = args;
    if (flags.from !== undefined && args.length > 0)
      throw new UsageError("Name a version or --from, not both.", { hint: "rookery engine update --help shows how." });
    const { availableVersion, installationAt, updateProgram } = await import(
      "../../operations/update/update-program.ts"
    );
    const { version: current } = installationAt(root);
    const file = flags.from === undefined ? undefined : resolve(flags.from);
    const available = file ?? (await availableVersion({ root, env }, version));
    if (flags.check) {
      const text =
        available === current
          ? `${current} is installed, and it is the version that is available.`
          : `Installed: ${current}. Available: ${available}. Install it with \`rookery engine update\`.`;
      return printResult(context, { current, available }, context.here(text));
    }
    if (available === current)
      return printResult(context, { current, available, status: "same" }, `${current} is installed already.`);
    const { findEngine } = await import("../../gateway/control/find-engine.ts");
    if (await findEngine(context.home))
      throw new InvalidInputError("An engine runs on this home.", {
        hint: "Stop it first; start it again after the update.",
      });
    if (!flags.yes && !(await confirmed(context, `Install ${available} instead of ${current}?`, "--yes"))) return 1;
    const { config } = await context.loadConfig();
    using progress = progressOf(context);
    const report = await updateProgram(
      { root, paths, config, env, now: Date.now(), onProgress: progress.step },
      file ?? version,
      file !== undefined,
    );
    const { from, to, status, reason, backup } = report;
    const kept = backup === null ? [] : [`The backup from before is ${backup}.`];
    if (status === "put back") {
      printResult(context, report, [`${from} is installed again. ${reason}`, ...kept].join("\n"));
      return 1;
    }
    return printResult(
      context,
      report,
      [`Updated from ${from} to ${to}.`, ...kept, context.here("Start it with `rookery serve`.")].join("\n"),
    );
  },
});

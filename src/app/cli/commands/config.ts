/** `rookery config`: prints, checks and creates the configuration. */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import type { Config } from "../../../config/config-schema.ts";
import { createHome } from "../../../config/create-home.ts";
import { FILE_MODE } from "../../../config/paths.ts";
import { STARTER_CONFIG } from "../../../config/starter-config.ts";
import { ConfigError } from "../../../core/errors.ts";
import { printableJson } from "../../../core/printable.ts";
import { type CommandContext, defineAction, type Group } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { printResult } from "../print.ts";
import { scopeWarning } from "../scope-warning.ts";
import { changesGroup } from "./config-changes.ts";
import { completionAction } from "./config-completion.ts";
import { editAction } from "./config-edit.ts";
import { explainAction, getAction, setAction } from "./config-keys.ts";

const paths = defineAction({
  summary: "show the paths of the home directory and its files",
  description: "Prints the path of every file and directory, among them the configuration. Reads and creates nothing.",
  run(context) {
    const { paths: all } = context;
    const lines = Object.entries(all).map(
      ([name, path]) => `${name.padEnd(9)}  ${path}${existsSync(path) ? "" : "  (does not exist yet)"}`,
    );
    return printResult(context, all, lines.join("\n"));
  },
});

const check = defineAction({
  summary: "check the configuration and list its errors and warnings",
  description: "Exits with 3 if the configuration has errors. Warnings do not change the exit code.",
  async run(context) {
    const { paths, env } = context;
    const { inspectConfig } = await import("../../../config/load-config.ts");
    const { formatNote, notesAt } = await import("../../../config/parse-config.ts");
    const { exists, config, text, ...inspected } = await inspectConfig(paths, env);
    const errors = config ? await modelErrors(context, config, text) : inspected.errors;
    const ok = errors.length === 0;
    const leaves = config && ok ? await scopeWarning(context, config.session.dmScope) : undefined;
    const warnings = [
      ...inspected.warnings,
      ...(leaves === undefined ? [] : notesAt(text, paths.config, [{ path: ["session", "dmScope"], message: leaves }])),
    ];
    const lines = [
      ...errors.map((note) => `error: ${formatNote(note)}`),
      ...warnings.map((note) => `warning: ${formatNote(note)}`),
      ...(exists ? [] : [`${paths.config} does not exist. Every setting has its default.`]),
      ...(exists && ok ? [`${paths.config} is valid.`] : []),
    ];
    printResult(context, { file: paths.config, exists, ok, errors, warnings }, lines.join("\n"));
    return ok ? EXIT.ok : EXIT.configuration;
  },
});

/** What the catalogues of models and the keys of the home refute. */
async function modelErrors({ paths, env }: CommandContext, config: Config, text: string) {
  const { configProblems } = await import("../../../adapters/models/config-problems.ts");
  const { openModels } = await import("../../../adapters/models/open-models.ts");
  const { systemClock } = await import("../../../adapters/system/system-clock.ts");
  const { notesAt } = await import("../../../config/parse-config.ts");
  const { silentLog } = await import("../../../core/ports/log.ts");
  const models = openModels({ settings: { current: config }, paths, env, clock: systemClock, log: silentLog });
  return notesAt(text, paths.config, await configProblems(config, models));
}

const show = defineAction({
  summary: "print the configuration with all defaults, secrets masked",
  async run(context) {
    const { config } = await context.loadConfig();
    return printResult(context, config, printableJson(JSON.stringify(config, null, 2)));
  },
});

const init = defineAction({
  summary: "write a commented configuration if none exists",
  description: "Also creates the home directory. Never changes an existing configuration.",
  async run(context) {
    const { open } = await createHome(context.paths);
    for (const directory of open) {
      context.stderr.write(`rookery: warning: other users can enter ${directory}\n`);
    }
    await writeStarter(context);
    const file = context.paths.config;
    return printResult(context, { file, created: true }, `Wrote ${file}`);
  },
});

async function writeStarter({ paths }: CommandContext): Promise<void> {
  try {
    await writeFile(paths.config, STARTER_CONFIG, { flag: "wx", mode: FILE_MODE });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") {
      throw new ConfigError(`${paths.config} cannot be written: ${(cause as Error).message}.`, {
        cause,
        hint: "Make the directory writable for this user, or choose another with --home.",
      });
    }
    throw new ConfigError(`${paths.config} already exists and was not changed.`, {
      cause,
      hint: "Edit the file, or move it away and run this again.",
    });
  }
}

export const configCommand: Group = {
  summary: "show, explain, set, check, edit and create the configuration; undo changes",
  actions: {
    ...{ show, get: getAction, set: setAction, explain: explainAction, edit: editAction, check, init },
    ...{ paths, changes: changesGroup, completion: completionAction },
  },
};

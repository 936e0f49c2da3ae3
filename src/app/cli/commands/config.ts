/** `rookery config`: prints, checks and creates the configuration. */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createHome } from "../../../config/create-home.ts";
import { FILE_MODE } from "../../../config/paths.ts";
import { STARTER_CONFIG } from "../../../config/starter-config.ts";
import { ConfigError, InvalidInputError } from "../../../core/errors.ts";
import { type CommandContext, defineAction, type Group } from "../command.ts";
import { EXIT } from "../exit-code.ts";

const path = defineAction({
  summary: "print the path of the configuration file",
  run({ paths, json, stdout }) {
    const file = paths.config;
    stdout.write(json ? `${JSON.stringify({ file, exists: existsSync(file) })}\n` : `${file}\n`);
    return undefined;
  },
});

const check = defineAction({
  summary: "check the configuration and list its errors and warnings",
  description: "Exits with 3 if the configuration has errors. Warnings do not change the exit code.",
  async run({ paths, env, json, stdout }) {
    const { inspectConfig } = await import("../../../config/load-config.ts");
    const { formatNote } = await import("../../../config/parse-config.ts");
    const { exists, errors, warnings } = await inspectConfig(paths, env);
    const ok = errors.length === 0;
    if (json) stdout.write(`${JSON.stringify({ file: paths.config, exists, ok, errors, warnings })}\n`);
    else {
      for (const note of errors) stdout.write(`error: ${formatNote(note)}\n`);
      for (const note of warnings) stdout.write(`warning: ${formatNote(note)}\n`);
      if (!exists) stdout.write(`${paths.config} does not exist. Every setting has its default.\n`);
      else if (ok) stdout.write(`${paths.config} is valid.\n`);
    }
    return ok ? EXIT.ok : EXIT.configuration;
  },
});

const show = defineAction({
  summary: "print the configuration with all defaults, secrets masked",
  async run({ loadConfig, json, stdout }) {
    const { config } = await loadConfig();
    stdout.write(`${JSON.stringify(config, null, json ? undefined : 2)}\n`);
    return undefined;
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
    context.stdout.write(context.json ? `${JSON.stringify({ file, created: true })}\n` : `Wrote ${file}\n`);
    return undefined;
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
    throw new InvalidInputError(`${paths.config} already exists and was not changed.`, {
      cause,
      hint: "Edit the file, or move it away and run this again.",
    });
  }
}

export const configCommand: Group = {
  summary: "show, check and create the configuration",
  actions: { path, check, show, init },
};

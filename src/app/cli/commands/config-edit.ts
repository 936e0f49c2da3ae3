/**
 * `rookery config edit`: a copy of the file in your editor. The file itself is replaced when you leave the editor, and only by a valid
 * text; a text that is refused is kept.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { configDraft, FILE_MODE } from "../../../config/paths.ts";
import { NotFoundError, UsageError } from "../../../core/errors.ts";
import { changeFile, readIfThere } from "../change-file.ts";
import { type CommandContext, defineAction } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { printResult } from "../print.ts";

export const editAction = defineAction({
  summary: "open the configuration in your editor; a valid text replaces it, and can be undone",
  description:
    "Uses $VISUAL, else $EDITOR, else vi. The engine goes on with the configuration before until you leave the editor. A text with errors is refused and kept beside the file: --again opens it again.",
  options: { again: { type: "boolean", description: "go on with the text that was refused" } },
  examples: ["rookery config edit", "rookery config edit --again"],
  async run(context) {
    const { env, paths, stdin, flags } = context;
    if (!stdin().isTTY)
      throw new UsageError("rookery config edit needs a terminal.", {
        hint: `Edit ${paths.config}, then run \`rookery config check\`.`,
      });
    const before = readIfThere(paths.config);
    const draft = configDraft(paths);
    if (!flags.again) await startDraft(context, before);
    else if (!existsSync(draft))
      throw new NotFoundError("No text was refused.", { hint: "Run `rookery config edit` without --again." });
    const status = openEditor(env, draft);
    const text = readFileSync(draft, "utf8");
    return status === 0 ? replace(context, before, text) : cancelled(context, status);
  },
});

/** A file that does not exist begins with the commented one. */
async function startDraft({ paths }: CommandContext, before: string | null): Promise<void> {
  const draft = configDraft(paths);
  const { createHome } = await import("../../../config/create-home.ts");
  await createHome(paths);
  if (before !== null) copyFileSync(paths.config, draft);
  else writeFileSync(draft, (await import("../../../config/starter-config.ts")).STARTER_CONFIG);
  chmodSync(draft, FILE_MODE);
}

function openEditor(env: CommandContext["env"], file: string): number | null {
  const [program = "vi", ...args] = (env.VISUAL || env.EDITOR || "vi").split(" ");
  const { status, error } = spawnSync(program, [...args, file], { stdio: "inherit" });
  if (!error) return status;
  throw new UsageError(`The editor "${program}" cannot be started: ${error.message}.`, { hint: "Set $EDITOR." });
}

function cancelled(context: CommandContext, status: number | null): number {
  const file = context.paths.config;
  const nothing = { file, status, change: null, draft: null, errors: [], warnings: [] };
  rmSync(configDraft(context.paths), { force: true });
  printResult(context, nothing, `The editor ended with ${status ?? "a signal"}. Nothing was changed.`);
  return EXIT.failure;
}

async function replace(context: CommandContext, before: string | null, text: string): Promise<number | undefined> {
  const { paths, env, here } = context;
  const { checkConfig, formatNote } = await import("../../../config/parse-config.ts");
  const { errors, warnings } = checkConfig({ text, file: paths.config, env });
  const report = { file: paths.config, status: 0, errors, warnings };
  const notes = warnings.map((note) => `warning: ${formatNote(note)}`);
  const draft = configDraft(paths);
  if (errors.length > 0) {
    const kept = `Nothing was changed. Your text is in ${draft}: \`rookery config edit --again\` opens it again.`;
    const lines = [...errors.map((note) => `error: ${formatNote(note)}`), ...notes, kept];
    printResult(context, { ...report, change: null, draft }, here(lines.join("\n")));
    return EXIT.configuration;
  }
  // If the file was changed while it was open here, this throws and the text is kept.
  const change = await changeFile(context, { file: paths.config, text, before, why: "edited" });
  rmSync(draft, { force: true });
  const done =
    change === undefined
      ? "Nothing was changed."
      : `${paths.config} is valid and in place. Undo it with \`rookery config changes undo ${change}\`.`;
  return printResult(context, { ...report, change: change ?? null, draft: null }, here([...notes, done].join("\n")));
}

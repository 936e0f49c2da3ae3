/** `rookery backup restore`: puts a backup into a home. */
import { resolve } from "node:path";
import { InvalidInputError, UsageError } from "../../../core/errors.ts";
import { type CommandContext, defineAction } from "../command.ts";
import { askYesNo, confirmed } from "../confirm.ts";
import { numberFlag } from "../number-flag.ts";
import { printResult } from "../print.ts";
import { progressOf } from "../progress.ts";

export const restoreAction = defineAction({
  summary: "put a backup into a home; ends and reports the work that was open in it",
  usage: "<file>",
  description:
    "Unpacks and checks the backup beside the home, lists what it starts, and puts it in place after your yes. Runs that were open when it was made end as lost with a notice; deliveries that had not ended become unconfirmed. A home that is not empty is only replaced with --replace, and is kept under another name. A copy of the database from before a migration (backups/before-schema-….db) replaces only the database.",
  arguments: { min: 0, max: 1 },
  options: {
    replace: { type: "boolean", description: "replace the home that is there; it is kept under another name" },
    yes: { type: "boolean", description: "agree to everything that the backup starts" },
    "trust-files": { type: "boolean", description: "count its notes, skills and other files of agents as yours" },
    "max-size": { type: "string", value: "GB", description: "how large the archive may become when it is unpacked" },
    finish: { type: "boolean", description: "complete a restore that was killed" },
  },
  examples: [
    "rookery backup restore rookery.tar.gz --home ~/rookery-copy",
    "rookery backup restore rookery.tar.gz --replace",
  ],
  async run(context) {
    const [file] = context.args;
    if (context.flags.finish) return finish(context);
    if (file === undefined)
      throw new UsageError("rookery backup restore needs the file of a backup.", {
        hint: "`rookery backup` makes one.",
      });
    return file.endsWith(".db") ? restoreDatabase(context, resolve(file)) : restore(context, resolve(file));
  },
});

async function finish(context: CommandContext): Promise<undefined> {
  const { finishRestore } = await import("../../operations/backup/restore-backup.ts");
  const finished = finishRestore(context.home);
  return printResult(
    context,
    { finished },
    finished ? `The restore of ${context.home} is complete.` : "There is nothing to complete.",
  );
}

async function restore(context: CommandContext, file: string): Promise<undefined> {
  const { home, flags } = context;
  const { restoreBackup } = await import("../../operations/backup/restore-backup.ts");
  const { systemIds } = await import("../../../adapters/system/system-ids.ts");
  const maxBytes = numberFlag(flags["max-size"] as string | undefined, "--max-size", { min: 0.001, fraction: true });
  using progress = progressOf(context);
  const report = await restoreBackup({
    file,
    home,
    replace: flags.replace === true,
    ids: systemIds(),
    now: Date.now(),
    env: context.env,
    maxBytes: maxBytes === undefined ? undefined : maxBytes * 1_024 ** 3,
    mayStart(programs) {
      progress.pause();
      return agreed(context, programs);
    },
    mayTrust(files) {
      progress.pause();
      return trusted(context, files);
    },
    onProgress: progress.step,
  });
  const { lost, kept, manifest, refusedLinks, unreviewed, marked } = report;
  const { createdAt, rows } = manifest;
  const result = {
    home,
    kept,
    lost,
    refusedLinks,
    unreviewed,
    marked,
    createdAt,
    schema: manifest.schema,
    version: manifest.version,
    rows,
  };
  const lines = [
    `Restored ${home} as it was on ${new Date(createdAt).toISOString()}: ${rows.agents ?? 0} agents, ${rows.entries ?? 0} lines of history.`,
    `Ended open work: ${lost.runs} runs lost, ${lost.messages} messages failed with a notice, ${lost.deliveries} deliveries unconfirmed.`,
    ...(lost.people === undefined
      ? []
      : [
          `${lost.people} people are strangers now, because rights were changed since the backup: \`rookery people list\`.`,
        ]),
    ...(kept === null ? [] : [`The home that was there is in ${kept}.`]),
    ...refusedLinks.map((path) => `Left out ${path}: a link that leads out of the home or replaces a file of it.`),
    ...unreviewed.map((name) => context.here(`Look at the tools of ${name} again: \`rookery mcp check ${name}\`.`)),
    ...(marked === 0
      ? []
      : [`${marked} files of agents count as text of others. If they are yours, restore with --trust-files.`]),
    "Do not run it beside the installation it was made from: both would use the same channels.",
    context.here("Start it with `rookery serve`; `rookery doctor` checks it."),
  ];
  return printResult(context, result, lines.join("\n"));
}

/** The whole list, then the question. Without a terminal only --yes agrees. */
async function agreed(context: CommandContext, programs: readonly string[]): Promise<boolean> {
  context.stderr.write(`This backup contains:\n${programs.map((line) => `- ${line}\n`).join("")}`);
  return context.flags.yes === true || confirmed(context, "Restore it with all of this?", "--yes");
}

/** Without a terminal only --trust-files trusts them. */
async function trusted(context: CommandContext, files: number): Promise<boolean> {
  if (context.flags["trust-files"] === true) return true;
  if (context.json || !context.stdin().isTTY) return false;
  return askYesNo(
    `Are its ${files} files of agents (notes, skills, prompts, workspaces) yours? Otherwise they count as text of others.`,
  );
}

async function restoreDatabase(context: CommandContext, file: string): Promise<undefined> {
  const { replaceDatabase } = await import("../../operations/backup/replace-database.ts");
  const { inspectSnapshot } = await import("../../operations/backup/snapshot-store.ts");
  const { storedPrograms } = await import("../../operations/backup/stored-programs.ts");
  inspectSnapshot(file);
  const programs = storedPrograms(file);
  if (programs.length > 0 && !(await agreed(context, programs)))
    throw new InvalidInputError("You did not agree to what this database starts.", { hint: "Nothing was restored." });
  const { schema, kept } = replaceDatabase({ paths: context.paths, file, now: Date.now() });
  const text = `The database has schema version ${schema} again. The one that was there is in ${kept}.\nThe next start ends the work that was open in it and says so.`;
  return printResult(context, { file, schema, kept }, text);
}

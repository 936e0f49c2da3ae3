/** `rookery people forget`: removes everything of a person, with a receipt. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { InvalidInputError } from "../../../core/errors.ts";
import type { ForgetReceipt } from "../../client/people-resource.ts";
import { changing } from "../client/with-api.ts";
import { type CommandContext, defineAction } from "../command.ts";
import { confirmed } from "../confirm.ts";
import { oneLine } from "../plain-text.ts";
import { printResult } from "../print.ts";
import { progressOf } from "../progress.ts";

const SHOWN = 20;

export const forget = defineAction({
  summary: "remove everything of a person: agents, jobs, files, notes, rows",
  usage: "<person id>",
  description:
    "Stops the person's agents and removes them with their conversations, jobs, files, notes, logins, tokens and rights, from the database and from plain files, and compacts the database. The audit log keeps what was done under a random name. Keys that recognise repeated messages stay as digests until they expire. Mentions in other people's conversations, in your files and in backups are listed and stay. It cannot be undone: --export writes everything into one file first. If it is interrupted, run it again: it goes on where it was.",
  arguments: { min: 1, max: 1 },
  options: {
    export: { type: "string", value: "FILE", description: "write everything of the person into this tar.gz first" },
    yes: { type: "boolean", description: "do not ask" },
  },
  examples: ["rookery people forget ann --export ann.tar.gz", "rookery people forget telegram:42 --yes"],
  async run(context) {
    const [person = ""] = context.args;
    const { flags } = context;
    const file = flags.export === undefined ? undefined : resolve(flags.export);
    if (file !== undefined && existsSync(file))
      throw new InvalidInputError(`${file} exists already.`, { hint: "Name another file. Nothing was changed." });
    const question = `Everything of ${oneLine(person, 100)} will be removed. This cannot be undone. Go on?`;
    if (!flags.yes && !(await confirmed(context, question, "--yes"))) return 1;
    using progress = progressOf(context);
    if (file !== undefined) {
      progress.step(`Writing everything of ${oneLine(person, 100)} into ${file}.`);
      await writeExport(context, person, file);
    }
    progress.step(`Removing everything of ${oneLine(person, 100)}, and compacting the database.`);
    const receipt = await changing(context, (rookery) => rookery.people.forget(person));
    return printResult(context, { ...receipt, export: file ?? null }, textOf(receipt, file));
  },
});

/** The file is whole and on the disk before anything is removed. */
async function writeExport(context: CommandContext, person: string, file: string): Promise<void> {
  const bytes = await changing(context, (rookery) => rookery.people.export(person));
  const { open } = await import("node:fs/promises");
  const handle = await open(file, "wx", 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function textOf({ tombstone, removed, mentions, backups }: ForgetReceipt, file: string | undefined): string {
  const counts = Object.entries(removed).map(([what, count]) => `${count} ${what}`);
  const shown = mentions
    .slice(0, SHOWN)
    .map(({ where, sessionKey, count }) =>
      count === undefined ? `  ${oneLine(where, 200)}` : `  ${where}  ${oneLine(sessionKey ?? "", 80)}  ${count} times`,
    );
  return [
    `Forgotten. Removed: ${counts.join(", ")}.`,
    `The audit log says ${tombstone} in the place of the person. Keep this name as your receipt.`,
    ...(file === undefined ? [] : [`Everything that was removed is in ${file}.`]),
    ...(mentions.length === 0
      ? ["No one else mentions the person."]
      : [`Still mentioned in ${mentions.length} places:`, ...shown]),
    ...(mentions.length > SHOWN ? [`  and ${mentions.length - SHOWN} more: --json lists them`] : []),
    ...(backups.length === 0
      ? []
      : [`${backups.length} backups were made before and still contain the person: ${backups.slice(0, 5).join(", ")}`]),
  ].join("\n");
}

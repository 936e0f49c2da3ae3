/** `rookery backup`: one file with everything of this home, made beside a running engine. */
import { join, resolve } from "node:path";
import { backupDirectory } from "../../../config/paths.ts";
import { defineAction, type Group } from "../command.ts";
import { printResult } from "../print.ts";
import { progressOf } from "../progress.ts";
import { restoreAction } from "./backup-restore.ts";

const add = defineAction({
  summary: "write everything of this home into one file, also while the engine runs",
  usage: "[file]",
  description:
    "The file is an archive (tar.gz) with a snapshot of the database, the files of conversations, workspaces, configuration and keys. It is read back and its database is opened before it gets its name. Keep it as safe as the home: it contains keys. Without a name it goes into backups/ of the home; --keep N then removes all but the newest N there.",
  arguments: { min: 0, max: 1 },
  options: { keep: { type: "string", value: "N", description: "remove older backups in backups/ of the home" } },
  examples: ["rookery backup", "rookery backup /mnt/disk/rookery.tar.gz", "rookery backup --keep 7"],
  async run(context) {
    const { args, flags, paths, env, loadConfig } = context;
    const { numberFlag } = await import("../number-flag.ts");
    const keep = numberFlag(flags.keep, "--keep");
    const { config } = await loadConfig();
    const { createBackup } = await import("../../operations/backup/create-backup.ts");
    const { pruneBackups, backupName } = await import("../../operations/backup/backup-names.ts");
    const { sizeText } = await import("../../operations/size-text.ts");
    const directory = backupDirectory(paths);
    const now = Date.now();
    const file = args[0] === undefined ? join(directory, backupName(now)) : resolve(args[0]);
    using progress = progressOf(context);
    const options = { paths, config, env, file, now, onProgress: progress.step };
    const { bytes, manifest } = await createBackup(options);
    const removed = keep === undefined || args[0] !== undefined ? [] : pruneBackups(directory, keep);
    const { files, missing, rows, schema, snapshotAt } = manifest;
    const result = { file, bytes, snapshotAt, schema, files: files.length, rows, missing, removed };
    const lines = [
      `Wrote ${file} (${sizeText(bytes)}): ${rows.agents ?? 0} agents, ${rows.entries ?? 0} lines of history, ${files.length} files.`,
      "It was read back, and its database was opened. It contains keys: keep it as safe as the home.",
      ...missing.map((path) => `Missing in the home, so not in the backup: ${path}`),
      ...removed.map((path) => `Removed ${path}`),
      context.here(`Restore it with \`rookery backup restore ${file} --home DIR\`.`),
    ];
    return printResult(context, result, lines.join("\n"));
  },
});

export const backupCommand: Group = {
  summary: "write the whole home into one file, even while the engine runs; restore it",
  actions: { add, restore: restoreAction },
  fallback: "add",
  fallbackTakesWords: true,
};

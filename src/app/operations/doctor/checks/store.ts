/** Checks of what is stored: the configuration, the database, and the plain files beside it. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { diskFiles } from "../../../../adapters/store/files/disk-files.ts";
import { inspectDatabase } from "../../../../adapters/store/files/inspect.ts";
import { compareMark, readMark } from "../../../../adapters/store/files/mark-file.ts";
import { sqliteSource } from "../../../../adapters/store/files/sqlite-source.ts";
import { sharedStoreUrl } from "../../../../adapters/store/shared-store-url.ts";
import { openDatabaseSync } from "../../../../adapters/store/sqlite/database-sync.ts";
import { sharedBeforeFile } from "../../../../config/paths.ts";
import { sizeText } from "../../size-text.ts";
import { defineCheck, type Finding } from "../check.ts";

export const configurationCheck = defineCheck({
  id: "configuration",
  check: ({ paths, configProblem }) => ({
    fine: existsSync(paths.config)
      ? `${paths.config} has no errors.`
      : "There is no configuration file; defaults are used.",
    findings:
      configProblem === undefined
        ? []
        : [
            {
              level: "problem",
              text: configProblem,
              help: "Correct the file; `rookery config check` lists every error.",
            },
          ],
  }),
});

/** Above this size a notice says so, and how to give room back. */
const LARGE_BYTES = 5 * (1 << 30);
/** A log of this size is not moved into the database: something reads it for very long. */
const LARGE_LOG_BYTES = 1 << 30;

const REBUILD = {
  help: "`rookery engine repair` keeps the broken files and rebuilds; `doctor --fix` runs it.",
  fixable: true,
} as const;

export const storeCheck = defineCheck({
  id: "store",
  /** Nothing happens while an engine runs: the database that it has open is sound. */
  async fix({ paths, now, engine }) {
    if (engine || inspectDatabase(paths.database).kind !== "unreadable") return [];
    const { repair } = await import("../../../../adapters/store/files/repair.ts");
    const { systemIds } = await import("../../../../adapters/system/system-ids.ts");
    const { kept, rebuilt } = repair({ home: paths.home, databasePath: paths.database, ids: systemIds(), now });
    return [`Rebuilt the database: ${rebuilt?.agents ?? 0} agents. Kept: ${kept.join(", ")}.`];
  },
  async check({ paths, env, config, store, storeProblem, engine }) {
    if (storeProblem !== undefined) {
      return { fine: "", findings: [{ level: "problem", text: storeProblem, ...REBUILD }] };
    }
    if (!store) return { fine: "There is no database yet; the first message makes it." };
    if (config && sharedStoreUrl(paths, config, env) !== undefined) {
      const living = (await store.nodes()).filter(({ left }) => !left);
      return { fine: `The shared store answers; ${living.length} nodes are registered.` };
    }
    const findings: Finding[] = [];
    // A running engine has opened and checked it.
    const found = engine ? ({ kind: "ok" } as const) : inspectDatabase(paths.database);
    if (found.kind === "unreadable" || found.kind === "no-room") {
      findings.push({ level: "problem", text: `${paths.database}: ${found.reason}.`, ...REBUILD });
    }
    const [size, log] = [sizeOf(paths.database), sizeOf(`${paths.database}-wal`)];
    if (size > LARGE_BYTES) {
      findings.push({
        level: "notice",
        text: `The database has ${sizeText(size)}.`,
        help: "Keep records for a shorter time: `rookery config explain retention` lists the settings.",
      });
    }
    if (log > LARGE_LOG_BYTES) {
      findings.push({
        level: "problem",
        text: `The log of the database has ${sizeText(log)}.`,
        help: "Stop what reads the database for long, and start the engine again.",
      });
    }
    return { fine: `The database is sound (${sizeText(size)}, log ${sizeText(log)}).`, findings };
  },
});

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

/** Committed changes that may be missing in the files while an engine writes them. */
const BEHIND = 20_000;

export const plainFilesCheck = defineCheck({
  id: "plain-files",
  needs: ["config", "store"],
  check({ paths, env, config, engine }) {
    if (sharedStoreUrl(paths, config, env) !== undefined)
      return { fine: "A shared store is backed up by its own means." };
    const mark = readMark(diskFiles(paths.home));
    const help = "Start the engine: it writes them again from the database.";
    if (!mark || !existsSync(paths.database)) return { fine: "No plain files were written yet." };
    const sql = openDatabaseSync(paths.database, { readOnly: true, timeout: 5_000 });
    try {
      const source = sqliteSource(sql);
      const same = compareMark(source, mark);
      const behind = source.bounds().last - mark.synced;
      const texts = [
        ...(same === "other" ? ["The plain files were written from another database than the one that is here."] : []),
        ...(same !== "other" && (engine ? behind > BEHIND : behind > 0 && mark.clean)
          ? [`The plain files lack ${behind} changes.`]
          : []),
      ];
      return {
        fine: "The plain files are in step with the database.",
        findings: texts.map((text) => ({ level: "notice", text, help })),
      };
    } finally {
      sql.close();
    }
  },
});

/** What everyone shared before each person had an own directory. */
export const sharedWorkspaceCheck = defineCheck({
  id: "shared-workspace",
  check({ paths }) {
    const file = sharedBeforeFile(paths);
    const fine = "People have separate files.";
    if (!existsSync(file)) return { fine };
    const help = `Move what belongs to others into ${paths.people}, then delete ${file}.`;
    return { fine, findings: [{ level: "problem", text: readFileSync(file, "utf8"), help }] };
  },
});

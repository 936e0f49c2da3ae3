/** `rookery repair`: rebuilds an unreadable database from the plain files and keeps the broken one. */
import type { RepairReport } from "../../../adapters/store/files/repair.ts";
import { defineAction } from "../command.ts";

export const repairCommand = defineAction({
  summary: "rebuild an unreadable database and keep the broken one",
  description:
    "Leaves a readable database alone. Otherwise it saves what it can still read into the plain files, builds a new database from them, and moves the broken files aside. It deletes nothing.",
  async run({ home, paths, json, stdout }) {
    const { repair } = await import("../../../adapters/store/files/repair.ts");
    const { systemClock } = await import("../../../adapters/system/system-clock.ts");
    const { systemIds } = await import("../../../adapters/system/system-ids.ts");
    const report = repair({ home, databasePath: paths.database, ids: systemIds(), now: systemClock.now() });
    stdout.write(json ? `${JSON.stringify(report)}\n` : `${repairText(report).join("\n")}\n`);
    return undefined;
  },
});

/** The report as lines of text. */
export function repairText({ found, repaired, kept, salvaged, rebuilt }: RepairReport): readonly string[] {
  if (!repaired || !rebuilt) {
    return [found.kind === "ok" ? "The database can be read. Nothing was changed." : "There is nothing to repair."];
  }
  const { lost } = rebuilt;
  return [
    `Rebuilt: ${rebuilt.agents} agents, ${rebuilt.entries} lines of history, ${rebuilt.waiting} messages waiting, ${rebuilt.jobs} jobs.`,
    `Ended unfinished work: ${lost.runs} runs lost, ${lost.messages} messages failed with a notice, ${lost.deliveries} deliveries unconfirmed.`,
    ...(salvaged ? [`Read from the broken database: ${salvaged.agents} agents, ${salvaged.lines} lines.`] : []),
    ...(salvaged?.failed.map(({ what, reason }) => `  could not read ${what}: ${reason}`) ?? []),
    ...rebuilt.problems.map(({ file, line, reason, consequence }) => {
      const where = line === undefined ? file : `${file}:${line}`;
      return `  ${where}: ${consequence.replace("-", " ")}: ${reason}`;
    }),
    ...(rebuilt.gap === undefined ? [] : [rebuilt.gap]),
    ...kept.map((path) => `Kept: ${path}`),
  ];
}

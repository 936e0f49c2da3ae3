/** `rookery engine repair`: rebuilds an unreadable database from the plain files, or takes in the directory of an agent. */
import type { AdoptReport } from "../../../adapters/store/files/adopt.ts";
import type { RepairReport } from "../../../adapters/store/files/repair.ts";
import type { RestoreProblem } from "../../../adapters/store/files/restore-context.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import { type CommandContext, defineAction } from "../command.ts";
import { printResult } from "../print.ts";
import { progressOf } from "../progress.ts";

export const repairAction = defineAction({
  summary: "rebuild an unreadable database and keep the broken one, or adopt an agent",
  description:
    "Leaves a readable database alone. Otherwise it saves what it can still read into the plain files, builds a new database from them, and moves the broken files aside. It deletes nothing. With --adopt it takes in the agent of a directory, such as agents/<id> of another home or agents-aside/<id> of this one.",
  options: {
    adopt: { type: "string", value: "DIR", description: "take in the agent of this directory, which stays unchanged" },
  },
  async run(context) {
    const { home, paths, flags } = context;
    const { systemClock } = await import("../../../adapters/system/system-clock.ts");
    const { systemIds } = await import("../../../adapters/system/system-ids.ts");
    using progress = progressOf(context);
    const { step: onProgress } = progress;
    const options = { home, databasePath: paths.database, ids: systemIds(), now: systemClock.now(), onProgress };
    const write = (report: object, lines: readonly string[]): void => printResult(context, report, lines.join("\n"));
    if (flags.adopt === undefined) {
      const { repair } = await import("../../../adapters/store/files/repair.ts");
      const report = repair(options);
      write(report, repairText(report));
    } else {
      await refuseSharedStore(context);
      const { adopt } = await import("../../../adapters/store/files/adopt.ts");
      const { createHome } = await import("../../../config/create-home.ts");
      await createHome(paths);
      progress.step(`Reading ${flags.adopt}.`);
      const report = adopt({ ...options, dir: flags.adopt });
      write(report, adoptText(report));
    }
    return undefined;
  },
});

async function refuseSharedStore({ paths, env, loadConfig }: CommandContext): Promise<void> {
  const { sharedStoreUrl } = await import("../../../adapters/store/shared-store-url.ts");
  const { config } = await loadConfig();
  if (sharedStoreUrl(paths, config, env) === undefined) return;
  throw new InvalidInputError("An agent can be adopted only into the store of a home.", {
    hint: "Adopt it into a new home, then run `rookery engine copy` to copy that home into an empty shared store.",
  });
}

/** The report as lines of text. */
function repairText({ found, repaired, kept, salvaged, rebuilt }: RepairReport): readonly string[] {
  if (!repaired || !rebuilt) {
    return [found.kind === "ok" ? "The database can be read. Nothing was changed." : "There is nothing to repair."];
  }
  return [
    `Rebuilt: ${rebuilt.agents} agents, ${rebuilt.entries} lines of history, ${rebuilt.waiting} messages waiting, ${rebuilt.jobs} jobs.`,
    lostText(rebuilt.lost),
    ...(salvaged ? [`Read from the broken database: ${salvaged.agents} agents, ${salvaged.lines} lines.`] : []),
    ...(salvaged?.failed.map(({ what, reason }) => `  could not read ${what}: ${reason}`) ?? []),
    ...rebuilt.problems.map(problemText),
    ...(rebuilt.gap === undefined ? [] : [rebuilt.gap]),
    ...kept.map((path) => `Kept: ${path}`),
  ];
}

const adoptText = ({
  id,
  sessionKey,
  dir,
  entries,
  waiting,
  lost,
  problems,
  reset,
}: AdoptReport): readonly string[] => [
  `Adopted agent ${id} as ${sessionKey}: ${entries} lines of history, ${waiting} messages waiting.`,
  lostText(lost),
  ...problems.map(problemText),
  ...(reset.length > 0 ? [`Settings that widen its rights were not taken over: ${reset.join(", ")}.`] : []),
  `${dir} was left unchanged.`,
];

const lostText = ({ runs, messages, deliveries }: AdoptReport["lost"]): string =>
  `Ended unfinished work: ${runs} runs lost, ${messages} messages failed with a notice, ${deliveries} deliveries unconfirmed.`;

function problemText({ file, line, reason, consequence }: RestoreProblem): string {
  const where = line === undefined ? file : `${file}:${line}`;
  return `  ${where}: ${consequence.replace("-", " ")}: ${reason}`;
}

/** `rookery doctor`: lists what the owner should check in this home. A running engine checks itself; without one the command does. */
import type { DoctorFacts } from "../../operations/doctor/check.ts";
import type { DoctorItem, DoctorReport } from "../../operations/doctor/examine.ts";
import { type CommandContext, defineAction } from "../command.ts";
import { printList } from "../print.ts";

export const doctorCommand = defineAction({
  summary: "check this home and the engine, and say what helps",
  description:
    "Each check reads and changes nothing. Exits with 1 if there is a problem. --fix repairs what can be repaired without deleting anything, then checks again.",
  options: {
    fix: { type: "boolean", description: "repair what can be repaired without deleting anything" },
    yes: { type: "boolean", description: "with --fix: install packages without asking" },
    quiet: { type: "boolean", short: "q", description: "show only problems and notices" },
  },
  examples: ["rookery doctor", "rookery doctor --fix", "rookery doctor --quiet --json"],
  async run(context) {
    const { flags } = context;
    const before = await report(context);
    const done = flags.fix ? await fixAll(context, before) : [];
    const { items, problems, notices } = done.length > 0 ? await report(context) : before;
    const shown = flags.quiet ? items.filter(({ status }) => status === "problem" || status === "notice") : items;
    const sum =
      problems + notices === 0
        ? "Nothing to do."
        : `${counted(problems, "problem")}, ${counted(notices, "notice")}.${items.some(({ fixable }) => fixable) ? " `rookery doctor --fix` repairs some." : ""}`;
    printList(context, {
      items: shown,
      more: { problems, notices, fixed: done },
      before: done,
      line: (item) => context.here(lineOf(item)),
      empty: "",
      after: [sum],
    });
    return problems === 0 ? undefined : 1;
  },
});

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;

const MARKS: Readonly<Record<DoctorItem["status"], string>> = { ok: "✓", notice: "!", problem: "✗", skipped: "–" };

const NAME_WIDTH = 17;

const lineOf = ({ check, status, text, help }: DoctorItem): string =>
  `${MARKS[status]} ${check.padEnd(NAME_WIDTH)}${text}${help === null ? "" : `\n${" ".repeat(NAME_WIDTH + 2)}${help}`}`;

async function report(context: CommandContext): Promise<DoctorReport> {
  const { findEngine } = await import("../../gateway/control/find-engine.ts");
  const transport = await findEngine(context.home);
  if (transport) {
    const { EngineApi } = await import("../../client/engine-api.ts");
    return new EngineApi(transport).get<DoctorReport>("/api/doctor");
  }
  const { examine } = await import("../../operations/doctor/examine.ts");
  const { DOCTOR_CHECKS } = await import("../../gateway/doctor/doctor-checks.ts");
  return withFacts(context, (facts) => examine(DOCTOR_CHECKS, facts));
}

/** What is installed is asked for first. */
async function fixAll(
  context: CommandContext<{ yes: { type: "boolean"; description: string } }>,
  found: DoctorReport,
): Promise<readonly string[]> {
  const { repairFound } = await import("../../operations/doctor/examine.ts");
  const { PACKAGES_CHECK } = await import("../../operations/doctor/checks/packages.ts");
  const { DOCTOR_CHECKS } = await import("../../gateway/doctor/doctor-checks.ts");
  const installs = found.items.some(({ check, fixable }) => check === PACKAGES_CHECK && fixable);
  const { packageCommands } = await import("../ensure-packages.ts");
  const refused = installs ? await packageCommands(context, context.flags.yes ? "yes" : "ask") : [];
  const checks = DOCTOR_CHECKS.filter(({ id }) => id !== PACKAGES_CHECK || refused.length === 0);
  return [...(await withFacts(context, (facts) => repairFound(checks, facts, found))), ...refused];
}

/** What this process can open without an engine. What cannot be opened is a finding, not an error. */
async function withFacts<T>(context: CommandContext, use: (facts: DoctorFacts) => Promise<T>): Promise<T> {
  const { paths, env } = context;
  const { errorText } = await import("../../../core/errors.ts");
  const { loadConfig } = await import("../../../config/load-config.ts");
  const base = { paths, env, now: Date.now() };
  const loaded = await loadConfig(paths, env).then(
    ({ config }) => ({ config }),
    (error) => ({ configProblem: (error as Error).message }),
  );
  const { readHome } = await import("../read-home.ts");
  const { StoreMissingError } = await import("../../../core/errors.ts");
  let used: Promise<T> | undefined;
  try {
    return await readHome(paths, (store) => {
      used = use({ ...base, ...loaded, store });
      return used;
    });
  } catch (error) {
    // The store was open: the error is that of the work.
    if (used) return used;
    const isUnused = error instanceof StoreMissingError;
    const storeProblem = isUnused || "configProblem" in loaded ? undefined : errorText(error);
    return use({ ...base, ...loaded, storeProblem });
  }
}

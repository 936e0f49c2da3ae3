/** Runs checks beside each other and lists their results in the order of the checks. Never rejects. */
import { maskSecrets } from "../../../adapters/system/json-log.ts";
import { errorText } from "../../../core/errors.ts";
import type { Checked, DoctorCheck, DoctorFacts, Need } from "./check.ts";

/** A check that takes longer is reported as such. */
const CHECK_MS = 10_000;

export interface DoctorItem {
  readonly check: string;
  readonly status: "ok" | "notice" | "problem" | "skipped";
  readonly text: string;
  readonly help: string | null;
  readonly fixable: boolean;
}

export interface DoctorReport {
  readonly items: readonly DoctorItem[];
  readonly next: null;
  readonly problems: number;
  readonly notices: number;
}

interface ExamineOptions {
  readonly checkMs?: number;
}

export async function examine(
  checks: readonly DoctorCheck[],
  facts: DoctorFacts,
  { checkMs = CHECK_MS }: ExamineOptions = {},
): Promise<DoctorReport> {
  const items = (await Promise.all(checks.map((check) => itemsOf(check, facts, checkMs)))).flat();
  const count = (status: DoctorItem["status"]): number => items.filter((item) => item.status === status).length;
  return { items, next: null, problems: count("problem"), notices: count("notice") };
}

/** Runs the repairs of the checks that found something fixable. Returns a sentence for each thing that was done. */
export async function repairFound(
  checks: readonly DoctorCheck[],
  facts: DoctorFacts,
  report: DoctorReport,
): Promise<readonly string[]> {
  const done: string[] = [];
  for (const check of checks) {
    if (!check.fix || !report.items.some((item) => item.check === check.id && item.fixable)) continue;
    try {
      done.push(...(await check.fix(facts as never)));
    } catch (error) {
      done.push(`Not repaired (${check.id}): ${errorText(error)}`);
    }
  }
  return done;
}

async function itemsOf(check: DoctorCheck, facts: DoctorFacts, checkMs: number): Promise<readonly DoctorItem[]> {
  const missing = (check.needs ?? []).find((need) => facts[need] === undefined);
  if (missing) return [item(check.id, "skipped", skipText(missing, facts))];
  try {
    return resultItems(check.id, await within(check, facts, checkMs));
  } catch (error) {
    return [
      item(
        check.id,
        "problem",
        `This check did not work: ${errorText(error)}`,
        "Run `rookery doctor` again; if it stays, report it.",
      ),
    ];
  }
}

function resultItems(id: string, { fine, findings = [] }: Checked): readonly DoctorItem[] {
  if (findings.length === 0) return [item(id, "ok", fine)];
  return findings.map(({ level, text, help, fixable }) => ({
    ...item(id, level, text, help),
    fixable: fixable === true,
  }));
}

const item = (check: string, status: DoctorItem["status"], text: string, help: string | null = null): DoctorItem => ({
  // The text may hold an error of someone else.
  ...{ check, status, text: maskSecrets(text.trimEnd()), help, fixable: false },
});

function skipText(missing: Need, facts: DoctorFacts): string {
  if (missing === "engine") return "Not checked: no engine runs.";
  if (missing === "config") return "Not checked: the configuration has errors.";
  return facts.storeProblem === undefined
    ? "Not checked: there is no database yet."
    : "Not checked: the store cannot be read.";
}

async function within(check: DoctorCheck, facts: DoctorFacts, checkMs: number): Promise<Checked> {
  const late = Promise.withResolvers<Checked>();
  const timer = setTimeout(() => {
    const text = `This check did not end within ${checkMs / 1_000} seconds.`;
    late.resolve({ fine: "", findings: [{ level: "problem", text, help: "Run `rookery doctor` again later." }] });
  }, checkMs);
  try {
    return await Promise.race([check.check(facts as never), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The result of a bench: goals with their measured values, and figures for information. */

export interface Bench {
  readonly about: string;
  /** `say` receives the progress. */
  run(say: (text: string) => void): Promise<Report>;
}

export interface Goal {
  readonly what: string;
  readonly goal: number;
  /** Whether more is better or less. */
  readonly better: "more" | "less";
  readonly measured: number;
  readonly unit: string;
}

export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
}

export interface Report {
  readonly goals: readonly Goal[];
  readonly figures: readonly Figure[];
}

export const isMet = (goal: Goal): boolean =>
  goal.better === "more" ? goal.measured >= goal.goal : goal.measured <= goal.goal;

export const missed = (report: Report): readonly Goal[] => report.goals.filter((goal) => !isMet(goal));

export function printReport(report: Report): void {
  console.log();
  printTable(
    ["figure", "value"],
    report.figures.map((figure) => [figure.what, `${shown(figure.value)} ${figure.unit}`.trim()]),
  );
  console.log();
  printTable(
    ["what", "goal", "measured", "ok"],
    report.goals.map((goal) => [
      goal.what,
      `${goal.better === "more" ? "≥" : "≤"} ${shown(goal.goal)} ${goal.unit}`.trim(),
      `${shown(goal.measured)} ${goal.unit}`.trim(),
      isMet(goal) ? "yes" : "NO",
    ]),
  );
}

export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  console.log(line(head));
  console.log(widths.map((width) => "-".repeat(width)).join("  "));
  for (const row of rows) console.log(line(row));
}

const shown = (value: number): string =>
  Math.abs(value) >= 1_000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));

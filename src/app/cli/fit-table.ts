/** A table that fits the terminal: columns are as wide as their cells, and the widest ones give way. Without a terminal nothing is cut. */
import { shortened } from "../../core/cut-text.ts";
import { printable } from "../../core/printable.ts";

interface TableOptions {
  /** The width of the terminal. Absent: no cell is cut. */
  readonly width?: number;
}

const GAP = 2;
const LEAST = 8;

/** The width of the terminal that a command writes to; undefined if it writes to a file or a pipe. */
export const terminalWidth = (output: { readonly isTTY?: boolean; readonly columns?: number }): number | undefined =>
  output.isTTY ? output.columns : undefined;

export function fitTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  { width }: TableOptions = {},
): string {
  const clean = (text: string): string => printable(text.replace(/\s+/gu, " ").trim());
  const all = [head, ...rows].map((row) => row.map(clean));
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  if (width !== undefined) narrow(widths, width);
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        (width === undefined ? cell : shortened(cell, widths[column] ?? LEAST)).padEnd(widths[column] ?? 0),
      )
      .join(" ".repeat(GAP))
      .trimEnd();
  return all.map(line).join("\n");
}

/** Takes from the widest columns until all fit, or none can give more. */
function narrow(widths: number[], width: number): void {
  const room = width - GAP * (widths.length - 1);
  for (let excess = widths.reduce((sum, one) => sum + one, 0) - room; excess > 0; excess--) {
    const widest = widths.indexOf(Math.max(...widths));
    if ((widths[widest] ?? 0) <= LEAST) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}

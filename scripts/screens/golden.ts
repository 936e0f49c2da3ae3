/**
 * A terminal's cells as text: every line, with the colours and weights of its parts in braces. Parts that differ between runs (times,
 * ids, the spinner) become a fixed word.
 */
import type { Terminal } from "@xterm/headless";

const COLORS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

export function goldenOf(terminal: Terminal): string {
  const { buffer, rows } = terminal;
  const first = buffer.active.viewportY;
  const lines = Array.from({ length: rows }, (_, row) => masked(lineOf(terminal, first + row)));
  return `${lines.join("\n").trimEnd()}\n`;
}

function lineOf(terminal: Terminal, row: number): string {
  const line = terminal.buffer.active.getLine(row);
  let text = "";
  let before = "";
  for (let column = 0; line && column < terminal.cols; column++) {
    const cell = line.getCell(column);
    if (!cell || cell.getWidth() === 0) continue;
    const chars = cell.getChars() || " ";
    // A space looks the same in every colour.
    const style = chars === " " && !cell.isInverse() ? before : styleOf(cell);
    if (style !== before) text += style === "" ? "{/}" : `{${style}}`;
    before = style;
    text += chars;
  }
  return text.replace(/(?:\{\/\}| )+$/u, "");
}

type Cell = NonNullable<ReturnType<NonNullable<ReturnType<Terminal["buffer"]["active"]["getLine"]>>["getCell"]>>;

const styleOf = (cell: Cell): string =>
  [
    ...(cell.isFgPalette() ? [COLORS[cell.getFgColor() % 8] ?? ""] : []),
    ...(cell.isBold() ? ["bold"] : []),
    ...(cell.isDim() ? ["dim"] : []),
    ...(cell.isItalic() ? ["italic"] : []),
    ...(cell.isUnderline() ? ["underline"] : []),
    ...(cell.isInverse() ? ["inverse"] : []),
  ].join(" ");

const MASKS: readonly (readonly [RegExp, string])[] = [
  [/\b\d+(?:\.\d)? (?:ms|s|min \d+ s)\b/gu, "0 ms"],
  [/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/gu, "⠋"],
  [/\([a-z0-9]{4}\)/gu, "(abcd)"],
  [/\b[a-z0-9]{24}\b/gu, "agent"],
  [/(It works in ).*│/gu, "$1workspace │"],
  // A longer duration leaves less space for the word that the line cuts.
  [/[^ {}]*(\{\/\})?…$/u, "$1…"],
];

const masked = (line: string): string => MASKS.reduce((text, [pattern, word]) => text.replace(pattern, word), line);

/** A picture of a terminal's cells as SVG: text, colours and weight of every cell, nothing else. */
import type { Terminal } from "@xterm/headless";

const CELL = { width: 8.4, height: 18 };
const PAD = 14;
const BACKGROUND = "#14161b";
const FOREGROUND = "#d8dbe2";
/** Black, red, green, yellow, blue, magenta, cyan, white; then the bright ones. */
const PALETTE = [
  ...["#3b4048", "#e06c75", "#8cc265", "#d9a84e", "#61afef", "#c678dd", "#4fb3bf", "#d8dbe2"],
  ...["#5c6370", "#ff7a85", "#a5e075", "#f0c674", "#7cc0ff", "#de8cf0", "#6fd3de", "#ffffff"],
];

interface Run {
  text: string;
  readonly column: number;
  readonly style: string;
  readonly isInverse: boolean;
  columns: number;
}

/** `rows`: how many lines from the first one of the buffer; default: the screen. */
export function svgOf(terminal: Terminal, { title, rows }: { readonly title: string; readonly rows?: number }): string {
  const { buffer, cols } = terminal;
  const first = rows === undefined ? buffer.active.viewportY : 0;
  const count = rows ?? terminal.rows;
  const width = cols * CELL.width + 2 * PAD;
  const height = count * CELL.height + 2 * PAD;
  const lines = Array.from({ length: count }, (_, row) => {
    const runs = runsOf(terminal, first + row);
    return runs.map((run) => drawn(run, PAD + row * CELL.height)).join("");
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>`,
    `<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" fill="${FOREGROUND}" xml:space="preserve">`,
    ...lines.filter((line) => line !== ""),
    "</g></svg>",
    "",
  ].join("\n");
}

function runsOf(terminal: Terminal, row: number): readonly Run[] {
  const line = terminal.buffer.active.getLine(row);
  const runs: Run[] = [];
  for (let column = 0; line && column < terminal.cols; column++) {
    const cell = line.getCell(column);
    if (!cell || cell.getWidth() === 0) continue;
    const text = cell.getChars() || " ";
    const isInverse = cell.isInverse() !== 0;
    const color = cell.isFgPalette() ? (PALETTE[cell.getFgColor() % 16] ?? FOREGROUND) : FOREGROUND;
    const style = [
      `fill="${isInverse ? BACKGROUND : color}"`,
      ...(cell.isBold() ? ['font-weight="bold"'] : []),
      ...(cell.isItalic() ? ['font-style="italic"'] : []),
      ...(cell.isUnderline() ? ['text-decoration="underline"'] : []),
      ...(cell.isDim() ? ['opacity="0.6"'] : []),
    ].join(" ");
    const last = runs.at(-1);
    const isNext =
      last && last.style === style && last.isInverse === isInverse && last.column + last.columns === column;
    // A wide character stands alone, so that fonts cannot shift what follows.
    if (isNext && cell.getWidth() === 1 && last.columns === [...last.text].length) {
      last.text += text;
      last.columns += 1;
    } else runs.push({ text, column, style, isInverse, columns: cell.getWidth() });
  }
  return runs.filter(({ text, isInverse }) => isInverse || text.trim() !== "");
}

function drawn({ text, column, style, isInverse, columns }: Run, y: number): string {
  const left = PAD + column * CELL.width;
  const width = columns * CELL.width;
  const box = isInverse
    ? `<rect x="${left.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${CELL.height}" fill="${FOREGROUND}"/>`
    : "";
  const shown = text.trim();
  if (shown === "") return box;
  const skipped = text.length - text.trimStart().length;
  const per = columns / [...text].length;
  const x = left + skipped * per * CELL.width;
  const length = [...shown].length * per * CELL.width;
  return `${box}<text x="${x.toFixed(1)}" y="${(y + 13.5).toFixed(1)}" textLength="${length.toFixed(1)}" lengthAdjust="spacingAndGlyphs" ${style}>${escaped(shown)}</text>`;
}

const escaped = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll(/ {2,}/gu, (gap) => "\u00a0".repeat(gap.length));

/** Blocks as lines of the screen. Every line fits the width. Lines of a block or piece are kept as long as the width is the same. */
import { Markdown, truncateToWidth, visibleWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import type { Block, ToolBlock } from "./blocks.ts";
import type { CleanText } from "./clean-text.ts";
import { highlight } from "./highlight.ts";
import type { Piece } from "./split-markdown.ts";
import { markdownTheme, type Theme } from "./theme.ts";

/** How much of a call is shown. `off`: one line. `on`: the beginning of its result too. `full`: its input and its result. */
export type Verbose = "off" | "on" | "full";

export interface RenderSettings {
  readonly theme: Theme;
  readonly verbose: Verbose;
  readonly showThinking: boolean;
}

export type Lines = readonly string[];

const INDENT = "  ";
const MAX_LINES_ON = 6;
const MAX_LINES_FULL = 60;
const CODE_INDENT = "    ";

interface Kept {
  readonly width: number;
  readonly settings: unknown;
  readonly lines: Lines;
}

/** Keeps the lines of objects that never change. */
export class BlockRenderer {
  #settings: RenderSettings;
  readonly #blocks = new WeakMap<Block, Kept>();
  readonly #pieces = new WeakMap<Piece, Kept>();
  #grown: { count: number; last: Piece | undefined; lines: string[]; width: number } = {
    ...{ count: 0, last: undefined, lines: [], width: 0 },
  };

  constructor(settings: RenderSettings) {
    this.#settings = settings;
  }

  get settings(): RenderSettings {
    return this.#settings;
  }

  /** Blocks are rendered again when they are shown next. */
  set(settings: RenderSettings): void {
    this.#settings = settings;
  }

  /** With an empty line before it where one belongs. */
  block(block: Block, before: Block | undefined, width: number): Lines {
    const settings = this.#settings;
    const kept = this.#blocks.get(block);
    if (kept && kept.width === width && kept.settings === settings) return kept.lines;
    const inner = this.#lines(block, Math.max(8, width));
    const lines = inner.length === 0 || isTight(block, before) ? inner : ["", ...inner];
    this.#blocks.set(block, { width, settings, lines });
    return lines;
  }

  pieces(pieces: readonly Piece[], width: number): string[] {
    const lines: string[] = [];
    for (const [n, piece] of pieces.entries()) this.#add(lines, piece, n, width);
    return lines;
  }

  /** The same for an answer that grows: complete pieces only come at the end, so what was put together stays. */
  growing(done: readonly Piece[], width: number): Lines {
    const { count, last, lines, width: before } = this.#grown;
    const isSame = before === width && count > 0 && count <= done.length && done[count - 1] === last;
    const kept = isSame ? lines : [];
    for (let n = isSame ? count : 0; n < done.length; n++) this.#add(kept, done[n], n, width);
    this.#grown = { count: done.length, last: done.at(-1), lines: kept, width };
    return kept;
  }

  #add(lines: string[], piece: Piece | undefined, n: number, width: number): void {
    if (!piece) return;
    if (n > 0 && piece.gap) lines.push("");
    for (const line of this.#piece(piece, width)) lines.push(line);
  }

  #lines(block: Block, width: number): Lines {
    const { theme, showThinking } = this.#settings;
    switch (block.kind) {
      case "user":
        return [
          ...wrapped(block.text, width, theme.bold, theme.person("❯ ")),
          ...(block.files ?? []).flatMap((file) => wrapped(file, width, theme.dim, `${INDENT}${theme.accent("+")} `)),
        ];
      case "answer":
        return [...this.pieces(block.pieces, width), ...(block.isCut ? [INDENT + theme.dim("(cut off here)")] : [])];
      case "thinking":
        return showThinking ? wrapped(block.text, width, (line) => theme.dim(theme.italic(line))) : [];
      case "tool":
        return toolLines(block, width, this.#settings);
      case "event":
        return this.#eventLines(block, width);
      case "notice":
        return this.#noticeLines(block, width);
      case "marker":
        return [theme.dim(rule(` ${block.text} `, width))];
      default:
        return block satisfies never;
    }
  }

  #eventLines({ title, text }: Extract<Block, { kind: "event" }>, width: number): Lines {
    const { theme, verbose } = this.#settings;
    const head = wrapped(title, width, theme.dim, `${theme.accent("◆")} `);
    return verbose === "full" && text !== "" ? [...head, ...wrapped(text, width, theme.dim)] : head;
  }

  #noticeLines({ title, pieces, isError }: Extract<Block, { kind: "notice" }>, width: number): Lines {
    const { theme } = this.#settings;
    const lines = this.pieces(pieces, width);
    if (isError) return lines.map((line, n) => (n === 0 ? theme.bad("✗ ") + line.slice(2) : line));
    return title === undefined ? lines : [`${theme.accent("◆")} ${theme.dim(title)}`, ...lines];
  }

  #piece(piece: Piece, width: number): Lines {
    const kept = this.#pieces.get(piece);
    if (kept?.width === width) return kept.lines;
    const { theme } = this.#settings;
    const lines = piece.kind === "code" ? codeLines(piece, width, theme) : markdownLines(piece.text, width, theme);
    this.#pieces.set(piece, { width, settings: undefined, lines });
    return lines;
  }
}

/** Calls of tools stand below each other without empty lines. */
const isTight = (block: Block, before: Block | undefined): boolean =>
  before === undefined || (block.kind === "tool" && before.kind === "tool");

function markdownLines(text: CleanText, width: number, theme: Theme): Lines {
  const markdown = new Markdown(text, INDENT.length, 0, markdownTheme(theme), undefined, {
    preserveOrderedListMarkers: true,
    renderLatex: false,
  });
  return markdown.render(width).map((line) => fitted(line.trimEnd(), width));
}

function codeLines({ text, language, isFirst }: Extract<Piece, { kind: "code" }>, width: number, theme: Theme): Lines {
  const label = isFirst && language !== "" ? [fitted(CODE_INDENT + theme.dim(language), width)] : [];
  const room = Math.max(8, width - CODE_INDENT.length);
  const lines = highlight(text, language, theme)
    .split("\n")
    .flatMap((line) => (visibleWidth(line) <= room ? [line] : wrapTextWithAnsi(line, room)));
  return [...label, ...lines.map((line) => fitted(CODE_INDENT + line, width))];
}

function toolLines(block: ToolBlock, width: number, { theme, verbose }: RenderSettings): Lines {
  const { name, input, output, state, took } = block;
  const mark = { running: theme.accent("•"), waiting: theme.warn("?"), done: theme.good("✓"), failed: theme.bad("✗") };
  const time = took === undefined ? "" : ` ${durationText(took)}`;
  const short = input.replaceAll(/\s+/gu, " ");
  const head = `${INDENT}${mark[state]} ${name}${theme.dim(`${time}${short === "" ? "" : `  ${short}`}`)}`;
  const lines = [fitted(head, width)];
  if (state === "failed" && verbose === "off" && output)
    lines.push(...wrapped(firstLine(output), width, theme.bad, CODE_INDENT));
  if (verbose === "on" && output) lines.push(...cut(output, width, MAX_LINES_ON, theme));
  if (verbose === "full")
    lines.push(...cut(input, width, MAX_LINES_FULL, theme), ...cut(output, width, MAX_LINES_FULL, theme));
  return lines;
}

const firstLine = (text: CleanText): CleanText => (text.split("\n", 1)[0] ?? "") as CleanText;

function cut(text: CleanText | undefined, width: number, most: number, theme: Theme): readonly string[] {
  if (!text) return [];
  const read = text.slice(0, most * 400) as CleanText;
  const lines = wrapped(read, width, theme.dim, CODE_INDENT, CODE_INDENT);
  if (lines.length <= most && read === text) return lines;
  const more = read === text ? `${lines.length - most} more lines` : "more lines";
  return [...lines.slice(0, most), theme.dim(`${CODE_INDENT}… ${more}`)];
}

/** Wrapped text: `first` before the first line, the indent before the others. */
export function wrapped(
  text: CleanText,
  width: number,
  paint: (line: string) => string,
  first = INDENT,
  rest = INDENT,
): string[] {
  const room = Math.max(4, width - visibleWidth(rest));
  const lines = text.split("\n").flatMap((line) => wrapTextWithAnsi(line, room));
  return lines.map((line, n) => fitted((n === 0 ? first : rest) + paint(line), width));
}

export const fitted = (line: string, width: number): string =>
  visibleWidth(line) <= width ? line : truncateToWidth(line, width, "…");

export function rule(text: string, width: number): string {
  const left = "──";
  const room = Math.max(0, width - left.length - visibleWidth(text));
  return fitted(`${left}${text}${"─".repeat(room)}`, width);
}

export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

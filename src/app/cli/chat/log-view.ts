/**
 * The conversation as one component: the first screen, the blocks, then the answer that is being written. On the normal screen the
 * terminal keeps what has scrolled away, so the leading lines can be hidden: they are not rendered again.
 */
import type { Component } from "@earendil-works/pi-tui";
import type { Block } from "./blocks.ts";
import { type ChatState, EMPTY_CHAT } from "./chat-state.ts";
import { clean } from "./clean-text.ts";
import { type BlockRenderer, type Lines, wrapped } from "./render-block.ts";
import { piecesOf } from "./split-markdown.ts";

const THINKING_LINES = 4;

/** `blocks`: so many leading ones, and the first screen. `lines`: so many more, of what comes after them. */
interface Hidden {
  readonly isIntro: boolean;
  readonly blocks: number;
  readonly lines: number;
}

const NOTHING: Hidden = { isIntro: false, blocks: 0, lines: 0 };

export class LogView implements Component {
  readonly #renderer: BlockRenderer;
  #state: ChatState = EMPTY_CHAT;
  #hidden = NOTHING;
  /** Shown before the first block. */
  #intro: (width: number) => Lines = () => [];
  /** How many lines each part had that was rendered last: the first screen, then the blocks that are not hidden. */
  #counts: readonly number[] = [];

  constructor(renderer: BlockRenderer) {
    this.#renderer = renderer;
  }

  show(state: ChatState): void {
    const { blocks } = this.#hidden;
    const last = this.#state.blocks[blocks - 1]?.key;
    this.#state = state;
    if (blocks === 0 || state.blocks[blocks - 1]?.key === last) return;
    const at = state.blocks.findIndex(({ key }) => key === last);
    this.#hidden = at < 0 ? NOTHING : { ...this.#hidden, blocks: at + 1 };
  }

  introduce(intro: (width: number) => Lines): void {
    this.#intro = intro;
  }

  render(width: number): string[] {
    const { blocks } = this.#state;
    const { isIntro, blocks: first, lines: skipped } = this.#hidden;
    const intro = isIntro ? [] : this.#intro(width);
    const lines: string[] = [...intro];
    const counts = [intro.length];
    for (let n = first; n < blocks.length; n++) {
      const block = blocks[n] as Block;
      const own = this.#renderer.block(block, blocks[n - 1], width);
      counts.push(own.length);
      for (const line of own) lines.push(line);
    }
    for (const part of this.#liveParts(width)) for (const line of part) lines.push(line);
    this.#counts = counts;
    return skipped === 0 ? lines : lines.slice(Math.min(skipped, lines.length));
  }

  /** How many of the leading lines belong to whole parts that never change again, at most `most`. */
  finishedLines(most: number): number {
    const { blocks, lines: skipped } = this.#hidden;
    let finished = -skipped;
    for (const [n, count] of this.#counts.entries()) {
      const block = n === 0 ? undefined : this.#state.blocks[blocks + n - 1];
      if (finished + count > most || (block && isOpen(block))) break;
      finished += count;
    }
    return Math.max(0, finished);
  }

  /** Hides so many of the leading lines that were rendered last. */
  hide(lines: number): void {
    let rest = lines + this.#hidden.lines;
    let whole = 0;
    while (whole < this.#counts.length && rest >= (this.#counts[whole] ?? 0)) {
      rest -= this.#counts[whole] ?? 0;
      whole += 1;
    }
    const { isIntro, blocks } = this.#hidden;
    this.#hidden = { isIntro: isIntro || whole > 0, blocks: blocks + Math.max(0, whole - 1), lines: rest };
  }

  /** Shows everything again. */
  reveal(): void {
    this.#hidden = NOTHING;
  }

  #liveParts(width: number): readonly Lines[] {
    const { live } = this.#state;
    if (!live) return [];
    const { theme, showThinking } = this.#renderer.settings;
    const done = this.#renderer.growing(live.text.done, width);
    const rest = piecesOf({ ...live.text, done: [] });
    const tail = this.#renderer.pieces(rest, width);
    const gap = done.length > 0 && rest[0]?.gap ? [""] : [];
    if (done.length + tail.length > 0) return [[""], done, gap, tail];
    if (!showThinking || live.thinking.trim() === "") return [];
    const thought = wrapped(clean(live.thinking.trim()), width, (line) => theme.dim(theme.italic(line)));
    return [[""], thought.slice(-THINKING_LINES)];
  }

  invalidate(): void {
    // What is kept depends on the width and the settings only.
  }
}

/** A call that has no result yet. */
const isOpen = (block: Block): boolean =>
  block.kind === "tool" && (block.state === "running" || block.state === "waiting");

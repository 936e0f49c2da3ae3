/** The conversation as one component: the blocks, then the answer that is being written. */
import type { Component } from "@earendil-works/pi-tui";
import { type ChatState, EMPTY_CHAT } from "./chat-state.ts";
import { clean } from "./clean-text.ts";
import { type BlockRenderer, type Lines, wrapped } from "./render-block.ts";
import { piecesOf } from "./split-markdown.ts";

const THINKING_LINES = 4;

export class LogView implements Component {
  readonly #renderer: BlockRenderer;
  #state: ChatState = EMPTY_CHAT;
  /** Shown before the first block. */
  #intro: (width: number) => Lines = () => [];

  constructor(renderer: BlockRenderer) {
    this.#renderer = renderer;
  }

  show(state: ChatState): void {
    this.#state = state;
  }

  introduce(intro: (width: number) => Lines): void {
    this.#intro = intro;
  }

  render(width: number): string[] {
    const lines: string[] = [...this.#intro(width)];
    const { blocks } = this.#state;
    for (const [n, block] of blocks.entries()) {
      for (const line of this.#renderer.block(block, blocks[n - 1], width)) lines.push(line);
    }
    for (const part of this.#liveParts(width)) for (const line of part) lines.push(line);
    return lines;
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

/**
 * Cuts a growing markdown text into pieces. A piece that is complete never changes again, so it is rendered once: what a long
 * answer costs per delta is the size of its last piece. Linear in the text; each piece is bounded.
 */
import { trimChars } from "../../../core/trim-chars.ts";
import type { CleanText } from "./clean-text.ts";

export type Piece =
  | { readonly kind: "markdown"; readonly text: CleanText; readonly gap: boolean }
  /** Lines of a code block. A long block has several pieces. */
  | {
      readonly kind: "code";
      readonly language: string;
      readonly text: CleanText;
      readonly isFirst: boolean;
      readonly gap: boolean;
    };

interface Fence {
  readonly mark: string;
  readonly length: number;
  readonly indent: number;
  readonly language: string;
  readonly isFirst: boolean;
}

export interface SplitText {
  readonly done: readonly Piece[];
  /** What may still change. */
  readonly tail: string;
  readonly fence: Fence | undefined;
  /** An empty line stands before the tail. */
  readonly gap: boolean;
}

export const NO_TEXT: SplitText = { done: [], tail: "", fence: undefined, gap: false };

const MAX_MARKDOWN = 3_000;
const MAX_TABLE = 20_000;
const MAX_CODE = 3_000;
const FENCE = /^( {0,12})(`{3,64}|~{3,64})([^`]{0,64})$/u;

/** Adds text and moves every piece that is complete out of the tail. */
export function addText(before: SplitText, text: string): SplitText {
  return new Splitter(before, text).run(false);
}

/** The pieces with the tail as the last one. */
export function piecesOf(split: SplitText): readonly Piece[] {
  return new Splitter(split, "").run(true).done;
}

export const splitText = (text: string): readonly Piece[] => piecesOf(addText(NO_TEXT, text));

class Splitter {
  readonly #text: string;
  readonly #done: Piece[];
  #fence: Fence | undefined;
  #gap: boolean;
  /** Where the current piece begins. */
  #from = 0;
  #isBlankBefore = false;

  constructor({ done, tail, fence, gap }: SplitText, more: string) {
    this.#text = tail + more;
    this.#done = [...done];
    this.#fence = fence;
    this.#gap = gap;
  }

  run(isEnd: boolean): SplitText {
    const text = this.#text;
    let at = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", at)) {
      this.#line(text.slice(at, end), at, end + 1);
      at = end + 1;
    }
    if (isEnd) {
      if (at < text.length) this.#line(text.slice(at), at, text.length);
      this.#emit(text.length);
    } else if (text.length - this.#from > MAX_TABLE) {
      // One endless line.
      this.#emit(cutBefore(text, this.#from, text.length));
    }
    return { done: this.#done, tail: isEnd ? "" : text.slice(this.#from), fence: this.#fence, gap: this.#gap };
  }

  #line(line: string, at: number, next: number): void {
    const fence = this.#fence;
    const found = line.length <= 160 ? FENCE.exec(line) : null;
    if (fence) {
      if (found?.[2]?.startsWith(fence.mark) && found[2].length >= fence.length && found[3]?.trim() === "") {
        this.#emit(at);
        this.#fence = undefined;
        this.#from = next;
        this.#gap = true;
      } else if (next - this.#from > MAX_CODE) this.#emit(next);
      return;
    }
    if (found) {
      this.#emit(at);
      const mark = found[2] ?? "";
      this.#fence = {
        mark: mark.slice(0, 1),
        length: mark.length,
        indent: found[1]?.length ?? 0,
        language: (found[3] ?? "").trim().split(/\s/u)[0] ?? "",
        isFirst: true,
      };
      this.#from = next;
      this.#isBlankBefore = false;
      return;
    }
    const isBlank = line.trim() === "";
    // What is indented may belong to the list above the empty line.
    if (!isBlank && this.#isBlankBefore && !line.startsWith(" ")) {
      this.#emit(at);
      this.#gap = true;
    }
    this.#isBlankBefore = isBlank;
    const limit = line.startsWith("|") ? MAX_TABLE : MAX_MARKDOWN;
    if (next - this.#from > limit) this.#emit(next);
  }

  #emit(to: number): void {
    const text = this.#text.slice(this.#from, to);
    this.#from = to;
    const fence = this.#fence;
    if (fence) {
      this.#fence = { ...fence, isFirst: false };
      if (text === "" && !fence.isFirst) return;
      const code = text.endsWith("\n") ? text.slice(0, -1) : text;
      const lines = fence.indent === 0 ? code : outdented(code, fence.indent);
      const { language, isFirst } = fence;
      this.#done.push({ kind: "code", language, text: lines as CleanText, isFirst, gap: isFirst });
      return;
    }
    const trimmed = trimChars(text, "\n");
    if (trimmed.trim() === "") return;
    this.#done.push({ kind: "markdown", text: trimmed as CleanText, gap: this.#gap });
    this.#gap = false;
  }
}

const outdented = (code: string, indent: number): string =>
  code
    .split("\n")
    .map((line) => line.slice(Math.min(indent, line.length - line.trimStart().length)))
    .join("\n");

/** Behind the last space, so that no word is cut, or at the end. */
function cutBefore(text: string, from: number, to: number): number {
  const space = text.lastIndexOf(" ", to);
  return space > from + MAX_MARKDOWN ? space + 1 : to;
}

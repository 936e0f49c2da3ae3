/**
 * The text of a run as one stream, for protocols that cannot take text back. When the model starts a step again and
 * repeats the same text, the stream continues; when it produces another text, the text already sent is void.
 */
import type { RunEvent } from "../../../engine/runtime/run-events.ts";

/** What to send next; `void` means that the text sent so far is not the answer. */
export type NextText = { readonly send: string } | { readonly void: true };

const STEP_SEPARATOR = "\n\n";
const NOTHING: NextText = { send: "" };

export class StreamedText {
  /** What was sent of the current step. */
  #sent = "";
  /** After a restart: how much of what was sent the new attempt has repeated. */
  #repeated: number | undefined;
  #sentAny = false;

  onEvent(event: RunEvent): NextText {
    switch (event.type) {
      case "restart":
        this.#repeated = 0;
        return NOTHING;
      case "step":
        this.#sent = "";
        this.#repeated = undefined;
        return NOTHING;
      case "delta":
        if (event.stream !== "text") return NOTHING;
        return this.#repeated === undefined ? this.#append(event.text) : this.#repeat(this.#repeated, event.text);
      default:
        return NOTHING;
    }
  }

  /** The run has ended with this text: returns the part that was not sent. */
  onEnd(text: string): NextText {
    if (text.startsWith(this.#sent)) return this.#append(text.slice(this.#sent.length));
    return text === "" || this.#sent.trim() === text.trim() ? NOTHING : { void: true };
  }

  /** Compares only the new piece: comparing all of the text at every piece would be quadratic (L14). */
  #repeat(from: number, piece: string): NextText {
    const left = this.#sent.length - from;
    if (piece.length < left) {
      this.#repeated = from + piece.length;
      return this.#sent.startsWith(piece, from) ? NOTHING : { void: true };
    }
    if (!this.#sent.endsWith(piece.slice(0, left))) return { void: true };
    this.#repeated = undefined;
    return this.#append(piece.slice(left));
  }

  #append(text: string): NextText {
    const startsStep = this.#sent === "" && this.#sentAny && text !== "";
    this.#sent += text;
    this.#sentAny ||= text !== "";
    return { send: startsStep ? STEP_SEPARATOR + text : text };
  }
}

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
  /** After a restart: the text of the new attempt, until it is as long as what was sent. */
  #repeated: string | undefined;
  #sentAny = false;

  onEvent(event: RunEvent): NextText {
    switch (event.type) {
      case "restart":
        this.#repeated = "";
        return NOTHING;
      case "step":
        this.#sent = "";
        this.#repeated = undefined;
        return NOTHING;
      case "delta":
        if (event.stream !== "text") return NOTHING;
        return this.#repeated === undefined ? this.#append(event.text) : this.#repeat(this.#repeated + event.text);
      default:
        return NOTHING;
    }
  }

  /** The run has ended with this text: returns the part that was not sent. */
  onEnd(text: string): NextText {
    if (text.startsWith(this.#sent)) return this.#append(text.slice(this.#sent.length));
    return text === "" || this.#sent.trim() === text.trim() ? NOTHING : { void: true };
  }

  #repeat(text: string): NextText {
    this.#repeated = text;
    if (text.length < this.#sent.length) return this.#sent.startsWith(text) ? NOTHING : { void: true };
    if (!text.startsWith(this.#sent)) return { void: true };
    this.#repeated = undefined;
    return this.#append(text.slice(this.#sent.length));
  }

  #append(text: string): NextText {
    const startsStep = this.#sent === "" && this.#sentAny && text !== "";
    this.#sent += text;
    this.#sentAny ||= text !== "";
    return { send: startsStep ? STEP_SEPARATOR + text : text };
  }
}

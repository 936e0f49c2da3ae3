/**
 * The text of a run as one stream, for protocols that cannot take back what was sent. Text that is begun anew goes on where
 * it is the same; where it is not, whoever reads must be told that what it has is void.
 */
import type { RunEvent } from "../../../engine/runtime/run-events.ts";

/** What to send next; `void`: what was sent so far is not what the run says. */
export type Next = { readonly send: string } | { readonly void: true };

const BETWEEN_STEPS = "\n\n";

export class StreamedText {
  /** What was sent of the step under way. */
  #sent = "";
  /** Since a restart: what the new try has said, until it has caught up with what was sent. */
  #again: string | undefined;
  #any = false;

  told(event: RunEvent): Next {
    switch (event.type) {
      case "restart":
        this.#again = "";
        return { send: "" };
      case "step":
        // The next step says something new.
        this.#sent = "";
        this.#again = undefined;
        return { send: "" };
      case "delta":
        if (event.stream !== "text") return { send: "" };
        return this.#again === undefined ? this.#more(event.text) : this.#catchUp(this.#again + event.text);
      default:
        return { send: "" };
    }
  }

  /** The run has ended with this text; what is missing of it. */
  ended(text: string): Next {
    if (text.startsWith(this.#sent)) return this.#more(text.slice(this.#sent.length));
    return text === "" || this.#sent.trim() === text.trim() ? { send: "" } : { void: true };
  }

  #catchUp(said: string): Next {
    this.#again = said;
    if (said.length < this.#sent.length) return this.#sent.startsWith(said) ? { send: "" } : { void: true };
    if (!said.startsWith(this.#sent)) return { void: true };
    this.#again = undefined;
    return this.#more(said.slice(this.#sent.length));
  }

  #more(text: string): Next {
    const begins = this.#sent === "" && this.#any && text !== "";
    this.#sent += text;
    this.#any ||= text !== "";
    return { send: begins ? BETWEEN_STEPS + text : text };
  }
}

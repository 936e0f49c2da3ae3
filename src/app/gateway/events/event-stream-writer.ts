/**
 * One open stream to one reader. What a slow reader has not taken waits in a bounded buffer, pieces of text joined; who
 * takes nothing for too long, or falls too far behind, is let go and comes back with the last id it has seen.
 */
import type { ServerResponse } from "node:http";

export interface Frame {
  /** Frames that follow each other with the same word may be joined: their texts are put together. */
  readonly joins?: string;
  readonly text: string;
  /** The bytes to write, from the (joined) text. */
  render(text: string): string;
}

export interface EventStreamOptions {
  readonly bufferBytes: number;
  readonly stalledMs: number;
  readonly after: (ms: number, callback: () => void) => () => void;
}

export type CloseReason = "done" | "gone" | "slow" | "revoked" | "shutdown";

export class EventStreamWriter {
  readonly #response: ServerResponse;
  readonly #options: EventStreamOptions;
  #pending: { frame: Frame; text: string }[] = [];
  #pendingLength = 0;
  #stalled: (() => void) | undefined;
  #closed: CloseReason | undefined;
  readonly #onClose = new Set<(reason: CloseReason) => void>();

  constructor(response: ServerResponse, options: EventStreamOptions) {
    this.#response = response;
    this.#options = options;
    response.on("drain", () => this.#flush());
    response.on("close", () => this.#ended(response.writableFinished ? "done" : "gone"));
    response.on("error", () => this.#ended("gone"));
  }

  get closed(): CloseReason | undefined {
    return this.#closed;
  }

  onClose(listener: (reason: CloseReason) => void): void {
    if (this.#closed) listener(this.#closed);
    else this.#onClose.add(listener);
  }

  write(frame: Frame): void {
    if (this.#closed) return;
    if (this.#pending.length === 0 && !this.#congested()) {
      this.#response.write(frame.render(frame.text));
      return;
    }
    const last = this.#pending.at(-1);
    if (last && frame.joins !== undefined && last.frame.joins === frame.joins) {
      last.frame = frame;
      last.text += frame.text;
    } else this.#pending.push({ frame, text: frame.text });
    this.#pendingLength += frame.text.length + (frame.joins === undefined ? 200 : 0);
    if (this.#pendingLength > this.#options.bufferBytes) this.close("slow");
    else this.#stalled ??= this.#options.after(this.#options.stalledMs, () => this.close("slow"));
  }

  /** Writes what is left and ends, or breaks the connection off where the reader must notice. */
  close(reason: CloseReason): void {
    if (this.#closed) return;
    if (reason !== "done") {
      this.#ended(reason);
      if (reason !== "gone") this.#response.destroy();
      return;
    }
    const rest = this.#pending;
    this.#pending = [];
    this.#stalled?.();
    // A reader that never takes the rest does not keep us. The end is told when the last byte has left.
    const cancel = this.#options.after(this.#options.stalledMs, () => this.close("slow"));
    this.onClose(cancel);
    for (const { frame, text } of rest) this.#response.write(frame.render(text));
    this.#response.end();
  }

  #congested(): boolean {
    return this.#response.writableNeedDrain;
  }

  #flush(): void {
    this.#stalled?.();
    this.#stalled = undefined;
    while (this.#pending.length > 0 && !this.#congested()) {
      const next = this.#pending.shift();
      if (next) this.#response.write(next.frame.render(next.text));
    }
    this.#pendingLength = this.#pending.reduce((sum, { text }) => sum + text.length, 0);
    if (this.#pending.length > 0) {
      this.#stalled = this.#options.after(this.#options.stalledMs, () => this.close("slow"));
    }
  }

  #ended(reason: CloseReason): void {
    if (this.#closed) return;
    this.#closed = reason;
    this.#pending = [];
    this.#stalled?.();
    for (const listener of this.#onClose) listener(reason);
    this.#onClose.clear();
  }
}

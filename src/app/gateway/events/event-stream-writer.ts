/**
 * Writes one event stream to one reader. Frames that a slow reader has not read wait in a bounded buffer, pieces of text
 * joined. The stream of a reader that stalls, or falls too far behind, is cut; the reader reconnects with its last id.
 */
import type { ServerResponse } from "node:http";

export interface Frame {
  /** Consecutive frames with the same key may be joined: their texts are concatenated. */
  readonly joinKey?: string;
  readonly text: string;
  /** The bytes to write for the (joined) text. */
  render(text: string): string;
}

interface EventStreamOptions {
  readonly bufferBytes: number;
  readonly stalledMs: number;
  readonly after: (ms: number, callback: () => void) => () => void;
}

/** What a frame that is no piece of text counts for in the buffer. */
const FRAME_LENGTH = 200;

/** A server-sent event with an id and a JSON document. */
export const eventFrame = (event: string, id: string, data: object): Frame => ({
  text: "",
  render: () => `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
});

export type CloseReason = "done" | "gone" | "slow" | "revoked" | "shutdown";

export class EventStreamWriter {
  readonly #response: ServerResponse;
  readonly #options: EventStreamOptions;
  #pending: { frame: Frame; text: string; length: number }[] = [];
  #pendingLength = 0;
  #cancelStall: (() => void) | undefined;
  #closed: CloseReason | undefined;
  readonly #onClose = new Set<(reason: CloseReason) => void>();

  constructor(response: ServerResponse, options: EventStreamOptions) {
    this.#response = response;
    this.#options = options;
    response.on("drain", () => this.#flush());
    response.on("close", () => this.#finish(response.writableFinished ? "done" : "gone"));
    response.on("error", () => this.#finish("gone"));
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
    if (this.#pending.length === 0 && !this.#needsDrain()) {
      this.#response.write(frame.render(frame.text));
      return;
    }
    const length = frame.text.length + (frame.joinKey === undefined ? FRAME_LENGTH : 0);
    const last = this.#pending.at(-1);
    if (last && frame.joinKey !== undefined && last.frame.joinKey === frame.joinKey) {
      last.frame = frame;
      last.text += frame.text;
      last.length += length;
    } else this.#pending.push({ frame, text: frame.text, length });
    this.#pendingLength += length;
    if (this.#pendingLength > this.#options.bufferBytes) this.close("slow");
    else this.#cancelStall ??= this.#options.after(this.#options.stalledMs, () => this.close("slow"));
  }

  /** `done` writes the buffered frames and ends. Any other reason cuts the connection, so that the reader notices. */
  close(reason: CloseReason): void {
    if (this.#closed) return;
    if (reason !== "done") {
      this.#finish(reason);
      if (reason !== "gone") this.#response.destroy();
      return;
    }
    const rest = this.#pending;
    this.#pending = [];
    this.#cancelStall?.();
    // A reader that never reads the rest is cut. The listeners are called when the last byte has left.
    const cancel = this.#options.after(this.#options.stalledMs, () => this.close("slow"));
    this.onClose(cancel);
    for (const { frame, text } of rest) this.#response.write(frame.render(text));
    this.#response.end();
  }

  #needsDrain(): boolean {
    return this.#response.writableNeedDrain;
  }

  #flush(): void {
    this.#cancelStall?.();
    this.#cancelStall = undefined;
    while (this.#pending.length > 0 && !this.#needsDrain()) {
      const next = this.#pending.shift();
      if (next) this.#response.write(next.frame.render(next.text));
    }
    this.#pendingLength = this.#pending.reduce((sum, { length }) => sum + length, 0);
    if (this.#pending.length > 0) {
      this.#cancelStall = this.#options.after(this.#options.stalledMs, () => this.close("slow"));
    }
  }

  #finish(reason: CloseReason): void {
    if (this.#closed) return;
    this.#closed = reason;
    this.#pending = [];
    this.#cancelStall?.();
    for (const listener of this.#onClose) listener(reason);
    this.#onClose.clear();
  }
}

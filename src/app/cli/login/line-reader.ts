/** Lines that a person types or pipes in, one at a time. Reading starts with the first question and ends with `close`. */
import type { Input } from "../command.ts";

const MAX_LINE = 16_384;

export class LineReader {
  readonly #open: () => Input & { destroy?(): unknown };
  #input: (Input & { destroy?(): unknown }) | undefined;
  #text = "";
  #ended = false;
  #arrived = Promise.withResolvers<void>();

  constructor(open: () => Input) {
    this.#open = open;
  }

  /** The next line, trimmed. Undefined at the end of the input, or when the signal aborts. */
  async next(signal?: AbortSignal): Promise<string | undefined> {
    this.#start();
    const aborted = new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));
    for (;;) {
      if (signal?.aborted) return undefined;
      const end = this.#text.search(/[\r\n]/u);
      if (end !== -1 || this.#ended) {
        const line = this.#text.slice(0, end === -1 ? undefined : end);
        this.#text = end === -1 ? "" : this.#text.slice(end + 1).replace(/^\n/u, "");
        return end === -1 && line === "" ? undefined : line.trim();
      }
      await Promise.race([this.#arrived.promise, aborted]);
    }
  }

  /** A process that waits for input does not end by itself. */
  close(): void {
    this.#ended = true;
    this.#input?.destroy?.();
  }

  #start(): void {
    if (this.#input) return;
    this.#input = this.#open();
    void this.#read(this.#input).catch(() => undefined);
  }

  async #read(input: Input): Promise<void> {
    try {
      for await (const chunk of input) {
        this.#text = (this.#text + (typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8"))).slice(
          -MAX_LINE,
        );
        this.#wake();
        if (this.#ended) break;
      }
    } finally {
      this.#ended = true;
      this.#wake();
    }
  }

  #wake(): void {
    this.#arrived.resolve();
    this.#arrived = Promise.withResolvers<void>();
  }
}

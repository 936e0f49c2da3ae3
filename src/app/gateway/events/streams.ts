/** The streams that are open, by the token that opened them: counted, limited, and closed when their token is revoked. */
import type { Principal } from "../auth/principal.ts";
import type { CloseReason } from "./event-stream-writer.ts";

export interface OpenStream {
  close(reason: CloseReason): void;
}

export interface StreamLimits {
  readonly streams: number;
  readonly streamsPerToken: number;
}

export class Streams {
  readonly #limits: () => StreamLimits;
  readonly #open = new Map<string, Set<OpenStream>>();
  #count = 0;

  constructor(limits: () => StreamLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#count;
  }

  /** Whether one more may be opened. */
  hasRoom({ id }: Principal): boolean {
    const { streams, streamsPerToken } = this.#limits();
    return this.#count < streams && (this.#open.get(id)?.size ?? 0) < streamsPerToken;
  }

  /** Counts a stream in. Returns how to count it out. */
  enter({ id }: Principal, stream: OpenStream): () => void {
    const own = this.#open.get(id) ?? new Set();
    this.#open.set(id, own);
    own.add(stream);
    this.#count += 1;
    return () => {
      if (!own.delete(stream)) return;
      this.#count -= 1;
      if (own.size === 0 && this.#open.get(id) === own) this.#open.delete(id);
    };
  }

  /** Closes what these tokens have open. */
  closeOf(ids: readonly string[], reason: CloseReason): void {
    for (const id of ids) for (const stream of [...(this.#open.get(id) ?? [])]) stream.close(reason);
  }

  closeAll(reason: CloseReason): void {
    this.closeOf([...this.#open.keys()], reason);
  }
}

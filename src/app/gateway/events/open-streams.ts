/** The open streams by the token that opened them: counted, limited, and closed when the token is revoked. */
import type { Principal } from "../auth/principal.ts";
import type { CloseReason } from "./event-stream-writer.ts";

interface OpenStream {
  close(reason: CloseReason): void;
}

interface StreamLimits {
  readonly streams: number;
  readonly streamsPerToken: number;
}

export class OpenStreams {
  readonly #limits: () => StreamLimits;
  readonly #byToken = new Map<string, Set<OpenStream>>();
  #count = 0;

  constructor(limits: () => StreamLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#count;
  }

  /** Whether this token may open one more. */
  hasRoom({ id }: Principal): boolean {
    const { streams, streamsPerToken } = this.#limits();
    return this.#count < streams && (this.#byToken.get(id)?.size ?? 0) < streamsPerToken;
  }

  /** Returns a function that removes the stream. */
  add({ id }: Principal, stream: OpenStream): () => void {
    const own = this.#byToken.get(id) ?? new Set();
    this.#byToken.set(id, own);
    own.add(stream);
    this.#count += 1;
    return () => {
      if (!own.delete(stream)) return;
      this.#count -= 1;
      if (own.size === 0 && this.#byToken.get(id) === own) this.#byToken.delete(id);
    };
  }

  /** Closes all streams of these tokens. */
  closeOf(tokenIds: readonly string[], reason: CloseReason): void {
    for (const id of tokenIds) for (const stream of [...(this.#byToken.get(id) ?? [])]) stream.close(reason);
  }

  closeAll(reason: CloseReason): void {
    this.closeOf([...this.#byToken.keys()], reason);
  }
}

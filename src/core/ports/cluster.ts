/** What nodes that share a store use to reach each other. Only a shared store provides them. */

/** Sends short texts between processes. Not durable: a text is lost if no process listens or the connection breaks. */
export interface Relay {
  /** The largest text that `send` takes, in bytes. A larger one is dropped. */
  readonly maxBytes: number;
  /** Sends to one process, named as in `listen`, or to all others. The queue is bounded: when it is full the text is dropped. */
  send(text: string, to?: string): void;
  /** `onGap` is called after a reconnect: every text sent in between is lost. Returns a function that stops listening. */
  listen(onText: (text: string, from: string) => void, onGap?: () => void): () => void;
}

/** Named locks. At most one process holds a name, and a process that dies releases its names. */
export interface Leases {
  /** True if this process holds the name from now on, until `release`. `onLost` is called if the connection that holds it breaks. */
  tryHold(name: string, onLost: () => void): Promise<boolean>;
  release(name: string): Promise<void>;
}

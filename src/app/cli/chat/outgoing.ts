/**
 * Sends what the person types: in order, each again until an engine has accepted it. A message has a key, so it is accepted once
 * (L1). Then it follows what became of the message.
 */
import { setTimeout as pause } from "node:timers/promises";
import { type EngineApi, newKey, pathOf } from "../../client/engine-api.ts";
import { type Attachment, storeFiles } from "./attachments.ts";
import type { ChatLog } from "./chat-log.ts";
import type { Settled } from "./chat-state.ts";
import { clean } from "./clean-text.ts";
import { patchPending, withoutPending, withPending, withSettled } from "./pending.ts";
import type { Conversation } from "./terminal-info.ts";

interface Sent {
  readonly agentId: string;
  readonly seq: number;
}

interface OutgoingOptions {
  readonly api: EngineApi;
  readonly conversation: Conversation;
  readonly log: ChatLog;
  /** Tries until the engine answers. */
  readonly insist: <T>(ask: () => Promise<T>, onLost?: () => void) => Promise<T>;
  /** Shows an error instead of throwing it. */
  readonly attempt: <T>(work: () => Promise<T>) => Promise<T | undefined>;
  readonly onAccepted: (sent: Sent) => Promise<unknown>;
  readonly onSettled: () => void;
  readonly closed: AbortSignal;
}

const SETTLE_SECONDS = 30;

export class Outgoing {
  readonly #options: OutgoingOptions;
  #sending: Promise<void> = Promise.resolve();
  #isLeft = false;

  constructor(options: OutgoingOptions) {
    this.#options = options;
  }

  send(text: string, files: () => Promise<readonly Attachment[]>): void {
    const key = newKey();
    this.#options.log.update((state) => withPending(state, { key, text: clean(text), state: "sending" }));
    this.#sending = this.#sending.then(() => this.#deliver(key, text, files));
  }

  /** Waits until everything is accepted. Returns what could not be sent in time. */
  async leave(withinMs: number): Promise<readonly string[]> {
    this.#isLeft = true;
    const sent = new AbortController();
    const late = pause(withinMs, undefined, { signal: sent.signal }).catch(() => undefined);
    await Promise.race([this.#sending, late]);
    sent.abort();
    return this.#options.log.state.pending.filter(({ state }) => state !== "accepted").map(({ text }) => text);
  }

  async #deliver(key: string, text: string, attached: () => Promise<readonly Attachment[]>): Promise<void> {
    const { api, log, conversation, attempt, insist, onAccepted } = this.#options;
    const { agent, thread, to } = conversation;
    const post = async () => {
      const files = await storeFiles(api, await attached());
      const body = { agent, thread, to, text, files };
      return api.post<{ messages: readonly Sent[] }>("/api/terminal/messages", body, { id: key });
    };
    const hold = (): void => log.update((state) => patchPending(state, key, { state: "held" }));
    const sent = (await attempt(() => insist(post, hold)))?.messages.at(-1);
    if (!sent) {
      log.update((state) => withoutPending(state, key));
      return;
    }
    log.update((state) => patchPending(state, key, { state: "accepted", seq: sent.seq }));
    if (this.#isLeft) return;
    await onAccepted(sent);
    void this.#settle(key, sent);
  }

  async #settle(key: string, { agentId, seq }: Sent): Promise<void> {
    const { api, log, insist, closed, onSettled } = this.#options;
    const path = pathOf("api", "terminal", "messages", agentId, seq);
    for (;;) {
      const settled = await insist(() =>
        api.get<Settled & { settled: boolean }>(path, { waitSeconds: SETTLE_SECONDS }),
      ).catch(() => undefined);
      if (!settled || closed.aborted) return;
      if (!settled.settled) continue;
      // What a run was asked and said comes with the stream, which may be a little later.
      log.update((state) => withSettled(state, key, settled));
      onSettled();
      return;
    }
  }
}

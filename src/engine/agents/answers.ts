/**
 * Waits for the end of messages: of one that is posted for this purpose, or of one that was accepted before, on any node.
 * A wait that belongs to a run is an edge in the store. An edge that would close a cycle is refused, and a run that waits
 * holds no place in a lane (M11).
 */

import { CommitUnknownError, errorText, NotFoundError, RookeryError, WaitCycleError } from "../../core/errors.ts";
import { type AgentId, messageId } from "../../core/ids.ts";
import { isSettled, type Message, type MessageState } from "../../core/message/message.ts";
import { sleep } from "../../core/ports/clock.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { RunResult } from "../../core/run/run.ts";
import type { Op, Recipient } from "../../core/store/change.ts";
import { submit } from "../commit/submit.ts";
import type { AcceptResult } from "../inbox/accept.ts";
import { readRunResult } from "../runs/run-result.ts";
import { Waits } from "../runs/waits.ts";
import type { ActorRegistry } from "./actor/actor-registry.ts";
import type { Asking, MessageIngress, PostRequest } from "./message-ingress.ts";

export interface Waiting {
  readonly timeoutMs?: number;
  /** The agent whose run waits. Its place in a lane is free until the answer (M11). */
  readonly from?: AgentId;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
  /** The id of the wait. A caller that gives one commits its `wait.end`. */
  readonly edge?: string;
  /** The timeout counts from the message's acceptance, so that a wait resumed after a restart is not longer. */
  readonly sinceAccepted?: boolean;
}

/** The end of a message. Without a result if no run took it (a reset, a silent message). */
export interface Answer {
  readonly result: RunResult | undefined;
  /** The state of a message that ended without a result. */
  readonly ended?: { readonly state: MessageState; readonly reason?: string };
}

/** Calls back when a run of an agent ends on another node. Returns how to stop. */
export interface AwaitEnds {
  awaitEnd(agentId: AgentId, ended: () => void): () => void;
}

export const DEFAULT_WAIT_MS = 30_000;
const POST_TRIES = 5;
const RETRY_MS = 100;
const POLL_MS = 1_000;

export class Answers {
  readonly #ports: Ports;
  readonly #ingress: MessageIngress;
  readonly #actors: ActorRegistry;
  readonly #remoteNodes: AwaitEnds | undefined;
  readonly #waits: Waits<Answer>;
  readonly #abandoned = new AbortController();
  #pause: Promise<void> | undefined;

  constructor(ports: Ports, ingress: MessageIngress, actors: ActorRegistry, remoteNodes: AwaitEnds | undefined) {
    this.#remoteNodes = remoteNodes;
    this.#ports = ports;
    this.#ingress = ingress;
    this.#actors = actors;
    this.#waits = new Waits(ports.clock);
  }

  /** A message was settled on this node. */
  settle({ agentId, seq }: { agentId: AgentId; seq: number }, result: RunResult | undefined): void {
    this.#waits.settle(messageId(agentId, seq), { result });
  }

  /** The program stops. The waits of runs resume after its restart. */
  suspend(): void {
    this.#waits.suspend();
  }

  /** Rejects every wait: this node settles nothing more, and no timer keeps the process alive. */
  abandon(): void {
    this.#waits.abandon();
    this.#abandoned.abort();
  }

  /** Waits until a message is settled. Without a result if it was settled before this call, or on another node. */
  waitForMessage({ agentId, seq }: { agentId: AgentId; seq: number }, timeoutMs: number): Promise<Answer> {
    const waiting = this.#waits.wait(messageId(agentId, seq), { timeoutMs });
    void this.#lookUp(agentId, seq);
    return waiting;
  }

  async postAndAwait(request: PostRequest, options: Waiting = {}): Promise<Answer> {
    const { timeoutMs = DEFAULT_WAIT_MS, from, signal, sinceAccepted } = options;
    const { ids, clock, store } = this.#ports;
    const actor = from && this.#actors.get(from);
    const runId = actor?.run?.id;
    const edge = options.edge ?? ids.uuid();
    let recipient: Recipient | undefined;
    const begin = (to: Recipient): readonly Op[] => {
      recipient = to;
      return from && runId ? [{ op: "wait.begin", id: edge, from, to, runId }] : [];
    };
    try {
      // A cycle is refused in the commit that would post the message: then nothing is posted.
      const posted = await this.#post(
        request,
        { begin, owner: actor?.asOwner, behalf: actor?.run?.body.behalf },
        signal,
      );
      if (posted.status === "stale") throw new NotFoundError("The message is older than its channel may deliver.");
      const { agentId, seq } = posted;
      const before = posted.status === "duplicate" ? await store.message(agentId, seq) : undefined;
      if (before && isSettled(before)) return await this.#answerTo(before);
      // Before a restart the address led to another agent: the wait is for that one.
      if (before && recipient && "agentId" in recipient && recipient.agentId !== agentId)
        await this.#beginWait(begin({ agentId }));
      const elapsed = before && sinceAccepted ? clock.now() - before.acceptedAt : 0;
      const wait = { timeoutMs: Math.max(0, timeoutMs - elapsed), signal, ofRun: runId !== undefined };
      const waiting = this.#waits.wait(messageId(agentId, seq), wait);
      // It may have ended before this wait began, or on another node.
      void this.#lookUp(agentId, seq, posted.status === "accepted");
      const answer = await (actor ? actor.outsideLane(waiting) : waiting);
      return answer.result ? answer : await this.#answerTo(await store.message(agentId, seq));
    } finally {
      // A caller that gives the edge ends it in the commit that stores its own result.
      if (runId && options.edge === undefined) await this.#endWait(edge);
    }
  }

  /**
   * Posts again with the same key if the store did not answer: it is the same message. If a first attempt may still be
   * applied, its unknown outcome is thrown, not the refusal of a later attempt.
   */
  async #post(request: PostRequest, asking: Asking, signal: AbortSignal | undefined): Promise<AcceptResult> {
    let unknown: CommitUnknownError | undefined;
    for (let tries = 1; ; tries++) {
      try {
        return await this.#ingress.post(request, asking);
      } catch (error) {
        if (error instanceof CommitUnknownError) unknown = error;
        const mayPass = error instanceof RookeryError && error.retryable;
        if (!mayPass || !asking.owner || request.key === undefined || tries >= POST_TRIES) throw unknown ?? error;
        await sleep(this.#ports.clock, RETRY_MS * 2 ** tries, signal);
        if (signal?.aborted) throw error;
      }
    }
  }

  async #beginWait(ops: readonly Op[]): Promise<void> {
    if (ops.length === 0) return;
    const done = await submit(this.#ports, "wait.begin", ops);
    if (!done.ok) throw new WaitCycleError(done.detail);
  }

  /** An edge that stays behind ends with its run. */
  async #endWait(id: string): Promise<void> {
    await submit(this.#ports, "wait.end", [{ op: "wait.end", id }]).catch((error) =>
      this.#ports.log.warn("a wait could not be ended", { error: errorText(error) }),
    );
  }

  async #answerTo(message: Message | undefined): Promise<Answer> {
    if (!message) return { result: undefined };
    const { runId, state, reason } = message;
    const result = runId && (await readRunResult(this.#ports.store, runId));
    return result ? { result } : { result: undefined, ended: { state, reason } };
  }

  /** Polls the store until the wait is over. */
  async #lookUp(agentId: AgentId, seq: number, isNew = false): Promise<void> {
    const key = messageId(agentId, seq);
    let stop: (() => void) | undefined;
    let nudge = Promise.withResolvers<void>();
    // A message that was accepted just now for an agent of this node is settled here.
    if (isNew && this.#actors.get(agentId)) await this.#soon();
    while (this.#waits.has(key)) {
      try {
        const message = await this.#ports.store.message(agentId, seq);
        // A message that no longer exists was settled and then pruned.
        if (!message || isSettled(message)) {
          this.#waits.settle(key, await this.#answerTo(message));
          break;
        }
        if (!this.#actors.get(agentId)) stop ??= this.#remoteNodes?.awaitEnd(agentId, () => nudge.resolve());
      } catch (error) {
        this.#ports.log.warn("could not read a message", { id: key, error: errorText(error) });
      }
      await Promise.race([this.#soon(), nudge.promise]);
      nudge = Promise.withResolvers();
    }
    stop?.();
  }

  /** One timer for all waits. */
  #soon(): Promise<void> {
    this.#pause ??= sleep(this.#ports.clock, POLL_MS, this.#abandoned.signal).then(() => {
      this.#pause = undefined;
    });
    return this.#pause;
  }
}

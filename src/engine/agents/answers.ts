/**
 * Waits for what becomes of messages: of one that is posted for the purpose, or of one that was accepted before, on whichever
 * node it is worked on. A wait that a run makes is kept by the store, is refused where it would close a circle, and holds no
 * place in a lane (M11).
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
  /** The agent whose run waits: others must not wait for it in a circle, and its place in a lane is free meanwhile (M11). */
  readonly from?: AgentId;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
  /** The wait's own name; whoever gives one commits its `wait.end`. */
  readonly edge?: string;
  /** The time runs from the message's acceptance, not from this call: a wait taken up again is not longer than one that was not. */
  readonly sinceAccepted?: boolean;
}

/** What waiting for a message's end gives. Without a run where none was needed (a reset, a silent message). */
export interface Answer {
  readonly result: RunResult | undefined;
  /** What became of the message, where there is no result to tell it. */
  readonly ended?: { readonly state: MessageState; readonly reason?: string };
}

/** Says when a run of an agent has ended on another node, so that whoever waits looks at once. Returns how to stop. */
export interface AwaitEnds {
  awaitEnd(agentId: AgentId, ended: () => void): () => void;
}

export const DEFAULT_WAIT_MS = 30_000;
const ASK_TRIES = 5;
const ASK_AGAIN_MS = 100;
const LOOK_AGAIN_MS = 1_000;

export class Answers {
  readonly #ports: Ports;
  readonly #ingress: MessageIngress;
  readonly #actors: ActorRegistry;
  readonly #remoteNodes: AwaitEnds | undefined;
  readonly #waits: Waits<Answer>;
  readonly #gone = new AbortController();
  #pause: Promise<void> | undefined;

  constructor(ports: Ports, ingress: MessageIngress, actors: ActorRegistry, remoteNodes: AwaitEnds | undefined) {
    this.#remoteNodes = remoteNodes;
    this.#ports = ports;
    this.#ingress = ingress;
    this.#actors = actors;
    this.#waits = new Waits(ports.clock);
  }

  /** A message was settled here, with this result where a run took it. */
  settle({ agentId, seq }: { agentId: AgentId; seq: number }, result: RunResult | undefined): void {
    this.#waits.settle(messageId(agentId, seq), { result });
  }

  /** The program stops: the waits of runs go on after its restart. */
  suspend(): void {
    this.#waits.suspend();
  }

  /** Nobody will settle anything here any more: who waits learns it now, and nothing keeps the process from ending. */
  abandon(): void {
    this.#waits.abandon();
    this.#gone.abort();
  }

  /** Waits until a message is settled. Without a result where that was before we began to wait, or on another node. */
  toMessage({ agentId, seq }: { agentId: AgentId; seq: number }, timeoutMs: number): Promise<Answer> {
    const waiting = this.#waits.wait(messageId(agentId, seq), { timeoutMs });
    void this.#lookUp(agentId, seq);
    return waiting;
  }

  async toPosting(posting: PostRequest, options: Waiting = {}): Promise<Answer> {
    const { timeoutMs = DEFAULT_WAIT_MS, from, signal, sinceAccepted } = options;
    const { ids, clock, store } = this.#ports;
    const actor = from && this.#actors.get(from);
    const runId = actor?.run?.id;
    const edge = options.edge ?? ids.uuid();
    let meant: Recipient | undefined;
    const begin = (to: Recipient): readonly Op[] => {
      meant = to;
      return from && runId ? [{ op: "wait.begin", id: edge, from, to, runId }] : [];
    };
    try {
      // A circle is refused in the commit that would post the message: then nothing is posted.
      const posted = await this.#ask(posting, { begin, owner: actor?.asOwner }, signal);
      if (posted.status === "stale") throw new NotFoundError("The message is older than its channel may deliver.");
      const { agentId, seq } = posted;
      const before = posted.status === "duplicate" ? await store.message(agentId, seq) : undefined;
      if (before && isSettled(before)) return await this.#answerTo(before);
      // Asked before a restart under a name that means somebody else by now: it is the first one who is waited for.
      if (before && meant && "agentId" in meant && meant.agentId !== agentId) await this.#beginWait(begin({ agentId }));
      const gone = before && sinceAccepted ? clock.now() - before.acceptedAt : 0;
      const wait = { timeoutMs: Math.max(0, timeoutMs - gone), signal, ofRun: runId !== undefined };
      const waiting = this.#waits.wait(messageId(agentId, seq), wait);
      // It may have ended before we began to wait, or on another node.
      void this.#lookUp(agentId, seq, posted.status === "accepted");
      const answer = await (actor ? actor.outsideLane(waiting) : waiting);
      return answer.result ? answer : await this.#answerTo(await store.message(agentId, seq));
    } finally {
      // A caller that names the edge ends it together with what it makes of the answer.
      if (runId && options.edge === undefined) await this.#endWait(edge);
    }
  }

  /**
   * A run's question that has a key is asked again where the store did not answer: it is the same question. One that may still
   * be on its way is not told as refused, whatever is said of it when it is asked again.
   */
  async #ask(posting: PostRequest, asking: Asking, signal: AbortSignal | undefined): Promise<AcceptResult> {
    let unknown: CommitUnknownError | undefined;
    for (let tries = 1; ; tries++) {
      try {
        return await this.#ingress.post(posting, asking);
      } catch (error) {
        if (error instanceof CommitUnknownError) unknown = error;
        const passes = error instanceof RookeryError && error.retryable;
        if (!passes || !asking.owner || posting.key === undefined || tries >= ASK_TRIES) throw unknown ?? error;
        await sleep(this.#ports.clock, ASK_AGAIN_MS * 2 ** tries, signal);
        if (signal?.aborted) throw error;
      }
    }
  }

  async #beginWait(ops: readonly Op[]): Promise<void> {
    if (ops.length === 0) return;
    const done = await submit(this.#ports, "wait.begin", ops);
    if (!done.ok) throw new WaitCycleError(done.detail);
  }

  /** An edge that is left behind ends with its run. */
  async #endWait(id: string): Promise<void> {
    await submit(this.#ports, "wait.end", [{ op: "wait.end", id }]).catch((error) =>
      this.#ports.log.warn("a wait could not be ended", { error: errorText(error) }),
    );
  }

  async #answerTo(message: Message | undefined): Promise<Answer> {
    if (!message) return { result: undefined };
    const { runId, state, reason } = message;
    const result = runId && (await readRunResult(this.#ports.store, runId));
    return result ? { result } : { result: undefined, ended: { state, ...(reason ? { reason } : {}) } };
  }

  /** Looks in the store as long as somebody waits. */
  async #lookUp(agentId: AgentId, seq: number, isNew = false): Promise<void> {
    const key = messageId(agentId, seq);
    let stop: (() => void) | undefined;
    let nudge = Promise.withResolvers<void>();
    // What was accepted just now and is worked on here is told here.
    if (isNew && this.#actors.get(agentId)) await this.#soon();
    while (this.#waits.has(key)) {
      try {
        const message = await this.#ports.store.message(agentId, seq);
        // One that is no longer there was settled and has been pruned since.
        if (!message || isSettled(message)) {
          this.#waits.settle(key, await this.#answerTo(message));
          break;
        }
        if (!this.#actors.get(agentId)) stop ??= this.#remoteNodes?.awaitEnd(agentId, () => nudge.resolve());
      } catch (error) {
        this.#ports.log.warn("could not look a message up", { id: key, error: errorText(error) });
      }
      await (stop ? Promise.race([this.#soon(), nudge.promise]) : this.#soon());
      nudge = Promise.withResolvers();
    }
    stop?.();
  }

  /** One timer for all who wait, however many. */
  #soon(): Promise<void> {
    this.#pause ??= sleep(this.#ports.clock, LOOK_AGAIN_MS, this.#gone.signal).then(() => {
      this.#pause = undefined;
    });
    return this.#pause;
  }
}

/**
 * What happens inside runs, told to whoever listens. Numbered per run, not durable (M24): a new attempt says `restart`,
 * which voids what was streamed and not committed. A listener that throws or is slow harms nobody.
 */
import { errorText } from "../../core/errors.ts";
import type { CompactionReason } from "../../core/history/compaction-settings.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Log } from "../../core/ports/log.ts";
import type { RunResult } from "../../core/run/run.ts";

export type RunEventBody =
  | { readonly type: "start" }
  | { readonly type: "restart"; readonly attempt: number }
  | { readonly type: "delta"; readonly stream: "text" | "thinking"; readonly text: string }
  | { readonly type: "tool_start"; readonly callId: string; readonly name: string }
  | { readonly type: "tool_update"; readonly callId: string; readonly text: string }
  | { readonly type: "tool_end"; readonly callId: string; readonly name: string; readonly isError: boolean }
  | { readonly type: "step" }
  | { readonly type: "compaction_start"; readonly reason: CompactionReason }
  /** `text`: what was done, in one readable line; or why nothing was. */
  | { readonly type: "compaction_end"; readonly compacted: boolean; readonly text: string }
  | { readonly type: "end"; readonly result: RunResult }
  | { readonly type: "error"; readonly message: string };

/** The run an event belongs to, and how far that run had come. */
export interface RunPosition {
  readonly agentId: AgentId;
  readonly runId: RunId;
  readonly attempt: number;
  readonly step: number;
}

export type RunEvent = RunEventBody &
  RunPosition & {
    /** Grows by one with each event of the run within one attempt's process. */
    readonly seq: number;
  };

export type RunListener = (event: RunEvent) => void;

export class RunEvents {
  readonly #log: Log;
  readonly #listeners = new Set<RunListener>();
  readonly #ownListeners = new Set<RunListener>();
  readonly #passedListeners = new Set<RunListener>();
  readonly #endListeners = new Set<RunListener>();
  readonly #seqs = new Map<RunId, number>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Returns how to stop listening. */
  listen(listener: RunListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** As `listen`, but without what was passed on from other nodes. */
  listenToOwn(listener: RunListener): () => void {
    this.#ownListeners.add(listener);
    return () => this.#ownListeners.delete(listener);
  }

  /** Only what was passed on from other nodes. */
  listenToPassed(listener: RunListener): () => void {
    this.#passedListeners.add(listener);
    return () => this.#passedListeners.delete(listener);
  }

  /** Only ends of runs, wherever they happened: who waits for no more makes nobody tell every word. */
  listenToEnds(listener: RunListener): () => void {
    this.#endListeners.add(listener);
    return () => this.#endListeners.delete(listener);
  }

  /** Tells listeners of an event that happened on another node, as it was numbered there. */
  pass(event: RunEvent): void {
    this.#tell(this.#passedListeners, event);
    this.#tell(this.#listeners, event);
    if (event.type === "end") this.#tell(this.#endListeners, event);
  }

  emit(position: RunPosition, body: RunEventBody): void {
    const seq = (this.#seqs.get(position.runId) ?? 0) + 1;
    if (body.type === "end") this.#seqs.delete(position.runId);
    else this.#seqs.set(position.runId, seq);
    const isEnd = body.type === "end";
    if (this.#listeners.size === 0 && this.#ownListeners.size === 0 && !isEnd) return;
    const event = { ...body, ...position, seq } as RunEvent;
    this.#tell(this.#ownListeners, event);
    this.#tell(this.#listeners, event);
    if (isEnd) this.#tell(this.#endListeners, event);
  }

  #tell(listeners: ReadonlySet<RunListener>, event: RunEvent): void {
    for (const listener of listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#log.warn("a listener of run events failed", { error: errorText(error) });
      }
    }
  }
}

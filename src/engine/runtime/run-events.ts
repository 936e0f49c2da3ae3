/**
 * The events of runs. Numbered per run, not durable (M24): a new attempt emits `restart`, which voids text that was streamed
 * and not committed. A listener that throws does not affect the run or other listeners.
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
  /** The run waits for an answer to this question. */
  | { readonly type: "approval"; readonly callId: string; readonly name: string; readonly approvalId: string }
  | { readonly type: "step" }
  | { readonly type: "compaction_start"; readonly reason: CompactionReason }
  /** `text`: the compaction in one readable line, or why there was none. */
  | { readonly type: "compaction_end"; readonly compacted: boolean; readonly text: string }
  | { readonly type: "end"; readonly result: RunResult }
  | { readonly type: "error"; readonly message: string };

/** The run an event belongs to, and that run's progress. */
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

  /** As `listen`, without events from other nodes. */
  listenToOwn(listener: RunListener): () => void {
    this.#ownListeners.add(listener);
    return () => this.#ownListeners.delete(listener);
  }

  /** Only events from other nodes. */
  listenToPassed(listener: RunListener): () => void {
    this.#passedListeners.add(listener);
    return () => this.#passedListeners.delete(listener);
  }

  /** Only the ends of runs, on any node. While no one listens for more, deltas are not built. */
  listenToEnds(listener: RunListener): () => void {
    this.#endListeners.add(listener);
    return () => this.#endListeners.delete(listener);
  }

  /** Passes on an event of another node, with its number there. */
  pass(event: RunEvent): void {
    this.#notify(this.#passedListeners, event);
    this.#notify(this.#listeners, event);
    if (event.type === "end") this.#notify(this.#endListeners, event);
  }

  emit(position: RunPosition, body: RunEventBody): void {
    const seq = (this.#seqs.get(position.runId) ?? 0) + 1;
    if (body.type === "end") this.#seqs.delete(position.runId);
    else this.#seqs.set(position.runId, seq);
    const isEnd = body.type === "end";
    if (this.#listeners.size === 0 && this.#ownListeners.size === 0 && !isEnd) return;
    const event = { ...body, ...position, seq } as RunEvent;
    this.#notify(this.#ownListeners, event);
    this.#notify(this.#listeners, event);
    if (isEnd) this.#notify(this.#endListeners, event);
  }

  #notify(listeners: ReadonlySet<RunListener>, event: RunEvent): void {
    for (const listener of listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#log.warn("a listener of run events failed", { error: errorText(error) });
      }
    }
  }
}

/** A run while it is being worked on: its record in memory, its state for whoever asks, and the way to end it. */

import type { AgentId, RunId, SessionId } from "../../core/ids.ts";
import type { AbortMark, RunBody, RunRecord, RunResult } from "../../core/run/run.ts";
import type { RunPosition } from "./run-events.ts";

import type { RunSetup, RunTime } from "./run-setup.ts";

export type RunState = "queued" | "active" | "streaming" | "compacting" | "ended";

/**
 * Why a live run is being ended from outside. `drain` only pauses it: it goes on after the restart. `lost`: the agent is no
 * longer ours, nothing may be committed any more.
 */
export type EndReason = AbortMark["reason"] | "drain" | "lost";

export class LiveRun {
  readonly id: RunId;
  readonly agentId: AgentId;
  readonly sessionId: SessionId;
  readonly startedAt: number;
  /** The step the store knows; every commit names it. */
  step: number;
  attempt: number;
  body: RunBody;
  state: RunState = "active";
  readonly limits: RunTime;
  /** Undefined before its first model call. */
  setup: RunSetup | undefined;
  readonly #end = new AbortController();
  readonly #stop = new AbortController();
  #reason: EndReason | undefined;

  constructor(
    record: Pick<RunRecord, "id" | "agentId" | "sessionId" | "startedAt" | "step" | "attempt" | "body">,
    limits: RunTime,
  ) {
    this.limits = limits;
    this.id = record.id;
    this.agentId = record.agentId;
    this.sessionId = record.sessionId;
    this.startedAt = record.startedAt;
    this.step = record.step;
    this.attempt = record.attempt;
    this.body = record.body;
  }

  /** What of its record never changes. */
  get identity(): Pick<RunRecord, "id" | "agentId" | "sessionId" | "startedAt"> {
    const { id, agentId, sessionId, startedAt } = this;
    return { id, agentId, sessionId, startedAt };
  }
  /** Where the run stands now: every event of it says so. */
  get position(): RunPosition {
    return { agentId: this.agentId, runId: this.id, attempt: this.attempt, step: this.step };
  }
  get signal(): AbortSignal {
    return this.#end.signal;
  }
  /** For tools: as `signal`, except that a drain lets them finish. */
  get toolSignal(): AbortSignal {
    return this.#stop.signal;
  }
  get endReason(): EndReason | undefined {
    return this.#reason;
  }

  /** Asks the run to end at once. The first reason stays, except that a drain gives way to a real end. */
  end(reason: EndReason): void {
    if (this.#reason === undefined || this.#reason === "drain") this.#reason = reason;
    this.#end.abort();
    if (reason !== "drain") this.#stop.abort();
  }

  /** A step was committed: progress, so the attempts start anew (M13). */
  stepped(body: RunBody): void {
    this.step += 1;
    this.attempt = 1;
    this.body = body;
  }

  /** What every commit of this run says of itself. */
  guard(evenAborted = false): { id: RunId; step: number; evenAborted?: boolean } {
    return { id: this.id, step: this.step, ...(evenAborted ? { evenAborted } : {}) };
  }
}

/** How a run left the loop: with a result, or set aside to go on later. */
export type RunExit = { readonly kind: "ended"; readonly result: RunResult } | { readonly kind: "paused" };

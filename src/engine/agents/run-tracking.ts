/**
 * Run states a caller can ask for, and waits that always settle: with the end, with the time being up, or at once with
 * "unknown" for an id nobody knows.
 */
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { RunOutcome, RunResult } from "../../core/run/run.ts";
import { readRunResult } from "../runs/run-result.ts";
import type { RunState } from "../runtime/live-run.ts";
import type { RunEvents } from "../runtime/run-events.ts";

export const DEFAULT_RUN_WAIT_MS = 15_000;
/** How often the store is asked about a run that another node works on. */
const ASK_MS = 500;

/** What is under way on this node. */
export interface LiveRuns {
  stateOf(runId: RunId): RunState | undefined;
}

export type RunEnd =
  | { readonly status: "ended"; readonly outcome: RunOutcome; readonly result?: RunResult }
  | { readonly status: "timeout"; readonly state: RunState }
  | { readonly status: "unknown" };

type TrackingPorts = Pick<Ports, "store" | "clock">;

/** Where a run stands, on whichever node; `unknown` where there is no such run. */
export async function runState({ store }: TrackingPorts, live: LiveRuns, runId: RunId): Promise<RunState | "unknown"> {
  const here = live.stateOf(runId);
  if (here) return here;
  const record = await store.run(runId);
  if (!record) return "unknown";
  return record.state === "ended" ? "ended" : "active";
}

/** Waits for a run's end. */
export async function waitForRun(
  ports: TrackingPorts,
  events: RunEvents,
  live: LiveRuns,
  runId: RunId,
  timeoutMs = DEFAULT_RUN_WAIT_MS,
): Promise<RunEnd> {
  const { promise, resolve } = Promise.withResolvers<RunEnd>();
  let open = true;
  const stop = events.listenToEnds((event) => {
    if (event.runId === runId && event.type === "end") {
      resolve({ status: "ended", outcome: event.result.outcome, result: event.result });
    }
  });
  const cancel = ports.clock.after(timeoutMs, () =>
    resolve({ status: "timeout", state: live.stateOf(runId) ?? "active" }),
  );
  const ask = async (): Promise<void> => {
    while (open) {
      const state = live.stateOf(runId);
      if (state === undefined || state === "ended") {
        const record = await ports.store.run(runId);
        if (!record && live.stateOf(runId) === undefined) return resolve({ status: "unknown" });
        if (record?.outcome) {
          const result = await readRunResult(ports.store, runId);
          return resolve({ status: "ended", outcome: record.outcome, ...(result ? { result } : {}) });
        }
      }
      await new Promise<void>((next) => ports.clock.after(ASK_MS, next));
    }
  };
  // A store that does not answer now may answer later; the wait still ends when its time is up.
  void ask().catch(() => undefined);
  try {
    return await promise;
  } finally {
    open = false;
    stop();
    cancel();
  }
}

/** What waits at an agent, and why. */
export interface WhatWaits {
  readonly agentId: AgentId;
  readonly run: { readonly id: RunId; readonly state: RunState } | undefined;
  readonly waiting: readonly {
    readonly seq: number;
    readonly kind: string;
    readonly text: string;
    readonly acceptedAt: number;
    readonly mode: string;
    /** What will become of it as things stand. */
    readonly will: string;
  }[];
  /** The newest that the queue dropped, each with its policy. */
  readonly dropped: readonly { readonly seq: number; readonly policy: string; readonly text: string }[];
}

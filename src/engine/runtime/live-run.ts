/**
 * A run while it is being worked on: its record in memory, its state, how to end it, and what it works with. It keeps the settings
 * of the moment when it was taken or resumed, so that a reload applies from the next run on (M37).
 */
import type { Settings } from "../../config/settings.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { SkillsSnapshot } from "../../core/agent/skills-snapshot.ts";
import type { SystemPromptReport } from "../../core/agent/system-prompt-report.ts";
import type { CompactionKind, ContextLimits, Thresholds } from "../../core/history/compaction-settings.ts";
import type { Usage } from "../../core/history/entry.ts";
import type { AgentId, RunId, SessionId } from "../../core/ids.ts";
import type { RunOverrides } from "../../core/message/run-overrides.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { JudgedCall } from "../../core/ports/gate.ts";
import type { ModelChoice, ModelTool } from "../../core/ports/model.ts";
import type { AbortMark, CallRecord, RunBody, RunRecord, RunResult } from "../../core/run/run.ts";
import type { RunTrial } from "../../core/run/trial.ts";
import type { RunState } from "../../core/run/what-waits.ts";
import type { RunPosition } from "./run-events.ts";
import { addUsage } from "./usage.ts";

/** Why a run is ended from outside. `drain`: it is paused and continues after the restart. `lost`: another node holds the agent; nothing may be committed. */
type EndReason = AbortMark["reason"] | "drain" | "lost";

export class LiveRun {
  readonly id: RunId;
  readonly agentId: AgentId;
  readonly sessionId: SessionId;
  readonly startedAt: number;
  /** The last step in the store; every commit names it. */
  step: number;
  attempt: number;
  body: RunBody;
  /** What earlier trials have shown. The next step clears it (M13). */
  trial: RunTrial | undefined;
  /** Called when a step was committed. */
  onStep: (() => void) | undefined;
  state: RunState = "active";
  readonly settings: Settings;
  readonly limits: RunTime;
  /** Undefined before its first model call. */
  setup: RunSetup | undefined;
  /** The ids of tool calls it must not use again; undefined until it first needs them. */
  callIds: Set<string> | undefined;
  /** What the gate has allowed its open calls, by their ids. */
  readonly allowed = new Map<string, JudgedCall>();
  /** The calls of its last answer that this process has started. */
  readonly started = new Set<string>();
  /** What was tried since its last answer to make its context smaller, without success. A crash forgets it. */
  readonly failedMeasures = new Set<CompactionKind>();
  /** The size of its context when each measure last failed, unless it has become smaller since. */
  readonly measuresFailedAt = new Map<CompactionKind, number>();
  readonly #end = new AbortController();
  readonly #stop = new AbortController();
  #reason: EndReason | undefined;

  constructor(
    record: Pick<RunRecord, "id" | "agentId" | "sessionId" | "startedAt" | "step" | "attempt" | "body">,
    settings: Settings,
    limits: RunTime,
  ) {
    this.settings = settings;
    this.limits = limits;
    this.id = record.id;
    this.agentId = record.agentId;
    this.sessionId = record.sessionId;
    this.startedAt = record.startedAt;
    this.step = record.step;
    this.attempt = record.attempt;
    this.body = record.body;
  }

  /** The part of its record that never changes. */
  get identity(): Pick<RunRecord, "id" | "agentId" | "sessionId" | "startedAt"> {
    const { id, agentId, sessionId, startedAt } = this;
    return { id, agentId, sessionId, startedAt };
  }
  /** The run's progress: part of every event. */
  get position(): RunPosition {
    return { agentId: this.agentId, runId: this.id, attempt: this.attempt, step: this.step };
  }
  /** The tool calls of its last turn that have no result yet. */
  get openCalls(): readonly CallRecord[] {
    return this.body.calls.filter(({ state }) => state !== "done");
  }
  get signal(): AbortSignal {
    return this.#end.signal;
  }
  /** For tools: as `signal`, but a drain lets them finish. */
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

  /** A step was committed. That is progress, so the attempts are counted from one again (M13). */
  stepped(body: RunBody): void {
    this.step += 1;
    this.attempt = 1;
    this.body = body;
    this.trial = undefined;
    this.onStep?.();
  }

  /** An answer with calls was committed: they have not started, and each measure for the context may be taken again (L10). */
  answered(body: RunBody): void {
    this.stepped(body);
    this.failedMeasures.clear();
    this.started.clear();
  }

  /** Counts a model call that left no entry. An answer is counted with its entry. */
  countLost(usage: Usage | undefined): void {
    if (usage) this.body = { ...this.body, usage: addUsage(this.body.usage, usage) };
  }

  /** The condition of every commit of this run. */
  guard(evenAborted = false): { id: RunId; step: number; evenAborted?: boolean } {
    return { id: this.id, step: this.step, evenAborted: evenAborted || undefined };
  }
}

/** How a run left the loop: with a result, paused until the restart, or suspended until a person decides (M31). */
export type RunExit =
  | { readonly kind: "ended"; readonly result: RunResult }
  | { readonly kind: "paused" }
  | { readonly kind: "suspended" };

/** How large a context may become with the model that answers. */
export interface ContextBounds {
  readonly limits: ContextLimits;
  readonly thresholds: Thresholds;
}

export interface RunSetup extends ContextBounds {
  readonly choice: ModelChoice;
  readonly system: string;
  /** The parts of `system`. */
  readonly report?: SystemPromptReport;
  readonly skillsSnapshot?: SkillsSnapshot;
  readonly tools: readonly ModelTool[];
  /** Estimated tokens of `system` and `tools`. */
  readonly overhead: number;
}

/** The time and the turns a run may take. */
export interface RunTime {
  readonly timeoutMs: number;
  readonly maxIterations: number;
}

/** How long tools and models may take to stop after an abort. */
export const ABORT_GRACE_MS = 5_000;

/** From its message, else its agent's profile, else the configuration in general. */
export function runTimeOf(
  { runs, profiles }: Pick<Settings, "runs" | "profiles">,
  { profile }: Pick<AgentRecord, "profile">,
  overrides?: RunOverrides,
): RunTime {
  const own = profiles[profile]?.limits;
  return {
    timeoutMs: (overrides?.timeoutSeconds ?? own?.timeoutSeconds ?? runs.timeoutSeconds) * 1000,
    maxIterations: own?.maxIterations ?? runs.maxIterations,
  };
}

interface Grace {
  /** Resolves `ms` after the signal; never if there is no signal. */
  readonly over: Promise<undefined>;
  /** Drops the timer and the listener. */
  cancel(): void;
}

/** The grace period after an abort. A model or tool that ignores the signal cannot keep a run from ending. */
export function graceAfter(clock: Clock, ms: number, signal: AbortSignal): Grace {
  let cancelTimer = (): void => {};
  let wait = (): void => {};
  const over = new Promise<undefined>((resolve) => {
    wait = () => {
      cancelTimer = clock.after(ms, () => resolve(undefined));
    };
    if (signal.aborted) wait();
    else signal.addEventListener("abort", wait, { once: true });
  });
  return {
    over,
    cancel() {
      signal.removeEventListener("abort", wait);
      cancelTimer();
    },
  };
}

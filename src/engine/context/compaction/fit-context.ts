/**
 * Keeps a run's context within its limits, between steps: summarise, then cut tool outputs, then leave images out, then
 * replace the oldest turns by a note. Between two answers each happens at most once, and only if it shrinks the context. If
 * the context still does not fit, the run ends with that reason. So it always terminates (L10), and a run may be of any
 * length.
 */
import type { CompactionKind, CompactionReason } from "../../../core/history/compaction-settings.ts";
import type { RunErrorKind } from "../../../core/run/run.ts";
import { askPermission, settleCall } from "../../budgets/budget-gate.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import type { LiveRun } from "../../runtime/live-run.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";
import { type MeasuredContext, measureForRun, setupOf } from "../measure-context.ts";
import { appendCompaction } from "./append-compaction.ts";
import type { BackgroundCompaction } from "./background-compaction.ts";
import { describeCompaction } from "./describe-compaction.ts";
import {
  type CompactionInput,
  type CompactionProposal,
  GROWN_SHARE,
  keepOf,
  makesProgress,
  measureProposal,
  pruneProposal,
  summaryProposal,
} from "./make-compaction.ts";
import { measuresTaken } from "./measures-taken.ts";
import { planCompaction } from "./plan-compaction.ts";
import { type SummaryFailure, summarise } from "./summarise.ts";

/** A refusal does not say by how much the context was too large: the target is this share of it. */
const AFTER_OVERFLOW_SHARE = 0.5;
/** Leaving out the oldest turns aims at this share of the limit. */
const PRUNE_SHARE = 0.8;

export type Room =
  | { readonly fits: true }
  /** `says`: the whole message, in place of the usual one. */
  | { readonly fits: false; readonly kind: RunErrorKind; readonly reason: string; readonly says?: string };

const FITS: Room = { fits: true };

/** The least share of the window for a question and its answer. */
const LEAST_SHARE = 0.1;

/** Why no conversation fits, in one sentence with the setting to change: the window has no room beside the short prompt. */
function windowProblem({ limits, overhead }: MeasuredContext, model = "the model"): string | undefined {
  const { contextWindow } = limits;
  if (overhead <= contextWindow * (1 - LEAST_SHARE)) return undefined;
  return `The context window of ${model} has ${contextWindow} tokens, too few for the instructions and tools of about ${overhead} tokens: set a larger contextWindow for it in models.providers, or choose another model.`;
}

/**
 * Called before every model call. Does nothing while the context is below the critical limit. `background`: the agent's
 * summary in progress, which is used instead of a second one.
 */
export async function ensureContextFits(
  ports: RunPorts,
  lease: AgentLease,
  run: LiveRun,
  background?: BackgroundCompaction,
): Promise<Room> {
  const measured = await measureForRun(ports, lease, run);
  const { limits, thresholds, tokens } = measured;
  const says = windowProblem(measured, run.setup?.choice.model);
  if (says !== undefined) return { fits: false, kind: "context_overflow", reason: says, says };
  // A memory flush runs before the compaction, so only the emergency limit applies to it.
  const isFlush = run.body.memoryFlush === true;
  if (!limits.enabled || tokens < (isFlush ? thresholds.emergency : thresholds.critical)) return FITS;
  const reason = tokens >= thresholds.emergency ? "emergency" : "critical";
  const steps = new CompactionSteps(ports, lease, run, { reason, background });
  const isEnough = (now: number): boolean => now < thresholds.critical;
  for (const kind of ["summary", "truncate", "images", "prune"] as const) {
    const now = await measureForRun(ports, lease, run);
    if (isEnough(now.tokens) || run.signal.aborted) return FITS;
    // Turns are left out without a summary only in an emergency.
    if (kind === "prune" && now.tokens < thresholds.emergency) return FITS;
    await steps.take(kind, now, Math.floor(thresholds.critical * PRUNE_SHARE));
  }
  const { tokens: left } = await measureForRun(ports, lease, run);
  return left < thresholds.emergency ? FITS : steps.full();
}

/**
 * After the provider refused the context as too large: it is summarised and sent once more. After a second refusal all other
 * steps are taken at once, and it is sent one last time. After an answer the next refusal begins again.
 */
export async function recoverFromOverflow(
  ports: RunPorts,
  lease: AgentLease,
  run: LiveRun,
  background?: BackgroundCompaction,
): Promise<Room> {
  const measured = await measureForRun(ports, lease, run);
  const steps = new CompactionSteps(ports, lease, run, { reason: "overflow", background });
  if (!measured.limits.enabled) return steps.full();
  const target = Math.floor(measured.tokens * AFTER_OVERFLOW_SHARE);
  if (await steps.take("summary", measured, target)) return FITS;
  let progress = false;
  for (const kind of ["truncate", "images", "prune"] as const) {
    if (run.signal.aborted) return FITS;
    const now = await measureForRun(ports, lease, run);
    if (progress && now.tokens <= target) return FITS;
    progress = (await steps.take(kind, now, target)) || progress;
  }
  return progress ? FITS : steps.full();
}

class CompactionSteps {
  readonly #ports: RunPorts;
  readonly #lease: AgentLease;
  readonly #run: LiveRun;
  readonly #reason: CompactionReason;
  readonly #background: BackgroundCompaction | undefined;
  /** The steps this run has taken since its last answer. Read when the first one is due. */
  #taken: Set<CompactionKind> | undefined;
  #failure: { why: SummaryFailure; reason: string } | undefined;

  constructor(
    ports: RunPorts,
    lease: AgentLease,
    run: LiveRun,
    { reason, background }: { readonly reason: CompactionReason; readonly background?: BackgroundCompaction },
  ) {
    this.#ports = ports;
    this.#lease = lease;
    this.#run = run;
    this.#reason = reason;
    this.#background = background;
  }

  /** Takes one step, unless it was taken or tried since the last answer. True if a smaller context was committed. */
  async take(kind: CompactionKind, measured: MeasuredContext, target: number): Promise<boolean> {
    const run = this.#run;
    if (run.failedMeasures.has(kind) || this.#isUseless(kind, measured)) return false;
    this.#taken ??= await measuresTaken(this.#ports.store, this.#lease, run.id);
    if (this.#taken.has(kind)) return false;
    const { position } = run;
    run.state = "compacting";
    this.#ports.events.emit(position, { type: "compaction_start", reason: this.#reason });
    let text = "nothing to compact";
    let compacted = false;
    try {
      const found = await this.#proposal(kind, measured, target);
      // The run must end: nothing is appended.
      if (run.signal.aborted) return false;
      if (!found || !makesProgress(found, measured.thresholds.emergency)) {
        run.countLost(found?.entry.details.usage);
        run.failedMeasures.add(kind);
        run.measuresFailedAt.set(kind, measured.tokens);
        text = this.#failure?.reason ?? text;
        this.#ports.log.info("a compaction was not made", { run: run.id, kind, why: text });
        return false;
      }
      await appendCompaction(this.#ports, this.#lease, found, run);
      this.#taken.add(kind);
      if (kind === "summary") this.#background?.appended();
      run.measuresFailedAt.clear();
      compacted = true;
      text = describeCompaction(found.entry);
      this.#ports.log.info("the context was compacted", { agent: run.agentId, run: run.id, what: text });
      return true;
    } finally {
      run.state = "active";
      this.#ports.events.emit(position, { type: "compaction_end", compacted, text });
    }
  }

  /** A measure that failed costs as much again: while the context fits, it is not tried before the context has grown. */
  #isUseless(kind: CompactionKind, { tokens, thresholds }: MeasuredContext): boolean {
    const failedAt = this.#run.measuresFailedAt.get(kind);
    if (failedAt === undefined || this.#reason === "overflow" || tokens >= thresholds.emergency) return false;
    return tokens < failedAt + thresholds.emergency * GROWN_SHARE;
  }

  async #proposal(
    kind: CompactionKind,
    measured: MeasuredContext,
    target: number,
  ): Promise<CompactionProposal | undefined> {
    const { tokens, overhead } = measured;
    const input: CompactionInput = {
      agentId: this.#lease.agentId,
      path: await this.#lease.path(),
      tokens,
      overhead,
      at: this.#ports.clock.now(),
      reason: this.#reason,
      runId: this.#run.id,
    };
    switch (kind) {
      case "summary":
        return this.#summary(input, measured);
      case "truncate":
      case "images":
        return measureProposal(input, kind, target);
      case "prune":
        return pruneProposal(input, Math.max(1, target - overhead));
    }
  }

  async #summary(input: CompactionInput, measured: MeasuredContext): Promise<CompactionProposal | undefined> {
    const outcome = await summaryFor(this.#ports, this.#lease, this.#run, input, measured, {
      background: this.#background,
    });
    if ("made" in outcome) return outcome.made;
    if ("why" in outcome) this.#failure = outcome;
    return undefined;
  }

  /** No step is left. */
  full(): Room {
    const failure = this.#failure;
    if (failure && failure.why !== "empty" && failure.why !== "no-summary" && failure.why !== "overflow") {
      return { fits: false, kind: "compaction_failure", reason: failure.reason };
    }
    return { fits: false, kind: "context_overflow", reason: failure?.reason ?? "nothing more can be left out" };
  }
}

type Attempt =
  | { readonly made: CompactionProposal }
  | { readonly refused: string }
  | { readonly why: SummaryFailure; readonly reason: string };

interface SummaryWishes {
  readonly instructions?: string;
  /** A summary that is being written or waits: it is used, and no second one is paid for (M15). */
  readonly background?: BackgroundCompaction;
}

/** Proposes a summary of all but the end, or says why not. */
export async function summaryFor(
  ports: RunPorts,
  lease: AgentLease,
  run: LiveRun,
  input: CompactionInput,
  { limits, thresholds }: MeasuredContext,
  { instructions, background }: SummaryWishes,
): Promise<Attempt> {
  // A summary may take at most half of a run's time, so that some is left for the run's own work.
  const patienceMs = Math.floor(run.limits.timeoutMs / 2);
  // A summary in the background knows no instructions; it would be discarded after this one.
  if (instructions) background?.stop();
  const written = await background?.take(ports, lease, run, patienceMs);
  if (written === "late") return TOO_LATE;
  if (written) return { made: written };
  const planned = planCompaction(input.agentId, input.path, keepOf(input, thresholds.keepRecent));
  if ("refused" in planned) return planned;
  const { choice } = await setupOf(ports, lease, run);
  const late = new AbortController();
  const cancel = ports.clock.after(patienceMs, () => late.abort());
  const outcome = await summarise(ports, {
    agentId: input.agentId,
    choice,
    sessionId: lease.sessionId,
    plan: planned.plan,
    contextWindow: limits.contextWindow,
    instructions,
    signal: AbortSignal.any([run.signal, late.signal]),
    gate: {
      before: (request) => askPermission(ports, lease, run, request),
      after: (permit, result) => settleCall(lease, permit, result),
    },
    patienceMs,
  }).finally(cancel);
  if (late.signal.aborted || !outcome.ok) run.countLost(outcome.ok ? outcome.said.usage : outcome.usage);
  ports.watchdog?.note(run, "compaction");
  if (late.signal.aborted) return TOO_LATE;
  if (!outcome.ok) return { why: outcome.why, reason: outcome.reason };
  return { made: summaryProposal(input, planned.plan, outcome.said, instructions) };
}

const TOO_LATE = { why: "transient", reason: "the summary took too long" } as const;

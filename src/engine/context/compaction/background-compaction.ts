/**
 * Summarises an agent's context in the background, at the warning limit (M15). It starts after a run, holds no lane and blocks
 * no message. The summary is appended between steps or at rest, only if the last compaction and marker are still those it
 * started from; otherwise it is discarded. A run that needs a summary in between waits for this one instead of paying for a
 * second. At most one at a time. After a crash the next run's end starts it again.
 */

import type { Settings } from "../../../config/settings.ts";
import { errorText } from "../../../core/errors.ts";
import type { SessionId } from "../../../core/ids.ts";
import type { Behalf } from "../../../core/people/behalf.ts";
import { sleep } from "../../../core/ports/clock.ts";
import { isSpendingLimited } from "../../budgets/budget-gate.ts";
import { CommitRefused } from "../../commit/commit-refused.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import type { LiveRun } from "../../runtime/live-run.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";
import { type MeasuredContext, measureAtRest, measureForRun } from "../measure-context.ts";
import { appendCompaction } from "./append-compaction.ts";
import { describeCompaction } from "./describe-compaction.ts";
import {
  type CompactionInput,
  type CompactionProposal,
  GROWN_SHARE,
  keepOf,
  makesProgress,
  type Summarised,
  summaryProposal,
} from "./make-compaction.ts";
import { baseOf, type CompactionPlan, planCompaction } from "./plan-compaction.ts";
import { summarise } from "./summarise.ts";

interface Prepared {
  readonly plan: CompactionPlan;
  readonly said: Summarised;
  readonly sessionId: SessionId;
}

export class BackgroundCompaction {
  #working: AbortController | undefined;
  /** Settles when the summary in progress is written, failed or stopped. */
  #written: Promise<void> = Promise.resolve();
  #prepared: Prepared | undefined;
  /** The size of the context at the last attempt that failed. */
  #failedAt: number | undefined;

  /** Whether a summary is being written or waits to be appended. */
  get busy(): boolean {
    return this.#working !== undefined || this.#prepared !== undefined;
  }
  get isReady(): boolean {
    return this.#prepared !== undefined;
  }

  /** Begins if the context has reached its warning limit. `behalf`: of the run that has just ended. `ready` is called when a summary waits to be appended. */
  async start(
    ports: RunPorts,
    lease: AgentLease,
    measured: MeasuredContext,
    behalf: Behalf | undefined,
    ready: () => void,
  ): Promise<void> {
    const { limits, thresholds, tokens, overhead } = measured;
    if (this.busy || !limits.enabled || tokens < thresholds.warning) return;
    if (this.#failedAt !== undefined && tokens < this.#failedAt + thresholds.emergency * GROWN_SHARE) return;
    // Limited spending must be reserved, which only a run can do. Runs compact at the critical limit.
    if (await isSpendingLimited(ports.budgets(), lease.record, behalf)) return;
    const settings = ports.settings.current;
    const { agentId, sessionId } = lease;
    const working = new AbortController();
    this.#working = working;
    try {
      const path = await lease.path();
      const input: CompactionInput = { agentId, path, tokens, overhead, at: ports.clock.now(), reason: "background" };
      const planned = planCompaction(agentId, path, keepOf(input, thresholds.keepRecent));
      if ("refused" in planned) return this.#failed(working, tokens);
      const {
        system: _system,
        report: _report,
        skillsSnapshot: _skills,
        ...choice
      } = await ports.resolveModel(lease.record, undefined, settings);
      this.#written = this.#write(
        ports,
        { agentId, sessionId, choice, plan: planned.plan, contextWindow: limits.contextWindow },
        settings,
        working,
        tokens,
      )
        .then((isReady) => {
          if (isReady) ready();
        })
        .catch((error) => ports.log.warn("a background summary failed", { agent: agentId, error: errorText(error) }));
    } catch (error) {
      this.#failed(working, tokens);
      ports.log.warn("a background summary could not be started", { agent: agentId, error: errorText(error) });
    }
  }

  async #write(
    ports: RunPorts,
    about: Omit<Parameters<typeof summarise>[1], "signal" | "patienceMs"> & { readonly sessionId: SessionId },
    settings: Settings,
    working: AbortController,
    tokens: number,
  ): Promise<boolean> {
    const patienceMs = settings.runs.timeoutSeconds * 1000;
    const cancel = ports.clock.after(patienceMs, () => working.abort());
    const outcome = await summarise(ports, { ...about, signal: working.signal, patienceMs }).finally(cancel);
    // `stop` was called: the result is not wanted.
    if (this.#working !== working) return false;
    if (!outcome.ok) {
      this.#failed(working, tokens);
      ports.log.info("a background summary failed", { agent: about.agentId, why: outcome.reason });
      return false;
    }
    this.#working = undefined;
    this.#prepared = { plan: about.plan, said: outcome.said, sessionId: about.sessionId };
    return true;
  }

  #failed(working: AbortController, tokens: number): void {
    if (this.#working === working) this.#working = undefined;
    this.#failedAt = tokens;
  }

  /**
   * Appends the summary, between two steps of a run or at rest. False if there is none or it is discarded. Throws
   * `CommitRefused` like any commit.
   */
  async append(ports: RunPorts, lease: AgentLease, run?: LiveRun): Promise<boolean> {
    const prepared = this.#prepared;
    if (!prepared) return false;
    this.#prepared = undefined;
    const made = await this.#proposal(ports, lease, prepared, run);
    if (!made) return false;
    try {
      await appendCompaction(ports, lease, made, run);
    } catch (error) {
      // The run will end by its mark; the summary can still be appended at rest.
      if (error instanceof CommitRefused && error.refused === "aborted") this.#prepared = prepared;
      throw error;
    }
    this.#failedAt = undefined;
    const what = describeCompaction(made.entry);
    ports.log.info("the context was compacted", { agent: lease.agentId, what });
    if (run) {
      const { position } = run;
      ports.events.emit(position, { type: "compaction_end", compacted: true, text: what });
    }
    return true;
  }

  /**
   * The summary for a run that needs one now: waits for it, at most this long, and then stops it. Undefined if there is none,
   * it failed, or the context has changed since. It stays until `appended`: the run may end before its commit.
   */
  async take(
    ports: RunPorts,
    lease: AgentLease,
    run: LiveRun,
    patienceMs: number,
  ): Promise<CompactionProposal | "late" | undefined> {
    if (this.#working) {
      const done = new AbortController();
      const late = sleep(ports.clock, patienceMs, AbortSignal.any([run.signal, done.signal]));
      await Promise.race([this.#written, late]);
      done.abort();
      if (run.signal.aborted) return undefined;
      if (this.#working) {
        this.stop();
        return "late";
      }
    }
    const made = this.#prepared && (await this.#proposal(ports, lease, this.#prepared, run));
    if (!made) this.#prepared = undefined;
    return made;
  }

  /** A run has appended a summary. */
  appended(): void {
    this.#prepared = undefined;
    this.#failedAt = undefined;
  }

  async #proposal(
    ports: RunPorts,
    lease: AgentLease,
    { plan, said, sessionId }: Prepared,
    run: LiveRun | undefined,
  ): Promise<CompactionProposal | undefined> {
    const path = await lease.path();
    const base = baseOf(path);
    const isSame = base.marker === plan.base.marker && base.compaction === plan.base.compaction;
    const isThere = path.some(({ id }) => id === plan.firstKeptEntryId);
    if (!isSame || !isThere || lease.sessionId !== sessionId) {
      ports.log.info("a background summary was discarded: the context has changed", {
        agent: lease.agentId,
      });
      return undefined;
    }
    const { agentId } = lease;
    const { tokens, overhead } = await (run ? measureForRun(ports, lease, run) : measureAtRest(ports, lease));
    const at = ports.clock.now();
    const input: CompactionInput = { agentId, path, tokens, overhead, at, reason: "background", runId: run?.id };
    const made = summaryProposal(input, plan, said);
    if (makesProgress(made)) return made;
    this.#failedAt = tokens;
    return undefined;
  }

  /** Stops writing and drops a summary that waits. */
  stop(): void {
    this.#working?.abort();
    this.#working = undefined;
    this.#prepared = undefined;
  }
}

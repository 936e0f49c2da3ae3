/**
 * A run on trial (M13). Its trial ends with a step, an end, a wait, or when it has lived long enough; then it continues as an
 * ordinary run. Living on without a step is committed, because a later death must not count as one on trial.
 */
import { errorText } from "../../../core/errors.ts";
import type { RunTrial } from "../../../core/run/trial.ts";
import type { CommitSite } from "../../../core/store/commit-sites.ts";
import { submit } from "../../commit/submit.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import type { LiveRun } from "../../runtime/live-run.ts";
import { survived, trialMs } from "./judge-trial.ts";
import type { RecoveryParts } from "./recover-run.ts";

/** If the commit fails, it is tried again. */
const AGAIN_MS = 1_000;

/** Watches a run that was just resumed on trial. Returns how to stop. */
export function watchTrial(parts: RecoveryParts, lease: AgentLease, run: LiveRun, trial: RunTrial): () => void {
  const { ports, trials } = parts.host;
  // The body in the store until the next step, which clears the mark.
  const body = { ...run.body, commits: lease.commitsOf(run.id) ?? run.body.commits };
  const { agentId, node, epoch, sessionId } = lease;
  let cancel = (): void => {};

  async function endWith(site: CommitSite, ended: RunTrial): Promise<"ended" | "again"> {
    const { step } = run;
    const owner = { agentId, node, epoch, sessionId, run: run.guard(true) };
    try {
      const ops = [{ op: "run.amend", runId: run.id, body: { ...body, trial: ended } } as const];
      const result = await submit(ports, site, ops, { owner });
      if (result.ok && run.step === step) run.trial = ended;
      return "ended";
    } catch (error) {
      ports.log.warn("could not record the end of a trial; will retry", { run: run.id, error: errorText(error) });
      return "again";
    }
  }

  const liveThrough = (ms: number): void => {
    cancel = ports.clock.after(ms, async () => {
      if ((await endWith("trial.survived", survived(trial))) === "ended") trials.survived(run.id);
      else if (run.trial) liveThrough(AGAIN_MS);
    });
  };
  liveThrough(trialMs(trial));
  trials.onDrain(run.id, () => {
    cancel();
    void endWith("trial.drained", trial);
  });
  run.onStep = () => {
    cancel();
    trials.leave(run.id);
  };
  return () => {
    run.onStep = undefined;
    run.trial = undefined;
    cancel();
  };
}

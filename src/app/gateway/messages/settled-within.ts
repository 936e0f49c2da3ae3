/** Waits until a message is settled, or a time is over, or the gateway stops. */
import { TimeoutError } from "../../../core/errors.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { RunResult } from "../../../core/run/run.ts";
import type { AgentSystem } from "../../../engine/agents/agent-system.ts";
import { HttpError } from "../http/http-error.ts";

interface WaitContext {
  readonly agents: Pick<AgentSystem, "waitForMessage">;
  readonly stopping: AbortSignal;
}

/** The result of its run, if the run has just ended. Undefined after the time too: then the caller looks whether it is settled. */
export async function settledWithin(
  { agents, stopping }: WaitContext,
  agentId: AgentId,
  seq: number,
  ms: number,
): Promise<RunResult | undefined> {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const onStop = (): void =>
    reject(
      new HttpError(503, "restarting", "The engine is stopping.", {
        hint: "Repeat the request; the answer is not lost.",
        retryAfterMs: 1_000,
      }),
    );
  stopping.addEventListener("abort", onStop, { once: true });
  try {
    if (stopping.aborted) onStop();
    return (await Promise.race([agents.waitForMessage({ agentId, seq }, ms), stopped])).result;
  } catch (error) {
    if (!(error instanceof TimeoutError)) throw error;
    return undefined;
  } finally {
    stopping.removeEventListener("abort", onStop);
  }
}

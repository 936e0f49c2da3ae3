/** How long and how many turns a run may take: what its message wants, else its agent's profile, else the node. */
import type { AgentLease } from "./agent-lease.ts";
import type { LiveRun } from "./live-run.ts";
import type { RunPorts, RunSettings } from "./run-ports.ts";

export function limitsOf(
  { settings, limits }: Pick<RunPorts, "settings" | "limits">,
  { record }: Pick<AgentLease, "record">,
  { body }: Pick<LiveRun, "body">,
): Pick<RunSettings, "timeoutMs" | "maxIterations"> {
  const own = limits?.(record);
  const wished = body.wishes?.timeoutSeconds;
  return {
    timeoutMs: wished === undefined ? (own?.timeoutMs ?? settings.timeoutMs) : wished * 1000,
    maxIterations: own?.maxIterations ?? settings.maxIterations,
  };
}

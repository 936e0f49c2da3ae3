/** Decides whether a process continues, ends or is removed (M33, L7). Files of ended processes are kept for some days. */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { RunRecord } from "../../../core/run/run.ts";
import type { KnownProcess } from "./processes.ts";

const KEPT_MS = 7 * 24 * 3600_000;

export type ProcessFate = "keep" | "end" | "remove";

/** `isOurs`: this process has started it and waits for it. */
export function processFate(
  { info, state }: Pick<KnownProcess, "info" | "state">,
  agent: Pick<AgentRecord, "stopped" | "state"> | undefined,
  run: Pick<RunRecord, "outcome" | "body" | "state"> | undefined,
  isOurs: boolean,
  now: number,
): ProcessFate {
  if (!agent) return "remove";
  if (state.is !== "running") return !isOurs && now - info.startedAt > KEPT_MS ? "remove" : "keep";
  if (agent.stopped) return "end";
  if (!info.background) return isOurs ? "keep" : "end";
  return isCutOff(run) ? "end" : "keep";
}

export const isCutOff = (run: Pick<RunRecord, "outcome" | "body"> | undefined): boolean =>
  run?.outcome === "aborted" || run?.outcome === "timeout" || run?.body.error?.kind === "budget";

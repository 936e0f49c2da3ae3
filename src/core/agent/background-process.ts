/**
 * A command that an agent has started in the background (M33). The record is committed after the start, with the result of the
 * call. It names the process by machine, id and start time, because ids are used again.
 */
import { z } from "zod";
import type { AgentState } from "./state.ts";

export const backgroundProcessSchema = z.looseObject({
  /** Made from the run and the call that started it. The process has it in its environment. */
  id: z.string(),
  runId: z.string(),
  command: z.string(),
  cwd: z.string(),
  startedAt: z.number().int(),
  pid: z.number().int(),
  /** As the system tells it; only compared. */
  startTime: z.string(),
  /** The machine, its boot, and its space of process ids. */
  machine: z.string(),
});
export type BackgroundProcess = z.infer<typeof backgroundProcessSchema>;

/** How many an agent may have, running and ended. The oldest ended one makes room. */
export const MAX_PROCESSES = 16;

/** What a call changes in the list of an agent's processes. */
export interface ProcessChange {
  readonly started?: BackgroundProcess;
  /** Ids of processes that are no longer listed. */
  readonly forgotten?: readonly string[];
}

/** The state with these changes; undefined if nothing changes. */
export function stateWithProcesses(state: AgentState, changes: readonly ProcessChange[]): AgentState | undefined {
  if (changes.length === 0) return undefined;
  const started = changes.flatMap((change) => change.started ?? []);
  const gone = new Set([...changes.flatMap(({ forgotten = [] }) => forgotten), ...started.map(({ id }) => id)]);
  const kept = (state.processes ?? []).filter(({ id }) => !gone.has(id));
  const processes = [...kept, ...started];
  return { ...state, processes: processes.length === 0 ? undefined : processes };
}

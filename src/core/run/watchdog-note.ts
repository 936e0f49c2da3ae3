/** How a watchdog's note is stored: one fact per run (M34). */
import type { WatchdogNote } from "./trial.ts";

/** The key of the fact that holds the note about a run. */
export const watchdogKey = (runId: string): string => `watchdog:${runId}`;

/** Undefined if it is not a note: a note only helps. */
export function parseWatchdogNote(text: string): WatchdogNote | undefined {
  try {
    const { agentId, runId, phase, at } = JSON.parse(text) as WatchdogNote;
    const isNote = [agentId, runId, phase].every((field) => typeof field === "string") && Number.isFinite(at);
    return isNote ? { agentId, runId, phase, at } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * What a run's record keeps of its trials (M13). A run that was open at two crashes without a new step is a suspect, and is
 * tried before it continues. Every committed step clears this, because the step's body does not contain it.
 */
import { z } from "zod";

export const runTrialSchema = z.looseObject({
  /** The nodes that died while only this run was on trial. The third one fails it. */
  deaths: z.array(z.number().int()),
  /** Trials it survived without a step. Each makes the next trial longer. */
  survived: z.number().int(),
  /** How many runs were on trial when the last one ended with a death. The next trial has at most half as many. */
  of: z.number().int().optional(),
  /** It is on trial on this node, one of so many. `alone`: nothing else on that node may be to blame. */
  on: z.object({ node: z.number().int(), of: z.number().int(), alone: z.boolean() }).optional(),
  /** The node that tries nothing for a while, because of the last death. If that node dies too, the run is not to blame. */
  pause: z.number().int().optional(),
  /** The time of the watchdog's note that was counted last (M34). */
  note: z.number().optional(),
});
export type RunTrial = z.infer<typeof runTrialSchema>;

/** What the watchdog noted before it ended a process that this run had blocked (M34). */
export interface WatchdogNote {
  readonly agentId: string;
  readonly runId: string;
  readonly phase: string;
  readonly at: number;
}

/** The notes of processes that were ended by their watchdogs. */
export interface WatchdogNotes {
  /** The latest note about a run. */
  of(runId: string): Promise<WatchdogNote | undefined>;
  /** The note is counted in the store, and is not needed any more. */
  counted(note: WatchdogNote): Promise<void>;
}

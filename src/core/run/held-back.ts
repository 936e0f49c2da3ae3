/** Which open runs wait for a trial (M13). Without the schema library: the store needs this of a run. */
import type { RunRecord } from "./run.ts";

/** It was resumed before without a step since, or tried, and the node that holds it has not resumed it. */
export const isHeldBack = ({ attempt, body }: RunRecord, holder: number): boolean =>
  body.node !== holder && !body.suspended && (attempt > 1 || body.trial !== undefined);

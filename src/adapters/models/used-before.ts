/** The tokens that failed tries used are part of the call's cost. */
import type { ModelResult } from "../../core/ports/model.ts";

/** The result of a call with the usage of the tries before it. */
export function withUsageOf<Result extends ModelResult>(before: readonly ModelResult[], result: Result): Result {
  const lost = before.flatMap(({ alsoUsed = [], usage }) => [...alsoUsed, ...(usage ? [usage] : [])]);
  return lost.length === 0 ? result : { ...result, alsoUsed: [...lost, ...(result.alsoUsed ?? [])] };
}

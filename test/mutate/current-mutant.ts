/** The mutant of this run, from the file that `ROOKERY_MUTANT` names. */
import { readFileSync } from "node:fs";
import type { Mutant } from "./mutant.ts";

export function currentMutant(): Mutant | undefined {
  const path = process.env.ROOKERY_MUTANT;
  return path ? (JSON.parse(readFileSync(path, "utf8")) as Mutant) : undefined;
}

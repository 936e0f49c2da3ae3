/** Marks tests that start programs of `programs.ts`: `describe("…", needs("bwrap"), () => …)`. */
import { inject } from "vitest";
import type { ProgramName } from "./programs.ts";

/** Returns the options of a test or of a group: it is skipped if one of the programs is missing, and the end of the run says so. */
export function needs(...programs: readonly ProgramName[]) {
  const known = inject("missingPrograms");
  const missingPrograms = programs.filter((name) => known[name] !== undefined);
  return missingPrograms.length === 0 ? {} : { skip: true, meta: { missingPrograms } };
}

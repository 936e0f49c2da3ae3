/** Ends the run of a Vitest that has ended without doing so. Started by `test-run.ts` with the process id of that Vitest. */
import { endRun } from "./test-run.ts";

await endRun(Number(process.argv[2]));

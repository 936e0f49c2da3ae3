/** A process that runs portions of worlds for `main.ts` and sends back their report. */
import process from "node:process";
import { type Job, runJobs } from "./report.ts";
import { closePostgres } from "./world/postgres-database.ts";

process.on("disconnect", () => void closePostgres());
process.on("message", (jobs: readonly Job[]) => {
  runJobs(jobs).then(
    (report) => process.send?.(report),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});

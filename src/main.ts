#!/usr/bin/env node
/** The `rookery` command: runs the command line of this process and sets its exit code. */
import { useCompileCache } from "./adapters/system/compile-cache.ts";
import { holdProcess } from "./adapters/system/hold-process.ts";
import { restartWithLimits } from "./adapters/system/restart-with-limits.ts";

useCompileCache();
const words = process.argv.slice(2);
// Flags may come before the command. For `help serve` the restart is harmless.
if (words.includes("serve")) restartWithLimits();
// Loaded after the restart, so that the first process loads little.
const { useFastImports } = await import("./adapters/system/fast-imports.ts");
useFastImports();
// These run an engine. For any other command the process ends before its heap could grow.
if (words.length === 0 || words.some((word) => ["serve", "run", "chat", "demo"].includes(word))) {
  const { limitHeap } = await import("./adapters/system/limit-heap.ts");
  limitHeap();
}

// A reader that closes early (`rookery … | head`) is not an error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

const release = holdProcess();
const { runCli } = await import("./app/cli/router.ts");
const { programOf } = await import("./app/cli/here.ts");
process.exitCode = await runCli(words, {
  env: process.env,
  stdin: () => process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  program: programOf(process.env, import.meta.filename),
});
release();

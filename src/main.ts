#!/usr/bin/env node
/** The `rookery` command: hands the process's outside to the router and its answer to the shell. */
import { enableCompileCache } from "node:module";
import { asLeanProcess } from "./adapters/system/lean-process.ts";

enableCompileCache();
// Flags may stand before the command; whoever only asks about it loses nothing.
if (process.argv.slice(2).includes("serve")) asLeanProcess();
// What follows is loaded by the process that stays.
const { quickImports } = await import("./adapters/system/quick-imports.ts");
quickImports();
const { leanHeap } = await import("./adapters/system/lean-heap.ts");
leanHeap();

// A reader that went away (`rookery … | head`) is no error of ours.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

const { runCli } = await import("./app/cli/router.ts");
process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  stdin: () => process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
});

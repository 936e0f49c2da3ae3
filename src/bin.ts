#!/usr/bin/env node
/** The `rookery` command of the package. Loads the rest only on a Node that can run it: an older one could not even read it. */
import { nodeProblem } from "./core/node-version.ts";

const problem = nodeProblem(process.versions.node);
if (problem === undefined) await import("./main.ts");
else {
  process.stderr.write(`rookery: ${problem}\n`);
  process.exitCode = 1;
}

/**
 * `npm run tool -- mutations`: runs every scenario, mutation and crash proof of the simulation, crash and fuzz tests. `npm test`
 * runs a share of them.
 */
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const vitest = join(dirname(createRequire(import.meta.url).resolve("vitest/package.json")), "vitest.mjs");
const args = [vitest, "run", "test/sim", "test/crash", "test/fuzz", ...process.argv.slice(2)];
const env = { ...process.env, ROOKERY_PROOFS: "all" };
process.exitCode = spawnSync(process.execPath, args, { stdio: "inherit", env }).status ?? 1;

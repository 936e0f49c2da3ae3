/** Set-up of every test run: the programs that tests may use, and the run's directories, which end with it. */
import type { TestModule, TestProject } from "vitest/node";
import {
  describeSkipped,
  findMissingPrograms,
  installCommand,
  installPrograms,
  type MissingPrograms,
  mayInstall,
  type ProgramName,
} from "./programs.ts";
import { startRun } from "./test-run.ts";

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const missing = await missingPrograms();
  project.provide("missingPrograms", missing);
  const endRun = await startRun();
  return async () => {
    await endRun();
    // After the reporters, whichever they are: these are the last lines.
    const said = skippedTests(missing, project.vitest.state.getTestModules());
    if (said !== "") console.log(`\n${said}`);
  };
}

async function missingPrograms(): Promise<MissingPrograms> {
  const missing = await findMissingPrograms();
  const names = Object.keys(missing) as ProgramName[];
  if (names.length === 0 || !mayInstall(process.env)) return missing;
  installPrograms(names);
  const still = await findMissingPrograms();
  const lines = Object.entries(still).map(([name, problem]) => `${name}: ${problem}`);
  if (process.env.CI === "true" && lines.length > 0) {
    const hint = `With CI=true no test is skipped. Install them: ${installCommand(Object.keys(still) as ProgramName[])}`;
    throw new Error(`Programs that tests need are missing.\n${lines.join("\n")}\n${hint}`);
  }
  return still;
}

function skippedTests(missing: MissingPrograms, modules: readonly TestModule[]): string {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const skipped = tests.map((test) => test.meta().missingPrograms).filter((names) => names !== undefined);
  return describeSkipped(missing, skipped, tests.length);
}

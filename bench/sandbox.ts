/**
 * Measures what the sandbox costs: `true` as a bare command, and in each sandbox of this machine through the same tool, in turns, so
 * that other load affects all. The policy is that of a default agent.
 */

import { bwrapSandbox } from "../src/adapters/sandbox/bwrap-sandbox.ts";
import { openSandbox } from "../src/adapters/sandbox/open-sandbox.ts";
import type { Sandbox } from "../src/adapters/sandbox/sandbox.ts";
import { commandWorld } from "../src/adapters/tools/exec/exec.test-kit.ts";
import type { Bench, Figure, Goal } from "./report.ts";
import { median, percentile } from "./statistics.ts";

const ROUNDS = 30;

/** No sandbox: the command as it is. */
const bare: Sandbox = {
  kind: "bwrap",
  filtersNetwork: false,
  wrap: async (argv) => ({ argv, release: () => {} }),
  close: async () => {},
};

export const measureSandbox: Bench["run"] = async (say) => {
  const { sandbox } = await openSandbox({ sandbox: "auto" });
  if (!sandbox) throw new TypeError("This machine has no sandbox.");
  const worlds = {
    bare: commandWorld(bare),
    bwrap: commandWorld(bwrapSandbox()),
    [sandbox.kind]: commandWorld(sandbox),
  };
  const times: Record<string, number[]> = {};
  for (const world of Object.values(worlds)) await world.call("exec", { command: ["true"] });
  for (let round = 1; round <= ROUNDS; round++) {
    for (const [name, world] of Object.entries(worlds)) {
      const from = performance.now();
      await world.call("exec", { command: ["true"] });
      times[name] = [...(times[name] ?? []), performance.now() - from];
    }
    if (round % 10 === 0) say(`${round} of ${ROUNDS} rounds`);
  }
  for (const world of Object.values(worlds)) await world.close();
  await sandbox.close();
  const of = (name: string): readonly number[] => times[name] ?? [];
  const more = (at: number): number => percentile(of(sandbox.kind), at) - percentile(of("bare"), at);
  const figures = Object.keys(worlds).map(
    (name): Figure => ({ what: `${name}, median`, value: median(of(name)), unit: "ms" }),
  );
  const goal = (what: string, at: number, limit: number): Goal => ({
    ...{
      what: `${sandbox.kind} slower than bare, ${what}`,
      goal: limit,
      better: "less",
      measured: more(at),
      unit: "ms",
    },
  });
  return { figures, goals: [goal("median", 0.5, 200), goal("p95", 0.95, 600)] };
};

import { describe, expect, test } from "vitest";
import { ALL, stride } from "../kit/share.ts";
import { serverForTests } from "../postgres/shared.ts";
import { ENGINE_MUTATIONS } from "./mutations/engine-mutations.ts";
import { replayCommand } from "./report.ts";
import { SCENARIOS, scenariosFor } from "./scenarios/scenarios.ts";
import { engine } from "./subjects/engine-subject.ts";
import { closePostgres } from "./world/postgres-database.ts";
import { runWorld } from "./world/run-world.ts";

const scenarios = scenariosFor(engine.features);

const mutated = new Set(ENGINE_MUTATIONS.map(({ scenario }) => scenario));

describe("the engine keeps the laws", () => {
  test.each(
    scenarios
      .map((scenario, index) => [scenario.name, scenario, index + 1] as const)
      .filter((_, index) => index % stride(12) === 0),
  )("in %s", async (_, scenario, seed) => {
    const { violations, counts } = await runWorld({ seed, scenario, subject: engine });
    const replay = replayCommand({ seed, scenario: scenario.name, subject: engine.name });
    expect(violations, `Replay: ${replay} --verbose`).toEqual([]);
    // A world in which every run fails keeps the laws but proves nothing.
    expect(counts.answered, `Replay: ${replay} --verbose`).toBeGreaterThan(5);
  });
});

test.each(ALL ? ["crashes", "tools", "storm"] : ["tools"])(
  "the engine keeps the laws on a real file, in %s",
  async (name) => {
    for (const scenario of scenarios.filter((one) => one.name === name)) {
      const { violations, counts } = await runWorld({ seed: 5, scenario, subject: engine, onFile: true });
      expect(violations, `Replay: npm run sim -- --seed 5 --scenario ${name} --file --verbose`).toEqual([]);
      expect(counts.commits).toBeGreaterThan(100);
    }
  },
);

test("a world on a file writes the same event log as one in memory", async () => {
  for (const scenario of scenarios.filter(({ name }) => name === "crashes")) {
    const inMemory = await runWorld({ seed: 9, scenario, subject: engine });
    const onFile = await runWorld({ seed: 9, scenario, subject: engine, onFile: true });
    expect(onFile.lines).toEqual(inMemory.lines);
  }
});

test("the engine can run every scenario", () => {
  expect(scenarios).toEqual(SCENARIOS);
  expect(scenarios.length).toBeGreaterThanOrEqual(15);
  const names = scenarios.map(({ name }) => name);
  for (const scenario of mutated) expect(names).toContain(scenario);
});

test.each(ALL ? ["crashes", "nodes"] : ["nodes"])("the engine keeps the laws on PostgreSQL, in %s", async (name) => {
  const postgres = await serverForTests();
  for (const scenario of scenarios.filter((one) => one.name === name)) {
    const { violations, counts } = await runWorld({ seed: 5, scenario, subject: engine, postgres });
    expect(violations, `Replay: npm run sim -- --seed 5 --scenario ${name} --store postgres --verbose`).toEqual([]);
    expect(counts.commits).toBeGreaterThan(100);
  }
  await closePostgres();
});

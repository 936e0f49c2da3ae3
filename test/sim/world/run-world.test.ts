import { describe, expect, test } from "vitest";
import { ALL, stride } from "../../kit/share.ts";
import { replayCommand } from "../report.ts";
import { SCENARIOS, scenarioNamed, scenariosFor } from "../scenarios/scenarios.ts";
import { minimalActor } from "../subjects/minimal-actor.ts";
import { runWorld } from "./run-world.ts";

const subject = minimalActor();
const SEEDS = [1];

describe("the minimal actor keeps the laws", () => {
  test.each(
    scenariosFor(subject.features)
      .filter((_, index) => index % stride(3) === 0)
      .map((scenario) => [scenario.name, scenario] as const),
  )("in %s", async (_, scenario) => {
    for (const seed of SEEDS) {
      const { violations } = await runWorld({ seed, scenario, subject });
      const replay = replayCommand({ seed, scenario: scenario.name, subject: subject.name });
      expect(violations, `Replay: ${replay} --verbose`).toEqual([]);
    }
  });
});

test.each(ALL ? ["crashes", "storm"] : ["storm"])("a seed of %s replays byte for byte", async (name) => {
  const first = await runWorld({ seed: 7, scenario: scenarioNamed(name), subject });
  const other = await runWorld({ seed: 8, scenario: scenarioNamed(name), subject });
  const again = await runWorld({ seed: 7, scenario: scenarioNamed(name), subject });
  expect(again.lines).toEqual(first.lines);
  expect(again.digest).toBe(first.digest);
  expect(other.digest).not.toBe(first.digest);
});

test("an aimed crash happens at its place", async () => {
  const aim = { site: "rest", moment: "after" } as const;
  const { lines, violations } = await runWorld({
    seed: 3,
    scenario: scenarioNamed("duplicates"),
    subject,
    aims: [aim],
  });
  expect(lines.some((line) => line.includes("dies after commit rest"))).toBe(true);
  expect(violations).toEqual([]);
});

test("a seed has at least fifty messages for at least five agents", () => {
  // Every message of a long run has dozens of steps, people share a few agents, files and spawned tasks cost more, and a channel
  // with receipts says several things of every message.
  const few = [
    "long-runs",
    "people",
    "people-collected",
    "files",
    "files-nodes",
    "children-dropped",
    "rules",
    "receipts",
    "receipts-nodes",
  ];
  for (const { name, workload } of SCENARIOS.filter(({ name }) => !few.includes(name))) {
    expect(workload.messages[0], name).toBeGreaterThanOrEqual(50);
    expect(workload.conversations[0], name).toBeGreaterThanOrEqual(5);
  }
});

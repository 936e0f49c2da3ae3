import { expect, test } from "vitest";
import { stride } from "../../kit/share.ts";
import { replayCommand } from "../report.ts";
import { engine } from "../subjects/engine-subject.ts";
import { ENGINE_MUTATIONS } from "./engine-mutations.ts";
import { hunt, MAX_SEEDS, withoutMutation } from "./hunt.ts";

/** `npm test` tries a few; `npm run tool -- mutations` tries all. */
const TRIED = ENGINE_MUTATIONS.filter((_, index) => index % stride(48) === 0);

test.each(TRIED.map((mutation) => [mutation.name, mutation] as const))(
  "the auditor finds %s around the engine, and the unchanged engine passes the same seed",
  async (_, mutation) => {
    const { seed, laws } = await hunt(mutation, engine);
    expect(seed, `${mutation.about}: not found in ${MAX_SEEDS} seeds of ${mutation.scenario}`).toBeDefined();
    expect(laws).toContain(mutation.law);
    const { violations, counts } = await withoutMutation(mutation, engine, seed ?? 1);
    const replay = replayCommand({ seed: seed ?? 1, scenario: mutation.scenario, subject: engine.name });
    expect(violations, `Replay: ${replay} --verbose`).toEqual([]);
    // A world in which every run fails keeps the laws but proves nothing.
    expect(counts.answered, `Replay: ${replay} --verbose`).toBeGreaterThan(5);
  },
);

test("every law of the engine has a mutation that breaks it", () => {
  const laws = new Set(ENGINE_MUTATIONS.map(({ law }) => law));
  for (const law of [
    "L1",
    "L2",
    "L3",
    "L4",
    "L5",
    "L6",
    "L7",
    "L8",
    "L9",
    "L10",
    "L11",
    "L12",
    "L13",
    "M9",
    "M13",
    "M18",
    "M21",
    "M23",
    "M30",
    "M32",
    "M35",
    "M46",
    "M48",
    "identity",
    "keys",
    "M10",
    "fork",
    "branch",
    "liveness",
  ] as const) {
    expect(laws, law).toContain(law);
  }
});

/** Properties of trials (M13), for any number of suspects and any sequence of kills. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RunTrial } from "../../../core/run/trial.ts";
import { judge, MAX_DEATHS, UNTRIED } from "./judge-trial.ts";
import { planTrial } from "./plan-trial.ts";
import { timedEngine, untilPeace } from "./trials.test-kit.ts";

interface Open {
  readonly killer: boolean;
  trial: RunTrial;
  hasWaited: boolean;
}

interface Course {
  readonly deaths: number;
  /** Trials of processes that lived through them. */
  readonly passed: number;
  readonly failed: readonly Open[];
}

/** Process after process tries what is open; a killer ends the process whenever it is on trial. */
function course(open: Set<Open>): Course {
  const failed: Open[] = [];
  let [node, deaths, passedInAll] = [0, 0, 0];
  while (open.size > 0) {
    node += 1;
    for (const run of open) run.hasWaited = false;
    while (open.size > 0) {
      const members = planTrial(open);
      for (const run of open) run.hasWaited = true;
      const on = { node, of: members.length, alone: members.length === 1 };
      for (const member of members) member.trial = { ...member.trial, on };
      if (members.some(({ killer }) => killer)) break;
      passedInAll += 1;
      for (const member of members) open.delete(member);
    }
    if (open.size === 0) break;
    deaths += 1;
    for (const run of open) {
      const judged = judge(run.trial, () => "dead");
      run.trial = judged?.trial ?? run.trial;
      if (run.trial.deaths.length < MAX_DEATHS) continue;
      failed.push(run);
      open.delete(run);
    }
  }
  return { deaths, passed: passedInAll, failed };
}

describe("among any number of suspects", () => {
  const suspects = fc.record({
    n: fc.integer({ min: 1, max: 3_000 }),
    killers: fc.array(fc.nat(), { maxLength: 4 }),
  });

  it("fails exactly the killers, after a number of deaths that grows with the logarithm", () => {
    fc.assert(
      fc.property(suspects, ({ n, killers }) => {
        const places = new Set(killers.map((place) => place % n));
        const open = Array.from(
          { length: n },
          (_, place): Open => ({ killer: places.has(place), trial: UNTRIED, hasWaited: false }),
        );
        const { deaths, failed, passed } = course(new Set(open));
        expect(failed.every(({ killer }) => killer)).toBe(true);
        expect(failed).toHaveLength(places.size);
        // Several killers split each other's groups into uneven halves.
        const halvings = (Math.ceil(Math.log2(n)) + 1) * (places.size > 1 ? 2 : 1);
        expect(deaths).toBeLessThanOrEqual(places.size * (halvings + MAX_DEATHS));
        // No run waits for thousands of others: each death splits one group, so there are not many more trials than deaths.
        expect(passed).toBeLessThanOrEqual((deaths + 2) * (halvings + MAX_DEATHS));
      }),
    );
  });
});

describe("with kills from outside at any times", () => {
  const LONGEST_STEP = 60_000;
  const kills = (min: number, max: number, maxLength: number) =>
    fc.array(fc.integer({ min, max }), { minLength: 2, maxLength });
  const steps = fc.array(fc.constantFrom(0, 100, 5_000, 20_000, LONGEST_STEP), { minLength: 1, maxLength: 5 });

  it("fails no run if they are less than two minutes apart", async () => {
    await fc.assert(
      fc.asyncProperty(kills(50, 115_000, 14), steps, async (gaps, takes) => {
        const engine = await timedEngine();
        for (const [n, ms] of takes.entries()) await engine.say(`takes ${ms}`, { name: `p${n}` });
        for (const gap of gaps) {
          await engine.advance(gap);
          await engine.restart();
        }
        // Each may be tried alone after a pause.
        await engine.advance(LONGEST_STEP * (takes.length + 1) + 140_000);
        for (const n of takes.keys()) {
          expect(await engine.states(await engine.agentId(`p${n}`))).toEqual(["answered"]);
        }
      }),
      { numRuns: 40 },
    );
  });

  it("fails the run that kills, and answers the others", async () => {
    await fc.assert(
      fc.asyncProperty(
        kills(50, 20_000, 6),
        steps,
        fc.constantFrom(0, 500, 8_000, 30_000),
        fc.nat(),
        async (gaps, takes, killsAfter, where) => {
          const engine = await timedEngine();
          const texts = takes.map((ms) => `takes ${ms}`);
          texts.splice(where % (texts.length + 1), 0, `kills ${killsAfter}`);
          for (const [n, text] of texts.entries()) if (engine.alive) await engine.say(text, { name: `p${n}` });
          for (const gap of gaps) {
            await engine.advance(gap);
            await engine.restart();
          }
          await untilPeace(engine, 12 * 60_000);
          for (const agent of await engine.store.agents({ limit: 20 })) {
            const [message] = await engine.store.messages(agent.id, { limit: 1 });
            const text = message?.body.kind === "user" ? message.body.text : "";
            expect([text, message?.state]).toEqual([text, text.startsWith("kills") ? "failed" : "answered"]);
          }
        },
      ),
      { numRuns: 25 },
    );
  });
});

/** Ways to get the trials of suspects wrong (M13). */
import { sleep } from "../../../src/core/ports/clock.ts";
import type { RunBody, RunRecord } from "../../../src/core/run/run.ts";
import type { RunTrial } from "../../../src/core/run/trial.ts";
import { type BreakPorts, committing, reading, rewriting } from "./break-ports.ts";
import type { Mutation } from "./mutations.ts";

const MINUTES = 60_000;

/** Changes what is committed about trials. */
const trialing = (change: (trial: RunTrial) => RunTrial): BreakPorts =>
  rewriting((op) => {
    if ((op.op !== "run.step" && op.op !== "run.amend") || !op.body.trial) return op;
    return { ...op, body: { ...op.body, trial: change(op.body.trial) } as RunBody };
  });

/** Changes what is read about an open run: these nodes died because of it. */
const blaming = (deathsOf: (run: RunRecord) => readonly number[]): BreakPorts =>
  reading((store) => ({
    run: async (id) => {
      const run = await store.run(id);
      if (run?.state !== "open") return run;
      const deaths = [...deathsOf(run)];
      return deaths.length < 3 ? run : { ...run, body: { ...run.body, trial: { survived: 0, deaths } } };
    },
  }));

/** The nodes on which each run was on trial. */
const tried = new Map<string, Set<number>>();
const noteTrials: BreakPorts = committing((store, change) => {
  for (const op of change.ops) {
    if (op.op !== "run.step" || !op.body.trial?.on) continue;
    tried.set(op.runId, (tried.get(op.runId) ?? new Set()).add(op.body.trial.on.node));
  }
  return store.commit(change);
});

/** No run begins on a node for so long after a death that counts. */
const PAUSE_MS = 2 * MINUTES;
const delayTakes: BreakPorts = (ports) => {
  let until = 0;
  return committing(async (store, change) => {
    const now = ports.clock.monotonic();
    if (change.site === "trial.death") until = now + PAUSE_MS;
    if (change.site === "take" && now < until) await sleep(ports.clock, until - now);
    return store.commit(change);
  })(ports);
};

export const TRIAL_MUTATIONS: readonly (Mutation & { readonly ports: BreakPorts })[] = [
  {
    name: "every death counts",
    about: "a death counts against every run that was open, on trial or not",
    law: "M13",
    scenario: "kills-on-trial",
    from: 3,
    ports: blaming(({ attempt, body }) => Array.from({ length: attempt - 1 }, () => body.node ?? 0)),
  },
  {
    name: "held back counts as open",
    about: "a death counts against a suspect that waits for its trial, as if it had been at work",
    law: "M13",
    scenario: "steady-kills",
    ports: reading((store) => ({
      run: async (id) => {
        const run = await store.run(id);
        if (run?.state !== "open" || run.attempt === 1) return run;
        const newest = Math.max(...(await store.nodes()).map(({ node }) => node));
        const since = (run.body.node ?? newest) + 1;
        const deaths = Array.from({ length: Math.max(0, newest - since) }, (_, n) => since + n);
        return deaths.length < 3 ? run : { ...run, body: { ...run.body, trial: { survived: 0, deaths } } };
      },
    })),
  },
  {
    name: "trials begin late",
    about: "nothing is tried before the process has lived for ten seconds",
    law: "M13",
    scenario: "steady-kills",
    restMs: 5 * MINUTES,
    ports: (ports) =>
      reading((store) => ({
        heldBackRuns: async (page) => {
          await sleep(ports.clock, 10_000);
          return store.heldBackRuns(page);
        },
      }))(ports),
  },
  {
    name: "pause stops new messages",
    about: "new messages wait too while nothing is tried",
    law: "M13",
    scenario: "poison-resent",
    restMs: 20 * MINUTES,
    ports: delayTakes,
  },
  {
    name: "trial in company counts",
    about: "a death counts against every run that was on trial, also if others were too",
    law: "M13",
    scenario: "killer-among-many",
    from: 2,
    restMs: 5 * MINUTES,
    ports: (ports) =>
      blaming(({ id, body: { node } }) => [...(tried.get(id) ?? [])].filter((one) => one !== node))(noteTrials(ports)),
  },
  {
    name: "not struck out",
    about: "a death alone on trial counts even if the process also dies in the pause after it",
    law: "M13",
    scenario: "kills-on-trial",
    from: 3,
    ports: trialing(({ pause: _pause, ...trial }) => trial),
  },
  {
    name: "no halving",
    about: "after a death all suspects are tried together again",
    law: "M13",
    scenario: "killer-among-many",
    from: 2,
    restMs: 5 * MINUTES,
    ports: trialing((trial) => (trial.on && !trial.on.alone ? { ...trial, on: { ...trial.on, of: 1e9 } } : trial)),
  },
  {
    name: "trial uncommitted",
    about: "a trial begins without a record of who is on it",
    law: "M13",
    scenario: "poison",
    restMs: 3 * MINUTES,
    ports: trialing(({ on: _on, ...trial }) => trial),
  },
];

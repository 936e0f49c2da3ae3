/** A property over random chains of links: the mark of untrusted text is lost by none of them (M32). */
import fc from "fast-check";
import { expect, it } from "vitest";
import { seededIds } from "../../../test/kit/ids.ts";
import type { AgentSeed } from "../../core/agent/agent.ts";
import { freshState } from "../../core/agent/fresh-state.ts";
import type { AgentState } from "../../core/agent/state.ts";
import { stateAfterReset } from "../../core/agent/state-after-reset.ts";
import type { AgentId } from "../../core/ids.ts";
import { type Behalf, behalfSchema, isUntrusted } from "../../core/people/behalf.ts";
import { OWNER, type PersonId } from "../../core/people/person.ts";
import type { CronJob } from "../../core/schedule/job.ts";
import type { Op } from "../../core/store/change.ts";
import { seedAgent } from "../context/seed-agent.ts";
import { onBehalf } from "./on-behalf.ts";
import { runBehalf, withSpeakers } from "./run-behalf.ts";
import { isMarked } from "./untrusted.ts";

const ids = seededIds("chain");
const agent = { id: "a" as AgentId, person: OWNER };
const stored = (behalf: Behalf | undefined): Behalf => behalfSchema.parse(JSON.parse(JSON.stringify(behalf)));
const made = (behalf: Behalf, op: Op): Op => onBehalf({ agent, behalf }, [op])[0] as Op;
const post = (behalf: Behalf): Behalf => {
  const message = { body: { kind: "system", text: "x" } as const, acceptedAt: 1 };
  const op = made(behalf, { op: "message.post", to: { agentId: agent.id }, message });
  return stored(op.op === "message.post" ? op.message.behalf : undefined);
};
const seed: AgentSeed = seedAgent(
  ids,
  { type: "permanent", id: "p", name: "p", description: "d", systemPrompt: "s" },
  1,
);
const run = (state: AgentState, messages: readonly Behalf[], own: PersonId): Behalf =>
  stored(
    runBehalf(
      { own, state },
      messages.map((behalf) => ({ behalf })),
    ),
  );

/** Each link leads from one run to another that reads what the first one made. */
const LINKS: Readonly<Record<string, (from: Behalf, own: PersonId) => Behalf>> = {
  message: (from, own) => run(freshState(1), [post(from)], own),
  "a message that is read later in the session": (from, own) => {
    const state = withSpeakers(own, freshState(1), [{ behalf: post(from) }]) ?? freshState(1);
    return run(state, [{ person: own }], own);
  },
  "a message among others": (from, own) => run(freshState(1), [post(from), { person: from.person }], own),
  steering: (from, own) => stored(runBehalf({ own, state: {} }, [{ behalf: post(from) }], { person: from.person })),
  job: (from, own) => {
    const job = { id: "j", name: "j" } as CronJob;
    const op = made(from, { op: "job.put", job, expect: 0 });
    return run(freshState(1), [stored(op.op === "job.put" ? op.job.behalf : undefined)], own);
  },
  "a change of the owner's job": (from, own) => {
    const job = { id: "j", name: "j", behalf: { person: OWNER } } as CronJob;
    const op = made(from, { op: "job.put", job, expect: 1 });
    return run(freshState(1), [stored(op.op === "job.put" ? op.job.behalf : undefined)], own);
  },
  "a new agent, after any number of resets": (from, own) => {
    const op = made(from, { op: "agent.create", seed });
    const { state } = op.op === "agent.create" ? op.seed : seed;
    return run(stateAfterReset(stateAfterReset(state, 2), 3), [{ person: own }], own);
  },
  "a report of a child": (from, own) => run(freshState(1), [post(run(freshState(1), [post(from)], own))], own),
};

const person = fc.constantFrom<PersonId>(OWNER, "ann" as PersonId, "telegram:42" as PersonId);
const start: fc.Arbitrary<Behalf> = fc.oneof(
  person.map((one) => ({ person: one, untrusted: true as const })),
  person.map((one) => ({ person: one, through: ["telegram:7" as PersonId] })),
);
const chain = fc.array(fc.tuple(fc.constantFrom(...Object.keys(LINKS)), person), { minLength: 1, maxLength: 8 });

it("stays through any chain of links, and each link alone", () => {
  fc.assert(
    fc.property(start, chain, (first, links) => {
      let at = first;
      for (const [name, own] of links) {
        at = (LINKS[name] as (typeof LINKS)[string])(at, own);
        expect(isUntrusted(at), name).toBe(true);
        if (first.untrusted) expect(at.untrusted, name).toBe(true);
      }
    }),
  );
});

it("begins with none of them: what a person's own run makes for the same person is trusted", () => {
  for (const [name, link] of Object.entries(LINKS)) {
    expect(isUntrusted(link({ person: OWNER }, OWNER)), name).toBe(false);
  }
});

it("ends with the session", () => {
  const state = withSpeakers(OWNER, freshState(1), [{ behalf: { person: OWNER, untrusted: true } }]) as AgentState;
  expect(isMarked(state)).toBe(true);
  expect(isMarked(stateAfterReset(state, 2))).toBe(false);
  expect(isUntrusted(run(stateAfterReset(state, 2), [{ person: OWNER }], OWNER))).toBe(false);
});

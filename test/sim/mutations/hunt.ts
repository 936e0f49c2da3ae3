/** Looks for a mutation with the eyes of the auditor: seed after seed until its law is found broken. */
import type { Law, Violation } from "../audit/audit-view.ts";
import { scenarioNamed } from "../scenarios/scenarios.ts";
import { minimalActor } from "../subjects/minimal-actor.ts";
import type { SubjectUnderTest } from "../subjects/subject.ts";
import { runWorld } from "../world/run-world.ts";
import type { Mutation } from "./mutations.ts";

export interface Catch {
  /** The seed that found it, or undefined where none of them did. */
  readonly seed: number | undefined;
  /** Every law that was found broken on the way. */
  readonly laws: readonly Law[];
  readonly first: Violation | undefined;
}

/** Sick worlds need not be watched for as long as it takes to be sure of a sound one. */
const HUNT_REST_MS = 60_000;

/** `subject`: what the mutation is wrapped around; the minimal actor with its quirks where none is named. */
export async function hunt(mutation: Mutation, subject = minimalActor(mutation.quirks)): Promise<Catch> {
  const laws = new Set<Law>();
  const scenario = scenarioNamed(mutation.scenario);
  const { store: mutateStore, ports: mutatePorts } = mutation;
  for (let seed = 1; seed <= mutation.seeds; seed++) {
    const world = { seed, scenario, subject, mutateStore, mutatePorts, restMs: HUNT_REST_MS };
    const { violations } = await runWorld(world);
    for (const { law } of violations) laws.add(law);
    const first = violations.find(({ law }) => law === mutation.law);
    if (first) return { seed, laws: [...laws], first };
  }
  return { seed: undefined, laws: [...laws], first: undefined };
}

const sound = new Map<string, Promise<readonly Violation[]>>();

/** What the sound program does in the world in which the mutation was found. Each such world is run once. */
export function withoutMutation(mutation: Mutation, subject: SubjectUnderTest, seed: number) {
  const key = `${subject.name}/${mutation.scenario}/${seed}`;
  const known =
    sound.get(key) ??
    runWorld({ seed, scenario: scenarioNamed(mutation.scenario), subject }).then(({ violations }) => violations);
  sound.set(key, known);
  return known;
}

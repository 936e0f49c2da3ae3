/** Tries a call at the gate without a run: what would be decided, for whom, and by which rule. Nothing happens. */
import type { AgentRecord } from "../../core/agent/agent.ts";
import { DEFAULT_PROFILE } from "../../core/agent/agent.ts";
import { InvalidInputError } from "../../core/errors.ts";
import type { PersonId } from "../../core/people/person.ts";
import { effectsOfCall } from "../../core/rights/call-text.ts";
import { ALLOWED, type Decision, decide, type Effect, type Situation, stricter } from "../../core/rights/decide.ts";
import type { Place } from "../../core/rights/match-rule.ts";
import type { PeopleNow } from "../people/directory.ts";
import { type RightsSettings, situationOf } from "./gate.ts";

interface Trial {
  /** `exec(git push)`, `write(src/a.ts)`, `web(example.org)`, or the name of a tool. */
  readonly call: string;
  readonly people: readonly PersonId[];
  /** Absent: a conversation of the default profile. */
  readonly agent?: AgentRecord;
  /** The agents that started it, nearest first. */
  readonly ancestors?: readonly AgentRecord[];
  readonly headless?: boolean;
  readonly untrusted?: boolean;
  readonly place?: Place;
}

interface TrialResult {
  readonly decision: Decision;
  /** Each effect of the call by itself. */
  readonly effects: readonly { readonly effect: Effect; readonly decision: Decision }[];
}

export function tryCall(settings: RightsSettings, now: PeopleNow, trial: Trial): TrialResult {
  const { call, place, ancestors, headless = false, untrusted = false } = trial;
  const called = effectsOfCall(call, place);
  if ("wrong" in called) throw new InvalidInputError(`"${call.slice(0, 100)}": ${called.wrong}.`);
  const agent = trial.agent ?? ANY_CONVERSATION;
  const behalf = undefined;
  const people = trial.people.map(now.standing);
  const whole = situationOf(settings, agent, { trigger: undefined, behalf }, people, { place, ancestors });
  const situation: Situation = {
    ...whole,
    headless: whole.headless || headless,
    untrusted: whole.untrusted || untrusted,
  };
  const effects = called.effects.map((effect) => ({ effect, decision: decide(effect, situation) }));
  const [first = ALLOWED, ...others] = effects.map(({ decision }) => decision);
  return { decision: others.reduce(stricter, first), effects };
}

const ANY_CONVERSATION = {
  profile: DEFAULT_PROFILE,
  descriptor: { type: "user" },
  state: {},
} as unknown as AgentRecord;

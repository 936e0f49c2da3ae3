/**
 * Who a run acts for: one person, fixed when it takes its messages (M30). On its way is everyone whose words it can read: the
 * people of its messages, the person its agent belongs to, and everyone who has spoken in the session.
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentState } from "../../core/agent/state.ts";
import type { RunId } from "../../core/ids.ts";
import type { Message } from "../../core/message/message.ts";
import { type Behalf, bounded, everyone, joined } from "../../core/people/behalf.ts";
import { accountOf, kindOfPerson, type PersonId } from "../../core/people/person.ts";
import { isMarked, isUntrustedMessage, markedState } from "./untrusted.ts";

/** An agent as the people on a run's way are concerned. */
export interface Belonging {
  /** The person the agent belongs to. */
  readonly own: PersonId;
  readonly state: Pick<AgentState, "speakers" | "untrusted" | "madeUntrusted">;
}

type Carrier = Partial<Pick<Message, "behalf" | "body">>;

/** `messages`: what the run takes, all for the same person; none if it begins by itself. `before`: for a run that takes more. */
export function runBehalf({ own, state }: Belonging, messages: readonly Carrier[], before?: Behalf): Behalf {
  const behalfs = messages.map(({ behalf }): Behalf => behalf ?? { person: own });
  const person = before?.person ?? behalfs.at(-1)?.person ?? own;
  const heard = [...speakersOf(state), ...(kindOfPerson(own) === "group" ? [] : [own])];
  // The session is read by the run, with the mark of its text (M32).
  const untrusted = isMarked(state) || messages.some(isUntrustedMessage) ? true : undefined;
  const session = heard.map((one): Behalf => ({ person: one, untrusted }));
  return joined(person, [...(before ? [before] : []), ...behalfs, { person, untrusted }, ...session]);
}

/**
 * The behalf of a run that begins now, with the runs that led to it: itself if a person wrote what it takes, otherwise those of
 * the agents that did.
 */
export function rootedBehalf(runId: RunId, belonging: Belonging, messages: readonly Carrier[]): Behalf {
  const behalf = runBehalf(belonging, messages);
  const isNew = messages.some(({ body, behalf: from }) => body?.kind === "user" && !from?.roots);
  return isNew || !behalf.roots ? { ...behalf, roots: [runId] } : behalf;
}

/**
 * The state in which these messages were read: their people have spoken too, and untrusted text among them leaves its mark
 * (M32). Undefined if that changes nothing. The agent's own person is on the way in any case and is not listed.
 */
export function withSpeakers<State extends Pick<AgentState, "speakers" | "untrusted">>(
  own: PersonId | undefined,
  state: State,
  messages: readonly Carrier[],
): State | undefined {
  const heard = withMoreSpeakers(own, state, messages);
  return markedState(heard ?? state, messages.some(isUntrustedMessage)) ?? heard;
}

function withMoreSpeakers<State extends Pick<AgentState, "speakers">>(
  own: PersonId | undefined,
  state: State,
  messages: readonly Carrier[],
): State | undefined {
  const before = speakersOf(state);
  const heard = messages.flatMap(({ behalf }) => (behalf ? everyone(behalf) : [])).filter((one) => one !== own);
  const after = bounded([...before, ...heard]);
  return after.length === before.length && after.every((one, index) => one === before[index])
    ? undefined
    : { ...state, speakers: [...after] };
}

/** Of a run that has read the words of others. */
export const withHeard = (behalf: Behalf | undefined, heard: readonly Behalf[]): Behalf | undefined =>
  behalf && heard.length > 0 ? joined(behalf.person, [behalf, ...heard]) : behalf;

/** Everyone whose words are in an agent's session. */
export const sessionBehalf = ({ id, person, state }: Pick<AgentRecord, "id" | "person" | "state">): Behalf =>
  runBehalf({ own: person ?? noOne({ id }), state }, []);

const speakersOf = ({ speakers = [] }: Pick<AgentState, "speakers">): readonly PersonId[] => speakers as PersonId[];

/** Of an agent whose person is not known, because its parent or its conversation is gone: an id that belongs to no one. */
export const noOne = ({ id }: Pick<AgentRecord, "id">): PersonId => accountOf("agent", id);

/** How a message makes its agent talk to others. The agent that a call talks to follows from the token alone. */
import type { Participants, Person } from "../subjects/subject.ts";

export const TALK = ["tell", "whisper", "report", "missing", "ask", "askround", "askback", "contact", "reply"] as const;
export type Talk = (typeof TALK)[number];

/** The token of the text that a call sends. */
export const saidToken = (talk: Talk, token: string): string => `t${TALK.indexOf(talk) + 1}0000${token.slice(1)}`;

/** The person's token that led to this one. */
export const firstToken = (token: string): string => `t${/^t(?:[1-9]0000)*([1-9]\d*)$/.exec(token)?.[1] ?? ""}`;

/** The conversation that a call talks to. `askround` and `askback` ask each other: a circle. */
export function spokenTo(
  talk: Talk,
  token: string,
  { people, permanentAgents, speakerOf }: Pick<Participants, "people" | "permanentAgents" | "speakerOf">,
): Person | { readonly permanentAgent: string } | undefined {
  if (talk === "askback" || talk === "reply") return speakerOf(firstToken(token));
  const permanentAgent = permanentAgents[Number(firstToken(token).slice(1)) % (2 * permanentAgents.length)];
  if (permanentAgent !== undefined) return { permanentAgent };
  return people[(Number(firstToken(token).slice(1)) * 3 + 1) % people.length];
}

/** The nametag of the swarm that agents contact. */
export const SWARM = "desk";

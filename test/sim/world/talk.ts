/** The ways in which a message makes its agent talk to others. The agent a call speaks to follows from the token alone. */
import type { Participants, Person } from "../subjects/subject.ts";

export const TALK = ["tell", "whisper", "report", "missing", "ask", "askround", "askback", "contact", "reply"] as const;
export type Talk = (typeof TALK)[number];

/** The token of what a call says. */
export const saidToken = (talk: Talk, token: string): string => `t${TALK.indexOf(talk) + 1}0000${token.slice(1)}`;

/** The person's token that led to this one. */
export const firstToken = (token: string): string => `t${/^t(?:[1-9]0000)*([1-9]\d*)$/.exec(token)?.[1] ?? ""}`;

/** Which conversation a call speaks to. What is asked round is asked back where it came from: a circle. */
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

/** What belongs to a token: a person's token sees that person's agents, an application's token those of its users. */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { personOfApiUser } from "../../../core/people/api-user.ts";
import { applicationOf, type PersonId } from "../../../core/people/person.ts";
import { isConfined, type Principal } from "./principal.ts";

type Token = Pick<Principal, "kind" | "person" | "app">;
type Agent = Pick<AgentRecord, "descriptor" | "person">;

/** Whether a token may see an agent. What its scopes allow is checked elsewhere. */
export function seesAgent(token: Token, agent: Agent): boolean {
  return !isConfined(token) || seesPerson(token, personOf(agent));
}

/** Whether a token may see what belongs to a person. */
export function seesPerson(token: Token, person: PersonId | undefined): boolean {
  if (!isConfined(token)) return true;
  if (person === undefined) return false;
  return token.kind === "person" ? person === token.person : applicationOf(person) === token.app;
}

/** The person an agent belongs to. One that does not say so belongs to a confined token only if its conversation does. */
function personOf({ descriptor, person }: Agent): PersonId | undefined {
  if (person !== undefined) return person;
  if (descriptor.type !== "user" || descriptor.connector !== "api") return undefined;
  return (descriptor.peerKind ?? "dm") === "dm" ? personOfApiUser(descriptor.userId) : undefined;
}

/**
 * Judges what a request is about to do, by the one function that also judges tool calls (L13): by the rights of its person, and by
 * its token, which only narrows them. So a person reaches over HTTP what the person's agent could reach, and nothing more.
 */
import { targetName } from "../../../adapters/tools/agents/agent-effects.ts";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { API_CHANNEL } from "../../../core/delivery/route.ts";
import { personOfApiUser } from "../../../core/people/api-user.ts";
import {
  accountOf,
  applicationOf,
  appUser,
  isRecordId,
  OWNER as OWNER_ID,
  type PersonId,
} from "../../../core/people/person.ts";
import { type Decision, decide, type Effect, type Standing } from "../../../core/rights/decide.ts";
import type { Directory, PeopleNow } from "../../../engine/people/directory.ts";
import { HttpError } from "../http/http-error.ts";
import type { Access } from "./authorise.ts";
import { isConfined, type Principal } from "./principal.ts";

/** The part of a route that says what its requests do. */
interface JudgedRoute {
  readonly access: Access;
  readonly own?: true;
  readonly method: string;
  readonly action: string;
}

/** What every request of a route does, before it names anything. */
function effectOf({ action, method, access, own }: JudgedRoute): Effect {
  const rights = [method === "GET" ? "read" : "write"] as const;
  const isScope = access !== "any" && access !== "anonymous" && access !== "hook";
  return { action, rights, asked: isScope ? { scope: access, own } : undefined };
}

/**
 * The sender with what it asks for, and with the people of now if rights of people count for it. Throws a 403 if the request may
 * not do it, for any agent or person it names.
 */
export async function admitted(
  directory: Pick<Directory, "now" | "recent">,
  route: JudgedRoute,
  principal: Principal,
): Promise<Principal> {
  if (route.access === "anonymous" || route.access === "hook") return principal;
  const effect = effectOf(route);
  // A change looks at the rights of this moment; to read, those of some seconds ago are enough.
  const people = isConfined(principal)
    ? await (effect.asked?.scope === "operate" ? directory.now() : directory.recent())
    : undefined;
  const asking: Principal = { ...principal, asks: { effect, people } };
  const decision = judgeRequest(asking, effect);
  if (decision.verdict !== "allow") throw denied(principal, decision);
  return asking;
}

/** The verdict about one effect of a request. */
function judgeRequest(principal: Principal, effect: Effect): Decision {
  const { people } = principal.asks ?? {};
  const of = effect.of && (people?.personOf(effect.of) ?? effect.of);
  const situation = {
    people: [standingOf(principal, of, people)],
    kind: "user",
    token: { scopes: principal.scopes, confined: isConfined(principal) },
    // A question is asked by a run, which can wait for its answer.
    headless: true,
  } as const;
  return decide({ ...effect, of }, situation);
}

/** Throws a 403 unless the request may do all of this. */
export function assertMay(principal: Principal, effects: readonly Effect[]): void {
  for (const effect of effects) {
    const decision = judgeRequest(principal, effect);
    if (decision.verdict !== "allow") throw denied(principal, decision, effect);
  }
}

/** Whether the request may do what it asks for with an agent. */
export const seesAgent = (
  principal: Principal,
  agent: Pick<AgentRecord, "descriptor"> & Partial<AgentRecord>,
): boolean => reaches(principal, targetName({ agent: agent as AgentRecord }), ownerOf(agent));

/** Whether the request may do what it asks for with something that belongs to a person. */
export const seesPerson = (principal: Principal, person: PersonId): boolean =>
  reaches(principal, `person:${person}`, person);

/** Whether the request may do what it asks for with this target of this person. */
export function reaches(principal: Principal, target: string, of: PersonId | undefined): boolean {
  const { effect = { action: "message", rights: ["read"] } satisfies Effect } = principal.asks ?? {};
  return judgeRequest(principal, { ...effect, target, of }).verdict === "allow";
}

/**
 * Whose rights count. A token of the owner has the owner's; an old token, which belongs to no one, has what its scopes say. An
 * application acts as the user whose things it asks about, if that is one of its own.
 */
function standingOf(principal: Principal, of: PersonId | undefined, people: PeopleNow | undefined): Standing {
  const { kind, person, app = "", id } = principal;
  switch (kind) {
    case "owner":
      return { person: OWNER_ID, role: "owner", grants: [] };
    case "old":
      return { person: accountOf(API_CHANNEL, id), role: "owner", grants: [] };
    case "application": {
      const user = of !== undefined && applicationOf(of) === app ? of : appUser(app, "*");
      return people?.standing(user) ?? { person: user, role: "guest", grants: [] };
    }
    case "person": {
      const own = person ?? ("" as PersonId);
      return people?.standing(own) ?? { person: own, role: "stranger", grants: [] };
    }
  }
}

/** The person an agent belongs to. One that does not say so is a person's only if its conversation is. */
function ownerOf({ descriptor, person }: Pick<AgentRecord, "descriptor"> & Partial<AgentRecord>): PersonId | undefined {
  if (person !== undefined) return person;
  if (descriptor.type !== "user" || descriptor.connector !== API_CHANNEL) return undefined;
  return (descriptor.peerKind ?? "dm") === "dm" ? personOfApiUser(descriptor.userId) : undefined;
}

function denied(principal: Principal, { reason, scope, person }: Decision, effect?: Effect): HttpError {
  if (scope !== undefined) {
    const message = `This route needs the scope ${scope}; the token has ${principal.scopes.join(", ")}.`;
    return new HttpError(403, "insufficient_scope", message);
  }
  const what = effect?.target === undefined ? (effect?.action ?? "This route") : effect.target;
  return new HttpError(403, "denied", `${what} is denied: ${reason}.`, { hint: hintFor(person, effect) });
}

function hintFor(person: PersonId | undefined, effect: Effect | undefined): string {
  if (person === undefined || !isRecordId(person)) return "Ask the owner for a token that may do this.";
  const { action = "", target } = effect ?? {};
  const grant = target === undefined ? action : `${action}(${target})`;
  return grant === ""
    ? `Ask the owner to let ${person} in (\`rookery people add ${person}\`).`
    : `Ask the owner for it (\`rookery people grant ${person} "${grant}"\`).`;
}

/** The budgets that a run's model calls count towards: of its agent, tree, profile and person, of its tokens, of the day (M21). */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { Budgets, Spender } from "../../core/budget/budget.ts";
import type { AgentId } from "../../core/ids.ts";
import { type RunBody, saidIn } from "../../core/run/run.ts";
import type { StoreReader } from "../../core/store/store.ts";

const MAX_ANCESTORS = 64;

type Reader = Pick<StoreReader, "agent" | "runs">;

/** The person a run works for: the one who wrote, or the one the agent belongs to. */
export function workedFor(agent: AgentRecord, body: Pick<RunBody, "person">): Pick<RunBody, "person"> {
  const person = body.person ?? ownPerson(agent);
  return person === undefined ? {} : { person };
}

/** The agent at the top of an agent's tree. */
export async function rootOf(store: Pick<StoreReader, "agent">, agentId: AgentId): Promise<AgentId> {
  let root = agentId;
  for (let depth = 0; depth < MAX_ANCESTORS; depth++) {
    const descriptor = (await store.agent(root))?.descriptor;
    if (descriptor?.type !== "subagent") break;
    root = descriptor.parentAgentId as AgentId;
  }
  return root;
}

export async function spenderOf(
  store: Reader,
  budgets: Budgets,
  agent: AgentRecord,
  body: Pick<RunBody, "person" | "behalf" | "said" | "humanAt" | "seqs" | "counted">,
  at: number,
): Promise<Spender> {
  const { behalf } = body;
  let person = behalf ? undefined : workedFor(agent, body).person;
  let root = agent;
  for (let depth = 0; depth < MAX_ANCESTORS && root.descriptor.type === "subagent"; depth++) {
    const parent = await store.agent(root.descriptor.parentAgentId as AgentId);
    if (!parent) break;
    root = parent;
    // A child works for the person its parent last worked for.
    if (!behalf) person ??= (await store.runs(parent.id, { limit: 1 }))[0]?.body.person ?? ownPerson(parent);
  }
  return {
    agentId: agent.id,
    rootId: root.id,
    profile: agent.profile,
    person: behalf?.person ?? (person === undefined ? undefined : canonical(budgets, person)),
    day: budgets.dayOf(at),
    limits: behalf?.limits,
    messages: saidIn(body) - (body.counted ?? 0),
  };
}

function ownPerson({ descriptor }: AgentRecord): string | undefined {
  return descriptor.type === "user" ? `${descriptor.connector}:${descriptor.userId}` : undefined;
}

function canonical({ personNamed }: Budgets, person: string): string {
  const colon = person.indexOf(":");
  return personNamed?.(person.slice(0, colon), person.slice(colon + 1)) ?? person;
}

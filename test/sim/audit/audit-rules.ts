/**
 * No agent starts the tool while it, or an agent that it descends from, has a rule or a setting against it, or had one when it was
 * started (L13). Judged by the changes that the store applied, in their order.
 */
import type { AgentState } from "../../../src/core/agent/state.ts";
import type { Grant } from "../../../src/core/people/grant.ts";
import type { Change, Op } from "../../../src/core/store/change.ts";
import { GRANTED_TOOL } from "../world/revocations.ts";
import { broken, isResumption, type View, type Violation } from "./audit-view.ts";

interface Family {
  readonly parents: Map<string, string>;
  /** Agents that have a rule or a setting against the tool now. */
  readonly limited: Set<string>;
  /** Agents whose parent was limited when it started them. */
  readonly born: Set<string>;
  ownerDenies: boolean;
}

export function* rules(view: View): Iterable<Violation> {
  if (!view.scenario.rules) return;
  const family: Family = { parents: new Map(), limited: new Set(), born: new Set(), ownerDenies: false };
  const started = new Map<string, ReadonlySet<string>>();
  for (const { change } of view.applied) {
    for (const op of change.ops) {
      note(family, change, op);
      if (op.op !== "run.step") continue;
      const before = started.get(op.runId) ?? new Set();
      const now = op.body.calls.filter(({ state, name }) => state === "intended" && name === GRANTED_TOOL);
      started.set(op.runId, new Set(now.map(({ callId }) => callId)));
      const agent = change.owner?.agentId ?? "";
      const why = now.some(({ callId }) => !before.has(callId) || isResumption(change))
        ? whyDenied(family, agent)
        : undefined;
      if (why) yield broken("L13", `${GRANTED_TOOL} was started by ${agent} at ${change.site}, although ${why}`);
    }
  }
}

function note(family: Family, change: Change, op: Op): void {
  if (op.op === "person.put" && op.person.id === "owner") family.ownerDenies = op.person.grants.some(isAgainst);
  if (op.op === "state.put" && change.owner) {
    if (isLimited(op.state)) family.limited.add(change.owner.agentId);
    else family.limited.delete(change.owner.agentId);
  }
  const seed =
    op.op === "agent.create" ? op.seed : op.op === "message.post" && "create" in op.to ? op.to.create : undefined;
  if (seed?.descriptor.type !== "subagent") return;
  const { parentAgentId: parent } = seed.descriptor;
  family.parents.set(seed.id, parent);
  if (family.limited.has(parent) || family.born.has(parent)) family.born.add(seed.id);
}

const isAgainst = (grant: Grant): boolean => "deny" in grant;

const isLimited = ({ rules = [], execSecurity }: AgentState): boolean =>
  execSecurity === "deny" || rules.some(isAgainst);

function whyDenied({ parents, limited, born, ownerDenies }: Family, agent: string): string | undefined {
  if (ownerDenies) return "the owner has a rule against it";
  if (born.has(agent)) return "its parent was limited when it started it";
  for (let one: string | undefined = agent; one !== undefined; one = parents.get(one)) {
    if (limited.has(one)) return one === agent ? "it is limited" : `${one}, which it descends from, is limited`;
  }
  return undefined;
}

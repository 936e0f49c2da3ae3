/** What a message to another agent, or a look at it, reaches: the agent, and the person it belongs to (L13). */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import { OWNER, type PersonId } from "../../../core/people/person.ts";
import type { EffectContext } from "../../../core/ports/tool.ts";
import type { Effect } from "../../../core/rights/decide.ts";
import { personOf } from "../../../engine/runtime/people.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import type { Target } from "./find-target.ts";
import { rootOf } from "./relations.ts";

type Deps = Pick<AgentToolDeps, "store" | "settings">;

/** Empty for the agent itself and for its own tree: what happens there stays on the way. */
export async function effectsOn(
  { store, settings }: Deps,
  { agent: from }: Pick<EffectContext, "agent">,
  target: Target,
  effect: Pick<Effect, "action" | "rights">,
): Promise<readonly Effect[]> {
  const { agent } = target;
  if (!agent) return [{ ...effect, target: targetName(target), of: OWNER }];
  if (agent.id === from.id || (await rootOf(store, agent)).id === (await rootOf(store, from)).id) return [];
  const of = agent.person ?? (await personOf(store, settings.current.identity, agent));
  return [{ ...effect, target: targetName(target), of: of as PersonId | undefined }];
}

/** The effects of a target that the input names. A target that does not exist has none: the tool reports it. */
export async function effectsOnFound(
  deps: Deps,
  context: Pick<EffectContext, "agent">,
  find: () => Promise<Target>,
  effect: Pick<Effect, "action" | "rights">,
): Promise<readonly Effect[]> {
  const target = await find().catch((error: unknown) => {
    if (error instanceof NotFoundError || error instanceof InvalidInputError) return undefined;
    throw error;
  });
  return target ? effectsOn(deps, context, target, effect) : [];
}

/** As grants name it: `agent:` with the name of a permanent agent, the tag of a system agent, otherwise the id. */
export function targetName(target: Target): string {
  const descriptor = target.agent?.descriptor ?? ("descriptor" in target ? target.descriptor : undefined);
  if (descriptor?.type === "permanent") return `agent:${descriptor.name.toLowerCase()}`;
  if (descriptor?.type === "system") return `agent:${descriptor.tag}`;
  return `agent:${(target.agent as AgentRecord).id}`;
}

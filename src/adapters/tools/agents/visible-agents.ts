/** The agents that an agent may see: all agents for the owner's, newest first; its own tree for others. */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { ToolContext } from "../../../core/ports/tool.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { rootOf, seesAll } from "./relations.ts";

const PAGE = 100;
/** How many agents one call reads at most. */
const MAX_READ = 2_000;

export async function visibleAgents(
  deps: Pick<AgentToolDeps, "store" | "settings">,
  context: Pick<ToolContext, "agent" | "behalf">,
  limit: number,
  fits: (agent: AgentRecord) => boolean,
): Promise<readonly AgentRecord[]> {
  const { store, settings } = deps;
  const { agent: from } = context;
  const all = settings.current.agentToAgent.read.includes("any") || (await seesAll(deps, context));
  if (from.descriptor.type === "swarm") return [from].filter(fits);
  const source = all ? newestFirst(store) : treeOf(store, await rootOf(store, from));
  const found: AgentRecord[] = [];
  let read = 0;
  for await (const agent of source) {
    if (fits(agent)) found.push(agent);
    if (found.length >= limit || ++read >= MAX_READ) break;
  }
  return found;
}

async function* newestFirst(store: AgentToolDeps["store"]): AsyncIterable<AgentRecord> {
  for (let after: AgentRecord | undefined; ; ) {
    const page = await store.agents({ limit: PAGE, newest: true, after: after?.id });
    yield* page;
    after = page.at(-1);
    if (page.length < PAGE) return;
  }
}

/** A tree, level by level. */
async function* treeOf(store: AgentToolDeps["store"], root: AgentRecord): AsyncIterable<AgentRecord> {
  yield root;
  const parents = [root];
  for (let parent = parents.shift(); parent; parent = parents.shift()) {
    for (let after: AgentRecord | undefined; ; ) {
      const page = await store.children(parent.id, { limit: PAGE, after: after?.id });
      yield* page;
      parents.push(...page);
      after = page.at(-1);
      if (page.length < PAGE) break;
    }
  }
}

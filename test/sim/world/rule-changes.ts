/**
 * The owner of the world, who gives agents a rule or a setting against one tool while their children work, and takes it away again
 * (L13). Sometimes the rule is the owner's own.
 */
import type { ChangeId } from "../../../src/core/ids.ts";
import { type AskDeps, askNode } from "./ask-node.ts";
import { GRANTED_TOOL } from "./revocations.ts";

export interface RuleChanges {
  change(): Promise<void>;
}

export function makeRuleChanges(deps: AskDeps & { wall(): number }): RuleChanges {
  const { random, log, backend, wall } = deps;
  const limited = new Set<string>();
  let changes = 0;
  const changeOwner = (): void => {
    const on = !limited.delete("owner");
    if (on) limited.add("owner");
    const at = wall();
    const grants = on ? [{ deny: GRANTED_TOOL }] : [];
    const person = { id: "owner", role: "owner", accounts: [], grants, createdAt: at, createdBy: "owner" } as const;
    const ops = [{ op: "person.put", person }] as const;
    backend.apply([{ id: `rules-${++changes}` as ChangeId, site: "world.person", at, ops }]);
    log.write("owner", on ? "has a rule against the tool" : "has none");
  };
  return {
    async change() {
      // The owner's rule is against everyone's calls: it does not stay for long.
      if (random.chance(limited.has("owner") ? 0.5 : 0.08)) return changeOwner();
      const agents = await backend.reader.agents({ limit: 1_000 });
      const parents = new Set(
        agents.flatMap(({ descriptor, runId }) =>
          descriptor.type === "subagent" && runId ? [descriptor.parentAgentId] : [],
        ),
      );
      const busy = agents.filter(({ id }) => parents.has(id));
      const pool = busy.length > 0 && random.chance(0.8) ? busy : agents;
      if (pool.length === 0) return;
      const held = pool.filter(({ id }) => limited.has(`rule ${id}`) || limited.has(`setting ${id}`));
      const { id } = random.pick(held.length > 0 && random.chance(0.5) ? held : pool);
      const by =
        limited.has(`setting ${id}`) || (!limited.has(`rule ${id}`) && random.chance(0.5)) ? "setting" : "rule";
      const key = `${by} ${id}`;
      const on = !limited.delete(key);
      if (on) limited.add(key);
      askNode(deps, "limit", {
        about: `${on ? "set" : "clear"} the ${by} of ${id}`,
        ask: (one) => one.limit(id, { by, on }),
      });
    },
  };
}

/** The gate broken around the engine: each names the law that must find it. */
import type { AgentState } from "../../../src/core/agent/state.ts";
import type { Ports } from "../../../src/core/ports/ports.ts";
import { GRANTED_TOOL } from "../world/revocations.ts";
import { type BreakPorts, committing, reading, rewriting } from "./break-ports.ts";
import type { Mutation } from "./mutations.ts";

const FULL = [{ allow: GRANTED_TOOL }] as const;

/** In one turn of the event loop only the first tool is looked up as it is; the others seem to need no right. */
function firstCallOnly(ports: Ports): Ports {
  let looked = false;
  const find: Ports["tools"]["find"] = (agent, name) => {
    const tool = ports.tools.find(agent, name);
    if (!tool || !looked) {
      looked = true;
      queueMicrotask(() => {
        looked = false;
      });
      return tool;
    }
    return { ...tool, rights: [], effects: undefined };
  };
  return { ...ports, tools: { ...ports.tools, find } };
}

export const RIGHTS_MUTATIONS: readonly (Mutation & { readonly ports: BreakPorts })[] = [
  {
    name: "revision ignored",
    about: "the commit that starts calls does not name the rights it was judged by",
    law: "L13",
    scenario: "revocations",
    from: 14,
    ports: committing((store, change) => {
      const { owner } = change;
      return store.commit(owner ? { ...change, owner: { ...owner, rights: undefined } } : change);
    }),
  },
  {
    name: "rights not read again",
    about: "a node that starts resumes and begins runs as if everyone had every right, until a right changes",
    law: "L13",
    scenario: "revocations",
    from: 2,
    ports: (ports) => {
      let reads = 0;
      return reading((store) => ({
        people: async (page) => {
          const people = await store.people(page);
          return ++reads > 1 ? people : people.map((one) => ({ ...one, grants: FULL }));
        },
      }))(ports);
    },
  },
  {
    name: "first call only",
    about: "of the calls of one answer only the first is judged",
    law: "L13",
    scenario: "revocations",
    ports: firstCallOnly,
  },
  {
    name: "rules ignored",
    about: "a call seems to do nothing that a rule is about",
    law: "L13",
    scenario: "rules",
    ports: (ports) => {
      const find: Ports["tools"]["find"] = (agent, name) => {
        const tool = ports.tools.find(agent, name);
        return tool && { ...tool, rights: [], effects: undefined, renamed: "sim_other" };
      };
      return { ...ports, tools: { ...ports.tools, find } };
    },
  },
  {
    name: "owner's grants ignored",
    about: "the rules of the owner do not count",
    law: "L13",
    scenario: "rules",
    ports: reading((store) => ({
      people: async (page) => (await store.people(page)).map((one) => ({ ...one, grants: [] })),
    })),
  },
  {
    name: "inheritedExec dropped",
    about: "a child does not keep the settings that its parent had when it started it",
    law: "L13",
    scenario: "rules",
    ports: rewriting((op) => {
      if (op.op !== "message.post" || !("create" in op.to) || !op.to.create) return op;
      const { create } = op.to;
      const state = create.state && { ...create.state, inheritedExec: undefined };
      return { ...op, to: { ...op.to, create: { ...create, state } } };
    }),
  },
  {
    name: "parents as they were",
    about: "a rule that an agent gets does not reach the children that it has",
    law: "L13",
    scenario: "rules",
    ports: (ports) => {
      const first = new Map<string, Partial<AgentState>>();
      return reading((store) => ({
        agent: async (id) => {
          const found = await store.agent(id);
          if (!found) return undefined;
          const { rules, execSecurity } = first.get(id) ?? found.state;
          first.set(id, { rules, execSecurity });
          return { ...found, state: { ...found.state, rules, execSecurity } };
        },
      }))(ports);
    },
  },
  {
    name: "rules without a revision",
    about:
      "a rule that an agent gets does not move the revision of rights: calls that were judged before it start after it",
    law: "L13",
    scenario: "rules",
    from: 28,
    ports: committing((store, change) =>
      store.commit({ ...change, ops: change.ops.filter(({ op }) => op !== "rights.move") }),
    ),
  },
];

/** The gate broken around the engine: each names the law that must find it. */
import type { Ports } from "../../../src/core/ports/ports.ts";
import { GRANTED_TOOL } from "../world/revocations.ts";
import { type BreakPorts, committing, reading } from "./break-ports.ts";
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
    return { ...tool, rights: [] };
  };
  return { ...ports, tools: { ...ports.tools, find } };
}

export const RIGHTS_MUTATIONS: readonly (Mutation & { readonly ports: BreakPorts })[] = [
  {
    name: "revision ignored",
    about: "the commit that starts calls does not name the rights it was judged by",
    law: "L13",
    scenario: "revocations",
    seeds: 20,
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
    seeds: 10,
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
    seeds: 10,
    ports: firstCallOnly,
  },
];

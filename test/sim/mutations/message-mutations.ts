/** Broken worlds for agents that talk to each other: their messages and their waits. */

import type { ChangeId, SessionKey } from "../../../src/core/ids.ts";
import type { Op } from "../../../src/core/store/change.ts";
import { type BreakPorts, committing } from "./break-ports.ts";
import type { Mutation } from "./mutations.ts";

const without = (kept: (op: Op) => boolean): BreakPorts =>
  committing((store, change) => store.commit({ ...change, ops: change.ops.filter(kept) }));

const isPost = ({ op }: Op): boolean => op === "message.post";

/** The messages of a tool are committed separately, before its result. */
const sendingFirst = committing(async (store, change) => {
  const posts = change.ops.filter(isPost);
  if (change.site !== "result" || posts.length === 0) return store.commit(change);
  const first = await store.commit({ ...change, id: `${change.id}-first` as ChangeId, ops: posts });
  if (!first.ok) return first;
  const rest = await store.commit({ ...change, ops: change.ops.filter((op) => !isPost(op)) });
  if (!rest.ok) return rest;
  const results = [...rest.results];
  change.ops.forEach((op, index) => {
    if (isPost(op)) results.splice(index, 0, first.results[posts.indexOf(op)]);
  });
  return { ok: true, results };
});

/** Messages with a key are posted without it. */
const forgetfulAsking = committing((store, change) =>
  store.commit({
    ...change,
    ops: change.ops.map((op) =>
      op.op === "message.post" && op.message.key?.startsWith("call:") ? { ...op, dedupe: undefined } : op,
    ),
  }),
);

/** One agent for all contacts of a swarm. */
const sharedSwarm = committing((store, change) =>
  store.commit({
    ...change,
    ops: change.ops.map((op) => {
      if (op.op !== "message.post" || !("sessionKey" in op.to) || !op.to.create) return op;
      if (op.to.create.descriptor.type !== "swarm") return op;
      const sessionKey = "agent:main:swarm:desk:everybody" as SessionKey;
      return { ...op, to: { sessionKey, create: { ...op.to.create, sessionKey } } };
    }),
  }),
);

export const MESSAGE_MUTATIONS: readonly (Mutation & { readonly ports: BreakPorts })[] = [
  {
    name: "send before the result",
    about: "a message to another agent is committed before the call that sent it has its result",
    law: "L1",
    scenario: "agent-messages",
    from: 2,
    ports: sendingFirst,
  },
  {
    name: "result without the send",
    about: "the call reports the message as sent, but it was not",
    law: "M12",
    scenario: "agent-messages",
    from: 2,
    ports: (ports) => ({
      ...ports,
      store: {
        ...ports.store,
        commit: async (change) => {
          if (change.site !== "result") return ports.store.commit(change);
          return ports.store.commit({ ...change, ops: change.ops.filter((op) => !isPost(op)) });
        },
      },
    }),
  },
  {
    name: "asked again",
    about: "a wait that continues after a restart asks a second time",
    law: "L1",
    scenario: "agent-asks",
    from: 2,
    ports: forgetfulAsking,
  },
  {
    name: "circles allowed",
    about: "circles of waiting agents are not checked",
    law: "M11",
    scenario: "agent-asks",
    from: 2,
    ports: without(({ op }) => op !== "wait.begin"),
  },
  {
    name: "one agent for all contacts",
    about: "a swarm's contacts share an agent",
    law: "identity",
    scenario: "swarm",
    ports: sharedSwarm,
  },
  {
    name: "description forgotten",
    about: "a new prompt of a permanent agent is reported as stored, but is not",
    law: "L1",
    scenario: "permanent-agents",
    ports: without(({ op }) => op !== "agent.describe"),
  },
  {
    name: "removal forgotten",
    about: "an agent that must be removed settles its waiting messages, but stays",
    law: "liveness",
    scenario: "permanent-removed",
    ports: without(({ op }) => op !== "agent.remove"),
  },
];

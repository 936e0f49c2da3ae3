/** Sessions broken around the engine: each names the law that must find it. */
import type { Message } from "../../../src/core/message/message.ts";
import { type BreakPorts, committing, reading, rewriting } from "./break-ports.ts";
import type { Mutation } from "./mutations.ts";

export const SESSION_MUTATIONS: readonly (Mutation & { readonly ports: BreakPorts })[] = [
  {
    name: "reset in its turn",
    about: "a reset waits behind everything that came before it",
    law: "M10",
    scenario: "resets-busy",
    from: 3,
    ports: reading((store) => ({
      waiting: async (agentId, page) => {
        const [first] = await store.waiting(agentId, { limit: 1 });
        const isTurn = ({ body, seq }: Message): boolean => body.kind !== "reset" || seq === first?.seq;
        return (await store.waiting(agentId, page)).filter(isTurn);
      },
    })),
  },
  {
    name: "never stale",
    about: "the time of the last answer is not stored, so that no session goes stale",
    law: "M10",
    scenario: "stale-idle",
    ports: rewriting((op) =>
      op.op === "state.put" ? { ...op, state: { ...op.state, lastInteractionAt: undefined } } : op,
    ),
  },
  {
    name: "always stale",
    about: "the last answer to a person seems long ago, so every message begins a session",
    law: "M10",
    scenario: "stale-daily",
    ports: rewriting((op) =>
      op.op === "state.put" && op.state.lastInteractionAt !== undefined
        ? { ...op, state: { ...op.state, lastInteractionAt: op.state.lastInteractionAt - 600_000 } }
        : op,
    ),
  },
  {
    name: "marker without a session",
    about: "a reset writes its marker, but the agent stays in the old session",
    law: "M10",
    scenario: "resets-busy",
    from: 3,
    ports: committing((store, change) =>
      store.commit({ ...change, ops: change.ops.filter((op) => op.op !== "session.begin") }),
    ),
  },
  {
    name: "fork of a run",
    about: "a thread is forked in the middle of its parent's run",
    law: "fork",
    scenario: "thread-forks",
    from: 3,
    ports: reading((store) => ({
      agentByKey: async (key) => {
        const found = await store.agentByKey(key);
        return found && { ...found, runId: undefined };
      },
    })),
  },
  {
    name: "tip stays",
    about: "going back is recorded, but the leaf does not move",
    law: "branch",
    scenario: "branches",
    ports: committing((store, change) =>
      store.commit({ ...change, ops: change.ops.filter((op) => op.op !== "leaf.move") }),
    ),
  },
];

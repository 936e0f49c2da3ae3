/** Messages that cannot be handled, broken around the engine (M48). */
import { TRIED_MS } from "../scenarios/scenario.ts";
import { type BreakPorts, rewriting } from "./break-ports.ts";
import type { Mutation } from "./mutations.ts";

export const FAILURE_MUTATIONS: readonly (Mutation & { readonly ports: BreakPorts })[] = [
  {
    name: "tries not counted",
    about: "every failed try is stored as the first one: the message is tried for ever",
    law: "liveness",
    scenario: "unhandled-queue",
    // Long enough for the last try of every message.
    restMs: TRIED_MS,
    ports: rewriting((op) =>
      op.op === "message.tried" ? { ...op, message: { ...op.message, tried: { ...op.message.tried, times: 1 } } } : op,
    ),
  },
  {
    name: "first failure is the last",
    about: "a message is settled as failed without being tried again, with all that were collected with it",
    law: "M48",
    scenario: "unhandled-collect",
    ports: rewriting((op) =>
      op.op === "message.tried"
        ? { op: "message.settle", settlements: [{ seq: op.seq, from: "waiting", state: "failed", reason: "x" }] }
        : op,
    ),
  },
];

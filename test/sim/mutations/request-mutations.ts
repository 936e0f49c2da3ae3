/** Broken ledgers of HTTP requests (M18): rows that collide, ends that are lost, later messages that are not compared. */
import type { Database } from "../../../src/adapters/store/sqlite/database.ts";
import type { Op } from "../../../src/core/store/change.ts";
import type { Backend } from "../world/sim-store.ts";
import { committing, rewriting } from "./break-ports.ts";
import type { Mutation } from "./mutations.ts";

/** Requests of all people share a few rows. */
const sharedRow = (key: string): string => `same:${key.length % 4}`;

function colliding(op: Op): Op {
  if (op.op === "request.finish") return { ...op, key: sharedRow(op.key) };
  if (op.op !== "message.post" || !op.request) return op;
  return { ...op, request: { ...op.request, key: sharedRow(op.request.key) } };
}

/** No message of a person ever counts as a later one. */
function forgettingLater(sound: Backend, db: Database): Backend {
  return {
    ...sound,
    apply(changes) {
      const results = sound.apply(changes);
      db.sql.exec("UPDATE agents SET last_user_seq = 0");
      db.agentCache.clear();
      return results;
    },
  };
}

export const REQUEST_MUTATIONS: readonly Mutation[] = [
  {
    name: "requests collide",
    about: "requests with different contents share a row of the ledger",
    law: "M18",
    scenario: "http-retries",
    ports: rewriting(colliding),
  },
  {
    name: "request forgotten",
    about: "a message is accepted without the row of its request",
    law: "M18",
    scenario: "http-retries",
    ports: rewriting((op) => (op.op === "message.post" ? { ...op, request: undefined } : op)),
  },
  {
    name: "end of a response lost",
    about: "a response that was sent as a whole still counts as cut",
    law: "M18",
    scenario: "http-retries",
    ports: committing((store, change) =>
      store.commit({ ...change, ops: change.ops.map((op) => (op.op === "request.finish" ? { ...op, seq: 0 } : op)) }),
    ),
  },
  {
    name: "later message not compared",
    about: "a person who went on and says the same words again gets the old answer",
    law: "M18",
    scenario: "http-retries",
    store: forgettingLater,
  },
];

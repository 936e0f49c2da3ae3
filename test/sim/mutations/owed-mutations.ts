/** Careless treatment of deliveries that no connector sends (M26, M27). Each is made by a store with the effect of a bad change. */
import type { Ports } from "../../../src/core/ports/ports.ts";
import type { Op } from "../../../src/core/store/change.ts";
import { type BreakPorts, committing, reading } from "./break-ports.ts";
import type { Mutation } from "./mutations.ts";

const isUnroutable = (op: Op): boolean => op.op === "delivery.add" && op.delivery.waits?.state === "unroutable";

/** A mailbox that forgets what it has handed out. */
function readingTakes(ports: Ports): Ports {
  const { store, ids, clock } = ports;
  return {
    ...ports,
    store: {
      ...store,
      async mailbox(target, page) {
        const rows = await store.mailbox(target, page);
        const ops = rows.map(
          ({ id, state: from, attempts }): Op => ({ op: "delivery.move", id, from, attempts, to: "sent" }),
        );
        if (ops.length > 0) await store.commit({ id: ids.change(), site: "mailbox.read", at: clock.now(), ops });
        return rows;
      },
    },
  };
}

/** Moves a delivery from whatever state it has by now. */
const queueingBlindly: BreakPorts = committing(async (store, change) => {
  const [op] = change.ops;
  if (change.site !== "waiting.pending" || op?.op !== "delivery.move") return store.commit(change);
  const now = await store.delivery(op.id);
  const from = now ? { from: now.state, attempts: now.attempts } : {};
  return store.commit({ ...change, ops: [{ ...op, ...from }, ...change.ops.slice(1)] });
});

export const OWED_MUTATIONS: readonly (Mutation & { readonly ports: BreakPorts })[] = [
  {
    name: "nothing owed without a route",
    about: "words that nobody can be reached for make no delivery",
    law: "L1",
    scenario: "no-route",
    ports: committing((store, change) =>
      store.commit({ ...change, ops: change.ops.filter((op) => !isUnroutable(op)) }),
    ),
  },
  {
    name: "no route ever",
    about: "deliveries without a route stay so when their connector exists",
    law: "L5",
    scenario: "no-route",
    ports: reading((store) => ({
      deliveries: async (page) => (page.states?.includes("unroutable") ? [] : store.deliveries(page)),
    })),
  },
  {
    name: "queued without looking",
    about: "a delivery that got its route is queued again by another node, whatever became of it",
    law: "L12",
    scenario: "no-route-nodes",
    from: 3,
    ports: queueingBlindly,
  },
  {
    name: "slot not told of the route",
    about: "a slot still says unroutable after its delivery was sent",
    law: "L9",
    scenario: "no-route",
    ports: committing((store, change) =>
      store.commit({ ...change, ops: change.ops.filter(({ op }) => op !== "job.delivered") }),
    ),
  },
  {
    name: "read means acknowledged",
    about: "a delivery leaves its mailbox when it is read, before the reader has it",
    law: "L5",
    scenario: "mailboxes",
    ports: readingTakes,
  },
];

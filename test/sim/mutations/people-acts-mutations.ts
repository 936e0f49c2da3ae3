/** What people do at the inbox and the outbox, broken around the engine: each names the law that must find it. */
import type { ChangeId } from "../../../src/core/ids.ts";
import type { Op } from "../../../src/core/store/change.ts";
import { type BreakPorts, committing } from "./break-ports.ts";
import type { Mutation } from "./mutations.ts";

const at = (site: string, kept: (op: Op) => boolean): BreakPorts =>
  committing((store, change) =>
    store.commit(change.site === site ? { ...change, ops: change.ops.filter(kept) } : change),
  );

export const PEOPLE_ACTS_MUTATIONS: readonly (Mutation & { readonly ports: BreakPorts })[] = [
  {
    name: "drop without a row",
    about: "a person drops a message, and the audit log does not say so",
    law: "L13",
    scenario: "people-acts",
    ports: at("inbox.drop", ({ op }) => op !== "audit.add"),
  },
  {
    name: "drop reported before it is known",
    about: "a drop that the store refused, because a run has taken the message, is confirmed",
    law: "L1",
    scenario: "people-acts",
    ports: committing(async (store, change) => {
      const result = await store.commit(change);
      return change.site === "inbox.drop" && !result.ok
        ? { ok: true, results: change.ops.map(() => undefined) }
        : result;
    }),
  },
  {
    name: "dropped task not reported",
    about: "the task of a child is dropped, and its requester is not told",
    law: "L6",
    scenario: "children-dropped",
    ports: at("inbox.drop", ({ op }) => op === "message.drop" || op === "audit.add"),
  },
  {
    name: "edit in two commits",
    about: "an edited delivery is queued first and gets its text afterwards",
    law: "L5",
    scenario: "people-acts",
    ports: committing(async (store, change) => {
      if (change.site !== "outbox.edit") return store.commit(change);
      const plain = change.ops.map((op) => (op.op === "delivery.move" ? { ...op, payload: undefined } : op));
      const first = await store.commit({ ...change, ops: plain });
      const moves = change.ops.flatMap((op) =>
        op.op === "delivery.move" ? [{ ...op, from: "pending" as const }] : [],
      );
      if (first.ok) await store.commit({ ...change, id: `${change.id}-text` as ChangeId, ops: moves });
      return first;
    }),
  },
  {
    name: "edit without the text",
    about: "an edited delivery is sent as it was",
    law: "L5",
    scenario: "people-acts",
    ports: committing((store, change) =>
      store.commit({
        ...change,
        ops: change.ops.map((op) => (op.op === "delivery.move" ? { ...op, payload: undefined } : op)),
      }),
    ),
  },
];

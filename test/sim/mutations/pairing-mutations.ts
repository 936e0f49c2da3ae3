/** Careless changes to who is let in, made by a store with that effect (L13). */
import type { PersonRecord } from "../../../src/core/people/person-record.ts";
import type { Op } from "../../../src/core/store/change.ts";
import { type BreakPorts, committing, reading, rewriting } from "./break-ports.ts";
import type { Mutation } from "./mutations.ts";

const found = { law: "L13", scenario: "pairing" } as const;

const isBook = (op: Op): boolean => op.op === "fact.put" && op.key === "pairing";

/** A record that no one made: its accounts are people who are not known. */
const ANYONE: PersonRecord = {
  ...{ id: "anyone", role: "guest", grants: [], createdAt: 0, createdBy: "owner" },
  accounts: ["idemp", "recon", "ambig"].flatMap((channel) => ["u2", "u3", "u4"].map((user) => `${channel}:${user}`)),
};

export const PAIRING_MUTATIONS: readonly (Mutation & { readonly ports: BreakPorts })[] = [
  {
    ...found,
    name: "stranger let in",
    about: "messages of people whom no one let in reach their agents",
    ports: reading((store) => ({ people: async (page) => [...(await store.people(page)), ANYONE] })),
  },
  {
    ...found,
    name: "code not used up",
    about: "a code that has linked an account stays, and links the next one",
    ports: committing((store, change) =>
      store.commit(
        change.ops.some(({ op }) => op === "person.put")
          ? { ...change, ops: change.ops.filter((op) => !isBook(op)) }
          : change,
      ),
    ),
  },
  {
    ...found,
    name: "account of another person",
    about: "a code that links an account makes it that of another person, who then reads and is read in its place",
    ports: rewriting((op) => {
      if (op.op !== "fact.put" || !isBook(op)) return op;
      const book = JSON.parse(op.value ?? "{}") as { links?: readonly object[] };
      return {
        ...op,
        value: JSON.stringify({ ...book, links: book.links?.map((one) => ({ ...one, person: "owner" })) }),
      };
    }),
  },
];

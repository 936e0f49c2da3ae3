/** The table `facts`: small durable values by key. Reads, and how ops on it are sent. */
import type { StoreReader } from "../../../core/store/store.ts";
import type { Statement } from "./batched-reads.ts";
import { clean, cleanIfAny } from "./clean-text.ts";
import type { Connections } from "./connections.ts";
import type { OpForms, OpOf, Wire } from "./op-form.ts";

const SELECT: Statement = {
  name: "select-fact",
  types: ["text"],
  text: "SELECT value FROM facts WHERE key = $1",
};

export const factReads = (connections: Connections): Pick<StoreReader, "fact"> => ({
  fact: async (key) => (await connections.one<{ value: string }>(SELECT, key))?.value,
});

/** `expect` is a list of one, because JSON cannot tell "expect no fact" from "expect nothing". */
const wireFact = ({ key, value, expect }: OpOf<"fact.put">): Wire => ({
  key: clean(key),
  value: cleanIfAny(value ?? undefined),
  expect: expect === undefined ? undefined : [expect === null ? null : clean(expect)],
});

export const factOps: OpForms<"fact.put"> = {
  "fact.put": {
    wire: wireFact,
    locks: ({ key }) => [["names", `fact ${clean(key)}`]],
    batch: (op, { add }) => add("facts", wireFact(op)),
  },
};

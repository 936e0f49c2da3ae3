/** Receipts and notices broken around the engine, each as a careless change would: each names the law that must find it. */
import type { Connector, ConnectorHost, DeliveryReceipt } from "../../../src/core/ports/connector.ts";
import { type BreakPorts, committing, reading, rewriting } from "./break-ports.ts";
import type { Mutation } from "./mutations.ts";

const notices = { law: "M46", scenario: "unconfirmed" } as const;
const receipts = { law: "L5", scenario: "receipts" } as const;

/** Connectors whose receipts reach the engine in another way. */
const hearing =
  (hear: (host: ConnectorHost, receipt: DeliveryReceipt) => Promise<void>): BreakPorts =>
  (ports) => {
    const changed = (connector: Connector): Connector => ({
      ...connector,
      start: (host) => connector.start({ ...host, receipt: (one) => hear(host, one) }),
    });
    const connectors = new Map([...ports.connectors].map(([name, one]) => [name, changed(one)]));
    return { ...ports, connectors };
  };

const pass = async (host: ConnectorHost, receipt: DeliveryReceipt): Promise<void> => host.receipt?.(receipt);

export const RECEIPT_MUTATIONS: readonly (Mutation & { readonly ports: BreakPorts })[] = [
  {
    ...receipts,
    name: "receipt of an earlier attempt",
    about: "what is said about one attempt counts for the next one",
    law: "L12",
    from: 3,
    ports: hearing((host, { attempt: _, ...receipt }) => pass(host, receipt)),
  },
  {
    ...receipts,
    name: "arrival not taken",
    about: "a delivery stays unconfirmed though the channel says that it arrived",
    ports: hearing(async (host, receipt) => (receipt.status === "arrived" ? undefined : pass(host, receipt))),
  },
  {
    ...receipts,
    name: "failure not taken",
    about: "a delivery stays sent though the channel says later that it failed",
    ports: hearing(async (host, receipt) => (receipt.status === "failed" ? undefined : pass(host, receipt))),
  },
  {
    ...receipts,
    name: "never sent in another way",
    about: "a delivery that can be sent in another way stays as it is",
    ports: hearing(async (host, receipt) => (receipt.status === "again" ? undefined : pass(host, receipt))),
  },
  {
    ...receipts,
    name: "receipt acknowledged first",
    about: "a receipt is acknowledged before it is stored",
    from: 43,
    ports: hearing(async (host, receipt) => {
      void pass(host, receipt).catch(() => undefined);
    }),
  },
  {
    ...receipts,
    name: "receipt lost to the end of its send",
    about: "a receipt that comes while its send ends is dropped and acknowledged",
    from: 7,
    ports: committing(async (store, change) => {
      const result = await store.commit(change);
      const isLost = !result.ok && result.refused === "conflict" && change.site === "outbox.receipt";
      return isLost ? { ok: true, results: [] } : result;
    }),
  },
  {
    ...receipts,
    name: "failure not told",
    about: "a delivery fails later, and its agent never reads it",
    ports: committing((store, change) =>
      store.commit(
        change.site === "outbox.receipt"
          ? { ...change, ops: change.ops.filter(({ op }) => op !== "message.post") }
          : change,
      ),
    ),
  },
  {
    ...receipts,
    name: "failure without its reason",
    about: "a delivery that fails later does not say why",
    ports: rewriting((op) => (op.op === "delivery.move" && op.to === "failed" ? { ...op, reason: undefined } : op)),
  },
  {
    ...notices,
    name: "notice without its record",
    about: "a chat gets a notice again that it has had",
    ports: committing((store, change) =>
      store.commit({
        ...change,
        ops: change.ops.filter((op) => !(op.op === "fact.put" && op.key.startsWith("noticed."))),
      }),
    ),
  },
  {
    ...notices,
    name: "notice counted as an answer",
    about: "an unconfirmed notice is followed by another one",
    ports: rewriting((op) => {
      if (op.op !== "delivery.add") return op;
      const { notice: _, ...payload } = op.delivery.payload;
      return { ...op, delivery: { ...op.delivery, payload } };
    }),
  },
  {
    ...notices,
    name: "no notice",
    about: "the person who asked never hears that the answer is unconfirmed",
    ports: reading(() => ({ unconfirmed: async () => [] })),
  },
];

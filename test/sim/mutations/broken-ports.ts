/** Ports with the effect of a careless change to the engine's own code. */
import type { AgentId, MessageId } from "../../../src/core/ids.ts";
import type { Ports } from "../../../src/core/ports/ports.ts";
import type { CallRecord } from "../../../src/core/run/run.ts";
import type { Change, Op, OpResult } from "../../../src/core/store/change.ts";
import type { Store } from "../../../src/core/store/store.ts";
import { idOfProvider } from "../world/model-call.ts";
import { committing } from "./break-ports.ts";

export function sorted(blocks: string): string {
  const value = JSON.parse(blocks) as Record<string, unknown>[];
  return JSON.stringify(value.map((block) => Object.fromEntries(Object.entries(block).sort())));
}

export function acknowledgingFirst(ports: Ports): Ports {
  const accepted = { status: "accepted", agentId: "" as AgentId, messageId: "" as MessageId } as const;
  const connectors = [...ports.connectors].map(([name, connector]) => {
    const start: typeof connector.start = (host) =>
      connector.start({
        ...host,
        async accept(message) {
          host.accept(message).catch(() => undefined);
          return accepted;
        },
      });
    return [name, { ...connector, start }] as const;
  });
  return { ...ports, connectors: new Map(connectors) };
}

/** A store that returns a false result for an op. */
export function answering(lie: (op: Op, said: OpResult | undefined) => OpResult | undefined): (ports: Ports) => Ports {
  return committing(async (store, change) => {
    const done = await store.commit(change);
    return done.ok ? { ok: true, results: change.ops.map((op, index) => lie(op, done.results[index])) } : done;
  });
}

/** Splits the commit at rest: first everything except the deliveries, then the deliveries and the agent's release. */
export function owingLater(ports: Ports): Ports {
  return committing(async (store, change) => {
    const later = (op: Op): boolean => op.op === "delivery.add" || op.op === "agent.release";
    if (change.site !== "rest" || !change.owner || !change.ops.some(later)) return store.commit(change);
    const first = await store.commit({ ...change, ops: change.ops.filter((op) => !later(op)) });
    if (!first.ok) return first;
    const { agentId, node, epoch } = change.owner;
    const ops = change.ops.filter(later);
    const id = ports.ids.change();
    const second = await store.commit({ id, site: "rest.owe", at: change.at, owner: { agentId, node, epoch }, ops });
    if (!second.ok) return second;
    return { ok: true, results: change.ops.map((op) => (later(op) ? second.results[ops.indexOf(op)] : undefined)) };
  })(ports);
}

export async function newestTo(store: Store, target: string): ReturnType<Store["deliveryHead"]> {
  const head = await store.deliveryHead(target);
  if (head?.state !== "pending") return head;
  const same = ({ channel, to }: typeof head.target): boolean =>
    channel === head.target.channel && to === head.target.to;
  const owed = await store.deliveries({ limit: 500 });
  return owed.filter((one) => one.state === "pending" && same(one.target)).at(-1);
}

export function forgettingIntents(op: Op): Op {
  if (op.op !== "run.step") return op;
  const calls = op.body.calls.map(
    (call): CallRecord => (call.state === "intended" ? { ...call, state: "asked" } : call),
  );
  return { ...op, body: { ...op.body, calls } };
}

/** Marks the finished calls of a batch as not started if another call of it was suspended, until the run has paused. */
export function resettingBatch(ports: Ports): Ports {
  const batches = new Map<string, ReadonlySet<string>>();
  const idsIn = (calls: readonly CallRecord[], state: CallRecord["state"]): readonly string[] =>
    calls.flatMap((call) => (call.state === state ? [call.callId] : []));
  return committing((store, change) => {
    const ops = change.ops.map((op): Op => {
      if (op.op !== "run.step") return op;
      const batch = batches.get(op.runId) ?? new Set();
      const isSuspended = idsIn(op.body.calls, "asked").some((id) => batch.has(id));
      if ((change.site !== "result" && change.site !== "pause") || !isSuspended) {
        batches.set(op.runId, new Set(idsIn(op.body.calls, "intended")));
        return op;
      }
      const calls = op.body.calls.map(
        (call): CallRecord => (batch.has(call.callId) ? { ...call, state: "asked" } : call),
      );
      return { ...op, body: { ...op.body, calls } };
    });
    return store.commit({ ...change, ops });
  })(ports);
}

/** Tools get the ids of calls without the part that makes them unique. */
export function withProviderIds(ports: Ports): Ports {
  const find: Ports["tools"]["find"] = (agent, name) => {
    const tool = ports.tools.find(agent, name);
    if (!tool) return undefined;
    return {
      ...tool,
      execute: (input, context) => tool.execute(input, { ...context, callId: idOfProvider(context.callId) }),
    };
  };
  return { ...ports, tools: { ...ports.tools, find } };
}

/** Reports that a delivery is marked as sending, but writes it only when its end is known. */
export function sendingUnmarked(ports: Ports): Ports {
  const unmarked = new Map<string, number>();
  return committing(async (store, change) => {
    const [op] = change.ops;
    if (op?.op !== "delivery.move") return store.commit(change);
    if (op.to === "sending" && op.from === "pending") {
      unmarked.set(op.id, op.attempts);
      return { ok: true, results: [undefined] };
    }
    const attempts = unmarked.get(op.id);
    if (attempts === undefined || op.from !== "sending") return store.commit(change);
    return store.commit({ ...change, ops: [{ ...op, from: "pending", attempts }] });
  })(ports);
}

export function withoutLooking(change: Change): Change {
  const { owner } = change;
  if (!owner?.run) return change;
  return { ...change, owner: { ...owner, run: { ...owner.run, evenAborted: true } } };
}

/** Accepts nothing while more than three messages wait, but reports success. */
export function droppingAtAccept(ports: Ports): Ports {
  const { store } = ports;
  const commit: Store["commit"] = async (change) => {
    const [op] = change.ops;
    if (op?.op !== "message.post" || !("sessionKey" in op.to)) return store.commit(change);
    const agent = await store.agentByKey(op.to.sessionKey);
    if (!agent || agent.waiting <= 3) return store.commit(change);
    const posted = {
      op: "message.post",
      agentId: agent.id,
      seq: agent.nextSeq,
      duplicate: false,
      created: false,
    } as const;
    return { ok: true, results: [posted] };
  };
  return { ...ports, store: { ...store, commit } };
}

/** A commit that steers writes the entry, but neither takes the message nor records it with the run. */
export function forgettingSteers(ports: Ports): Ports {
  const { store } = ports;
  const commit: Store["commit"] = (change) => {
    if (change.site !== "steer") return store.commit(change);
    const ops = change.ops.flatMap((op): Op[] => {
      if (op.op === "message.take") return [];
      if (op.op !== "run.step") return [op];
      const taken = change.ops.flatMap((other) => (other.op === "message.take" ? other.seqs : []));
      return [{ ...op, body: { ...op.body, seqs: op.body.seqs.filter((seq) => !taken.includes(seq)) } }];
    });
    return store.commit({ ...change, ops });
  };
  return { ...ports, store: { ...store, commit } };
}

/** The workload through our store: 100 writers, each with its own agent; each message is two commits. */

import { systemIds } from "../../src/adapters/system/system-ids.ts";
import type { Ids } from "../../src/core/ids.ts";
import type { Op } from "../../src/core/store/change.ts";
import type { Store } from "../../src/core/store/store.ts";
import { dedupeKeyOf, KEEP_UNTIL, keyOf, leafOf, lineOf, messageOf, seedOf, stateOf } from "./workload.ts";

export interface StoreRound {
  readonly ms: number;
  /** Accept and step of each message, in milliseconds. */
  readonly messageMs: readonly number[];
  /** Accept alone: the time a sender waits. */
  readonly acceptMs: readonly number[];
}

export interface StoreWriters {
  /** Writes this many messages over all writers and measures them. */
  run(messages: number): Promise<StoreRound>;
}

/** `agents` are the numbers of the agents written to, one per writer. */
export async function storeWriters(store: Store, agents: readonly number[]): Promise<StoreWriters> {
  const ids = systemIds();
  const node = await joinNode(store, ids);
  const next = await Promise.all(
    agents.map(async (agent) => {
      const record = await store.agentByKey(keyOf(agent));
      return { agent, position: record?.nextPos ?? 2 };
    }),
  );
  let n = 0;

  async function write(
    writer: { agent: number; position: number },
    round: { m: number[]; a: number[] },
  ): Promise<void> {
    const { agent } = writer;
    const at = n++;
    const begun = performance.now();
    const accepted = await store.commit({
      id: ids.change(),
      site: "bench.accept",
      at: Date.now(),
      ops: [
        {
          op: "message.post",
          to: { sessionKey: keyOf(agent), create: seedOf(agent) },
          message: messageOf(agent, at),
          dedupe: { key: dedupeKeyOf(agent, at), keepUntil: KEEP_UNTIL },
          claimFor: node,
        },
      ],
    });
    const acceptedAt = performance.now();
    const posted = accepted.ok ? accepted.results[0] : undefined;
    if (posted?.op !== "message.post" || !posted.holder) throw new Error("Not accepted.");
    const leaf = leafOf(writer.position);
    const ops: Op[] = [
      { op: "entries.append", position: writer.position++, lines: [lineOf(at, leaf)], leaf },
      { op: "state.put", state: stateOf(at) },
      { op: "message.settle", settlements: [{ seq: posted.seq, from: "waiting", state: "answered" }] },
    ];
    const owner = { agentId: posted.agentId, ...posted.holder };
    const stepped = await store.commit({ id: ids.change(), site: "bench.step", at: Date.now(), owner, ops });
    if (!stepped.ok) throw new Error(`Not stepped: ${stepped.detail}`);
    round.m.push(performance.now() - begun);
    round.a.push(acceptedAt - begun);
  }

  return {
    async run(messages) {
      const round = { m: [] as number[], a: [] as number[] };
      const each = Math.floor(messages / next.length);
      const begun = performance.now();
      await Promise.all(
        next.map(async (writer) => {
          for (let i = 0; i < each; i++) await write(writer, round);
        }),
      );
      return { ms: performance.now() - begun, messageMs: round.m, acceptMs: round.a };
    },
  };
}

async function joinNode(store: Store, ids: Ids): Promise<number> {
  const joined = await store.commit({
    id: ids.change(),
    site: "bench.join",
    at: 0,
    ops: [{ op: "node.join", name: "bench", leaseUntil: Number.MAX_SAFE_INTEGER }],
  });
  const result = joined.ok ? joined.results[0] : undefined;
  if (result?.op !== "node.join") throw new Error("Not joined.");
  return result.node;
}

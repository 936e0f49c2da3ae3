/**
 * Durable steps per second: each step of an agent appends an entry of 500 bytes, puts the state, settles a message and sends
 * one to another agent, in one commit.
 */

import { systemIds } from "../../src/adapters/system/system-ids.ts";
import type { Store } from "../../src/core/store/store.ts";
import { agentIdOf, leafOf, lineOf, messageOf, seedOf, stateOf } from "../store/workload.ts";

export interface Steps {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}

export async function steps(store: Store, agents: number, ms: number, rounds: number): Promise<readonly Steps[]> {
  const ids = systemIds();
  const commit = (ops: Parameters<Store["commit"]>[0]["ops"], owner?: Parameters<Store["commit"]>[0]["owner"]) =>
    store.commit({ id: ids.change(), site: "bench", at: Date.now(), owner, ops });
  const joined = await commit([{ op: "node.join", name: "bench", leaseUntil: Date.now() + 3_600_000 }]);
  const node = joined.ok && joined.results[0]?.op === "node.join" ? joined.results[0].node : 0;
  const numbers = Array.from({ length: agents }, (_, n) => n);
  await Promise.all(
    numbers.map((n) =>
      commit([
        { op: "agent.create", seed: seedOf(n) },
        { op: "agent.claim", agentId: agentIdOf(n), node },
        { op: "message.post", to: { agentId: agentIdOf(n) }, message: messageOf(n, 0) },
      ]),
    ),
  );
  const position = numbers.map(() => 2);
  const seq = numbers.map(() => 1);
  let made = 0;
  /** Unsettled messages of each agent; an agent steps only if it has one. */
  const waiting = numbers.map(() => 1);
  /** Each agent sends to a distant one, so that the writes of one group are spread over all agents. */
  const next = (n: number): number => (n * 7 + 1) % agents;

  async function step(n: number): Promise<boolean> {
    const at = position[n] as number;
    const leaf = leafOf(at);
    made += 1;
    const result = await commit(
      [
        { op: "entries.append", position: at, lines: [lineOf(made, leaf)], leaf },
        { op: "state.put", state: stateOf(made) },
        { op: "message.settle", settlements: [{ seq: seq[n] as number, from: "waiting", state: "answered" }] },
        { op: "message.post", to: { agentId: agentIdOf(next(n)) }, message: messageOf(n, made) },
      ],
      { agentId: agentIdOf(n), node, epoch: 1 },
    );
    if (!result.ok) throw new Error(result.detail);
    position[n] = at + 1;
    seq[n] = (seq[n] as number) + 1;
    waiting[next(n)] = (waiting[next(n)] as number) + 1;
    return true;
  }

  const results: Steps[] = [];
  for (let round = 0; round < rounds + 1; round++) {
    const until = performance.now() + ms;
    const took: number[] = [];
    const began = performance.now();
    await Promise.all(
      numbers.map(async (n) => {
        while (performance.now() < until) {
          const at = performance.now();
          if ((waiting[n] as number) > 0) waiting[n] = (waiting[n] as number) - 1;
          else {
            await new Promise((resolve) => setTimeout(resolve, 1));
            continue;
          }
          if (await step(n)) took.push(performance.now() - at);
        }
      }),
    );
    const seconds = (performance.now() - began) / 1_000;
    took.sort((a, b) => a - b);
    const part = (of: number): number => took[Math.min(took.length - 1, Math.floor(took.length * of))] ?? 0;
    // The first round only warms up.
    if (round > 0) results.push({ perSecond: took.length / seconds, p50: part(0.5), p99: part(0.99) });
  }
  return results;
}

/**
 * Takes a swarm's name back: nobody reaches it any more from the commit on, and its agents are removed as they come to rest.
 * What waits for one of them is settled as removed, with a trace; their histories are kept.
 */

import { sessionKeyOf } from "../../core/agent/session-key.ts";
import { NotFoundError } from "../../core/errors.ts";
import type { Op } from "../../core/store/change.ts";
import type { StoreReader } from "../../core/store/store.ts";

/** More than anybody has: what is left over is only not removed, and reached by nobody. */
const MAX_COUNT = 100_000;

/** Throws where there is no such swarm. `by`: who removes it, for the trace. */
export async function removeSwarmOps(
  store: Pick<StoreReader, "swarm" | "swarmContacts" | "agentByKey">,
  nametag: string,
  by: string,
  at: number,
): Promise<readonly Op[]> {
  const swarm = await store.swarm(nametag);
  if (!swarm) throw new NotFoundError(`There is no swarm ${nametag}.`);
  const ops: Op[] = [{ op: "swarm.remove", nametag }];
  for (const { contact } of await store.swarmContacts(nametag, { limit: MAX_COUNT })) {
    const agent = await store.agentByKey(sessionKeyOf({ type: "swarm", id: nametag, contact }, swarm.profile));
    if (!agent || agent.stopped?.removing || agent.stopped?.removed) continue;
    ops.push(
      { op: "agent.stop", agentId: agent.id, mark: { at, reason: `removed by ${by}`, removing: true } },
      // Wakes whoever is to do it, also one that rests.
      { op: "message.post", to: { agentId: agent.id }, message: { body: { kind: "stop" }, acceptedAt: at } },
    );
  }
  return ops;
}

/**
 * Frees a swarm's name. After the commit no message reaches the swarm, and each of its agents is removed when it comes to rest.
 * Messages that wait for one of them are settled as removed, with a trace. The histories stay.
 */

import { sessionKeyOf } from "../../core/agent/session-key.ts";
import { NotFoundError } from "../../core/errors.ts";
import type { Op } from "../../core/store/change.ts";
import type { StoreReader } from "../../core/store/store.ts";

/** More contacts than a swarm has. An agent beyond the limit stays, and no message reaches it. */
const MAX_COUNT = 100_000;

/** Throws if there is no such swarm. `by`: the person or agent that removes it, for the trace. */
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
      { op: "approval.withdraw", of: { agentId: agent.id }, reason: `the agent was removed by ${by}` },
      // Wakes the agent, so that its owner removes it.
      { op: "message.post", to: { agentId: agent.id }, message: { body: { kind: "stop" }, acceptedAt: at } },
    );
  }
  return ops;
}

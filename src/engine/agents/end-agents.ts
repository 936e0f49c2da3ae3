/** Stops agents with all they have started, starts them again, and removes them for ever (L7, M20). */

import { NotFoundError, TimeoutError } from "../../core/errors.ts";
import type { AgentId, SessionKey } from "../../core/ids.ts";
import { sleep } from "../../core/ports/clock.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Op } from "../../core/store/change.ts";
import { submit } from "../commit/submit.ts";
import { stopOps } from "../subagents/stop.ts";
import { DEFAULT_WAIT_MS } from "./answers.ts";
import { removeSwarmOps } from "./remove-swarm.ts";

export interface EndingHost {
  /** The node that wants agents nobody holds. */
  claimFor(): number | undefined;
  /** Commits, and wakes whom it posts to. */
  change(site: string, ops: readonly Op[]): Promise<void>;
  /** Nobody has this key any more. */
  forget(key: SessionKey): void;
}

const REMOVE_AGAIN_MS = 200;

export async function stopAgent(ports: Ports, host: EndingHost, agentId: AgentId, reason: string): Promise<void> {
  await changeClaiming(host, "agent.stop", await stopOps(ports.store, agentId, reason, ports.clock.now()));
}

export async function removeSwarm(ports: Ports, host: EndingHost, nametag: string, by: string): Promise<void> {
  await changeClaiming(host, "swarm.remove", await removeSwarmOps(ports.store, nametag, by, ports.clock.now()));
}

function changeClaiming(host: EndingHost, site: string, ops: readonly Op[]): Promise<void> {
  const claimFor = host.claimFor();
  return host.change(
    site,
    ops.map((op) => (op.op === "message.post" ? { ...op, claimFor } : op)),
  );
}

export async function removeAgent(ports: Ports, host: EndingHost, agentId: AgentId, reason: string): Promise<void> {
  const { store, clock } = ports;
  const record = await store.agent(agentId);
  if (!record || record.stopped?.removed) throw new NotFoundError(`There is no agent ${agentId}.`);
  await stopAgent(ports, host, agentId, reason);
  for (const until = clock.monotonic() + DEFAULT_WAIT_MS; ; ) {
    const ops: Op[] = [{ op: "agent.remove", agentId, reason }];
    const done = await submit(ports, "agent.remove", ops);
    host.forget(record.sessionKey);
    if (done.ok) return;
    if (clock.monotonic() >= until) {
      throw new TimeoutError(`Agent ${agentId} was stopped, but is still at work.`, { hint: "Try again later." });
    }
    await sleep(clock, REMOVE_AGAIN_MS);
  }
}

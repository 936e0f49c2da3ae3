/** Makes permanent agents; stops agents with everything they started, starts them again, and removes them for good (L7, M20). */

import { DeniedError, NotFoundError, TimeoutError } from "../../core/errors.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Behalf } from "../../core/people/behalf.ts";
import { sleep } from "../../core/ports/clock.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Op } from "../../core/store/change.ts";
import type { CommitSite } from "../../core/store/commit-sites.ts";
import { submit } from "../commit/submit.ts";
import { type Emit, emitPosted } from "../engine-event.ts";
import type { People } from "../runtime/people.ts";
import { stopOps } from "../subagents/stop.ts";
import { DEFAULT_WAIT_MS } from "./answers.ts";
import type { MessageIngress } from "./message-ingress.ts";
import { type PutPermanent, putPermanent, type WantedPermanent } from "./put-permanent.ts";
import { removeSwarmOps } from "./remove-swarm.ts";

const REMOVE_AGAIN_MS = 200;

interface LifecycleHost {
  readonly ingress: Pick<MessageIngress, "forget" | "post">;
  readonly people: Pick<People, "personOfNew">;
  readonly emit: Emit;
  /** The node that takes agents without an owner; undefined while it does not work. */
  claimFor(): number | undefined;
}

export class Lifecycle {
  readonly #ports: Ports;
  readonly #host: LifecycleHost;

  constructor(ports: Ports, host: LifecycleHost) {
    this.#ports = ports;
    this.#host = host;
  }

  /** Creates a permanent agent, or changes the one of that name. Durable when it resolves. `also` is committed with it. */
  putPermanent(
    wanted: WantedPermanent,
    behalf: Behalf,
    also: (done: PutPermanent) => readonly Op[] = () => [],
  ): Promise<PutPermanent> {
    return putPermanent({ ports: this.#ports, ...this.#host }, wanted, behalf, also);
  }

  /**
   * Stops an agent and everything it started, on all nodes: once this resolves, nothing new of it begins (L7). A person's
   * next message starts the agent again, unless it is a subagent. `also` is committed with it.
   */
  async stop(agentId: AgentId, reason = "stopped by a person", also: readonly Op[] = []): Promise<void> {
    const { store, clock } = this.#ports;
    await this.#commit("agent.stop", [...(await stopOps(store, agentId, reason, clock.now())), ...also]);
  }

  /** Takes a stop back. */
  startAgain(agentId: AgentId, also: readonly Op[] = []): Promise<void> {
    return this.#commit("agent.start", [{ op: "agent.stop", agentId, mark: null }, ...also]);
  }

  /** Stops an agent with everything it started, and removes it for good once it rests. Its children still report. */
  async remove(agentId: AgentId, reason = "removed by a person"): Promise<void> {
    const { store, clock } = this.#ports;
    const record = await store.agent(agentId);
    if (!record || record.stopped?.removed) throw new NotFoundError(`There is no agent ${agentId}.`);
    await this.stop(agentId, reason);
    for (const until = clock.monotonic() + DEFAULT_WAIT_MS; ; ) {
      const done = await submit(this.#ports, "agent.remove", [{ op: "agent.remove", agentId, reason }]);
      this.#host.ingress.forget(record.sessionKey);
      if (done.ok) return this.#host.emit({ type: "withdrawn" });
      if (clock.monotonic() >= until) {
        throw new TimeoutError("The agent was stopped, but is still at work.", { hint: "Try again later." });
      }
      await sleep(clock, REMOVE_AGAIN_MS);
    }
  }

  /** Removes an agent that has no work, for good. Nothing is stopped. */
  async removeIdle(agentId: AgentId, reason = "removed by a person"): Promise<void> {
    const record = await this.#ports.store.agent(agentId);
    if (!record || record.stopped?.removed) throw new NotFoundError(`There is no agent ${agentId}.`);
    const done =
      record.waiting === 0 && record.runId === undefined
        ? await submit(this.#ports, "agent.remove", [{ op: "agent.remove", agentId, reason }])
        : undefined;
    if (!done?.ok) {
      throw new DeniedError("The agent still has work.", {
        hint: "Stop it, and try again when it is idle.",
      });
    }
    this.#host.ingress.forget(record.sessionKey);
    this.#host.emit({ type: "withdrawn" });
  }

  /** Removes an agent of a forgotten person, at work or not, with everything it holds. Only a tombstone is left of its person. */
  async erase(agentId: AgentId, tombstone: string, also: readonly Op[] = []): Promise<void> {
    const record = await this.#ports.store.agent(agentId);
    if (!record) return;
    await this.#commit("agent.erase", [...also, { op: "agent.erase", agentId, tombstone }]);
    this.#host.ingress.forget(record.sessionKey);
  }

  /** Frees a swarm's name. Each of its agents is removed when it comes to rest. */
  async removeSwarm(nametag: string, by = "a person"): Promise<void> {
    const { store, clock } = this.#ports;
    await this.#commit("swarm.remove", await removeSwarmOps(store, nametag, by, clock.now()));
  }

  async #commit(site: CommitSite, ops: readonly Op[]): Promise<void> {
    const done = await submit(this.#ports, site, ops, { claimFor: this.#host.claimFor() });
    if (!done.ok) throw new NotFoundError(done.detail, { hint: "Nothing was changed." });
    emitPosted(this.#host.emit, done.results);
  }
}

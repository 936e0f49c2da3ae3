/** What people and tools may do with runs on any node: read the state of one, wait for it, steer it, abort it. */

import type { AgentId, RunId } from "../../core/ids.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { RunRecord } from "../../core/run/run.ts";
import type { Membership } from "../cluster/membership.ts";
import { submit } from "../commit/submit.ts";
import type { LiveRun, RunState } from "../runtime/live-run.ts";
import type { RunEvents } from "../runtime/run-events.ts";
import type { Actor } from "./actor.ts";
import type { ActorRegistry } from "./actor-registry.ts";
import type { MessageIngress } from "./message-ingress.ts";
import { type LiveRuns, type RunEnd, runState, waitForRun } from "./run-tracking.ts";

export interface RunControlHost {
  readonly events: RunEvents;
  readonly ingress: MessageIngress;
  readonly actors: ActorRegistry;
  readonly membership: Pick<Membership, "node" | "shared">;
}

export class RunControl {
  readonly #ports: Ports;
  readonly #host: RunControlHost;
  readonly #live: LiveRuns;

  constructor(ports: Ports, host: RunControlHost) {
    this.#ports = ports;
    this.#host = host;
    this.#live = { stateOf: (runId) => this.#at(runId)?.run?.state ?? (this.#queuedAt(runId) ? "queued" : undefined) };
  }

  /** The state of a run, on any node. */
  state(runId: RunId): Promise<RunState | "unknown"> {
    return runState(this.#ports, this.#live, runId);
  }

  /** The live run of an agent on this node. */
  live(agentId: AgentId): LiveRun | undefined {
    return this.#host.actors.get(agentId)?.run;
  }

  /** The run of an agent that waits for a lane on this node. */
  queued(agentId: AgentId): RunId | undefined {
    return this.#host.actors.get(agentId)?.queued?.runId;
  }

  /** Waits for a run's end; always settles. */
  wait(runId: RunId, timeoutMs?: number): Promise<RunEnd> {
    return waitForRun(this.#ports, this.#host.events, this.#live, runId, timeoutMs);
  }

  /** Marks a run to end, on any node. False if it has ended already or does not exist. */
  async abort(runId: RunId, reason: "person" | "stop" = "person"): Promise<boolean> {
    const { clock } = this.#ports;
    const queued = this.#queuedAt(runId)?.queued;
    if (queued) {
      queued.abort();
      return true;
    }
    const at = clock.now();
    const result = await submit(this.#ports, "abort", [{ op: "run.abort", runId, mark: { reason, at } }]);
    const [marked] = result.ok ? result.results : [];
    const done = marked?.op === "run.abort" && marked.marked;
    if (done) this.#at(runId)?.run?.end(reason);
    return done;
  }

  /**
   * Sends a text into an active run: durable when it resolves, and taken at the run's next step. False, and nothing is
   * posted, if the run is not streaming. A run on another node gets the text in every state; if it does not take the text
   * up, the text runs next.
   */
  async steer(runId: RunId, text: string): Promise<boolean> {
    const here = this.#at(runId)?.run;
    if (here && here.state !== "streaming") return false;
    const run = here ?? (await this.#onAnotherNode(runId));
    if (!run) return false;
    const body = { kind: "user", text, queue: { mode: "steer" } } as const;
    await this.#host.ingress.post({ to: { agentId: run.agentId }, body, delivery: run.body.delivery });
    return true;
  }

  #at(runId: RunId): Actor | undefined {
    return this.#find(({ run }) => run?.id === runId);
  }

  #queuedAt(runId: RunId): Actor | undefined {
    return this.#find(({ queued }) => queued?.runId === runId);
  }

  #find(is: (actor: Actor) => boolean): Actor | undefined {
    for (const actor of this.#host.actors.all()) if (is(actor)) return actor;
    return undefined;
  }

  async #onAnotherNode(runId: RunId): Promise<RunRecord | undefined> {
    const { membership } = this.#host;
    if (!membership.shared) return undefined;
    const run = await this.#ports.store.run(runId);
    const agent = run?.state === "open" ? await this.#ports.store.agent(run.agentId as AgentId) : undefined;
    return agent?.runId === runId && agent.node !== undefined && agent.node !== membership.node ? run : undefined;
  }
}

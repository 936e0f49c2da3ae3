/** What people and tools may do to runs, wherever they run: ask where one stands, wait for it, speak into it, end it. */

import type { AgentId, RunId } from "../../core/ids.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { RunRecord } from "../../core/run/run.ts";
import { submit } from "../commit/submit.ts";
import type { RunState } from "../runtime/live-run.ts";
import type { RunEvents } from "../runtime/run-events.ts";
import type { Actor } from "./actor.ts";
import type { MessageIngress } from "./message-ingress.ts";
import { type LiveRuns, type RunEnd, runState, waitForRun } from "./run-tracking.ts";

export interface RunControlHost {
  readonly events: RunEvents;
  readonly ingress: MessageIngress;
  actors(): Iterable<Actor>;
  node(): number;
  /** Whether there may be other nodes. */
  readonly shared: boolean;
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

  state(runId: RunId): Promise<RunState | "unknown"> {
    return runState(this.#ports, this.#live, runId);
  }

  wait(runId: RunId, timeoutMs?: number): Promise<RunEnd> {
    return waitForRun(this.#ports, this.#host.events, this.#live, runId, timeoutMs);
  }

  async abort(runId: RunId, reason: "person" | "stop"): Promise<boolean> {
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

  async steer(runId: RunId, text: string): Promise<boolean> {
    const here = this.#at(runId)?.run;
    if (here && here.state !== "streaming") return false;
    const run = here ?? (await this.#remoteNodes(runId));
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
    for (const actor of this.#host.actors()) if (is(actor)) return actor;
    return undefined;
  }

  async #remoteNodes(runId: RunId): Promise<RunRecord | undefined> {
    if (!this.#host.shared) return undefined;
    const run = await this.#ports.store.run(runId);
    const agent = run?.state === "open" ? await this.#ports.store.agent(run.agentId as AgentId) : undefined;
    return agent?.runId === runId && agent.node !== undefined && agent.node !== this.#host.node() ? run : undefined;
  }
}

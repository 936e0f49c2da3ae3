/** Lets people and tools read the state of a run on any node, wait for it, steer it and abort it. */

import { ConflictError } from "../../core/errors.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import { joined } from "../../core/people/behalf.ts";
import { sleep } from "../../core/ports/clock.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { RunOutcome, RunRecord, RunResult } from "../../core/run/run.ts";
import type { RunState } from "../../core/run/what-waits.ts";
import type { Op } from "../../core/store/change.ts";
import type { Membership } from "../cluster/membership.ts";
import { submit } from "../commit/submit.ts";
import { type Emit, emitPosted } from "../engine-event.ts";
import { readRunResult } from "../runs/run-result.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import type { RunEvents } from "../runtime/run-events.ts";
import type { Actor } from "./actor/actor.ts";
import type { ActorRegistry } from "./actor/actor-registry.ts";
import type { MessageIngress, PostRequest } from "./message-ingress.ts";

const DEFAULT_RUN_WAIT_MS = 15_000;
/** How often the store is polled for a run that another node works on. */
const POLL_MS = 500;

type RunEnd =
  | { readonly status: "ended"; readonly outcome: RunOutcome; readonly result?: RunResult }
  | { readonly status: "timeout"; readonly state: RunState }
  | { readonly status: "unknown" };

interface RunControlHost {
  readonly events: RunEvents;
  readonly emit: Emit;
  readonly ingress: MessageIngress;
  readonly actors: ActorRegistry;
  readonly membership: Pick<Membership, "node" | "shared">;
}

export class RunControl {
  readonly #ports: Ports;
  readonly #host: RunControlHost;

  constructor(ports: Ports, host: RunControlHost) {
    this.#ports = ports;
    this.#host = host;
  }

  /** The state of a run, on any node; `unknown` if there is no such run. */
  async state(runId: RunId): Promise<RunState | "unknown"> {
    const here = this.#stateHere(runId);
    if (here) return here;
    const record = await this.#ports.store.run(runId);
    if (!record) return "unknown";
    if (record.state === "ended") return "ended";
    return record.body.suspended ? "suspended" : "active";
  }

  /** The live run of an agent on this node. */
  live(agentId: AgentId): LiveRun | undefined {
    return this.#host.actors.get(agentId)?.run;
  }

  /** The run of an agent that waits for a lane on this node. */
  queued(agentId: AgentId): RunId | undefined {
    return this.#host.actors.get(agentId)?.queued?.runId;
  }

  /** Waits for a run's end. Always settles: with the end, after the timeout, or at once for an unknown id. */
  async wait(runId: RunId, timeoutMs = DEFAULT_RUN_WAIT_MS): Promise<RunEnd> {
    const { clock } = this.#ports;
    const { promise, resolve } = Promise.withResolvers<RunEnd>();
    const done = new AbortController();
    const stop = this.#host.events.listenToEnds((event) => {
      if (event.runId !== runId || event.type !== "end") return;
      resolve({ status: "ended", outcome: event.result.outcome, result: event.result });
    });
    const cancel = clock.after(timeoutMs, () =>
      resolve({ status: "timeout", state: this.#stateHere(runId) ?? "active" }),
    );
    // A store that fails now may answer later; the timeout still ends the wait.
    void this.#pollEnd(runId, done.signal, resolve).catch(() => undefined);
    try {
      return await promise;
    } finally {
      done.abort();
      stop();
      cancel();
    }
  }

  async #pollEnd(runId: RunId, done: AbortSignal, resolve: (end: RunEnd) => void): Promise<void> {
    const { store, clock } = this.#ports;
    while (!done.aborted) {
      const state = this.#stateHere(runId);
      if (state === undefined || state === "ended") {
        const record = await store.run(runId);
        if (!record && this.#stateHere(runId) === undefined) return resolve({ status: "unknown" });
        if (record?.outcome) {
          const result = await readRunResult(store, runId);
          return resolve({ status: "ended", outcome: record.outcome, result });
        }
      }
      await sleep(clock, POLL_MS, done);
    }
  }

  /**
   * Marks a run to end, on any node. False if it has ended already or does not exist. `also` makes ops of the result, which
   * are committed with the mark; a run that waits for a lane is in this process only, and nothing is committed for it here.
   */
  async abort(
    runId: RunId,
    reason: "person" | "stop" = "person",
    also?: (aborted: boolean) => readonly Op[],
  ): Promise<boolean> {
    const { clock } = this.#ports;
    const queued = this.#queuedAt(runId)?.queued;
    if (queued) {
      queued.abort();
      return true;
    }
    const at = clock.now();
    const abort: Op = { op: "run.abort", runId, mark: { reason, at }, fresh: also && true };
    const run = await this.#ports.store.run(runId);
    const withdraw = withdrawal(run);
    const result = await submit(this.#ports, "abort", [abort, ...withdraw, ...(also?.(true) ?? [])]);
    if (!result.ok && also) {
      const late = await submit(this.#ports, "abort.late", also(false));
      if (!late.ok) throw new ConflictError(late.detail);
    }
    const [marked] = result.ok ? result.results : [];
    const done = marked?.op === "run.abort" && marked.marked;
    if (done) this.#at(runId)?.run?.end(reason);
    // A run that waits for its trial reads the mark now (M13).
    if (done && run) this.#host.actors.interruptWait(run.agentId);
    const results = result.ok ? result.results : [];
    emitPosted(this.#host.emit, results);
    for (const one of results) {
      // A suspended run has no actor that could read the mark.
      if (one?.op === "approval.withdraw" && one.woken) this.#host.emit({ type: "work-found", agentId: one.woken });
    }
    return done;
  }

  /**
   * Sends a text into an active run: durable when it resolves, and taken at the run's next step. False, and nothing is
   * posted, if the run is not streaming. A run on another node gets the text in every state; if it does not take the text
   * up, the text runs next. `more`: what the message is posted with.
   */
  async steer(runId: RunId, text: string, more: Partial<PostRequest> = {}): Promise<boolean> {
    const here = this.#at(runId)?.run;
    if (here && here.state !== "streaming") return false;
    const run = here ?? (await this.#onAnotherNode(runId));
    if (!run) return false;
    const body = { kind: "user", text, queue: { mode: "steer" } } as const;
    // A person who speaks into a run speaks for its person: the run acts for both.
    const of = run.body.behalf;
    const behalf = of && more.behalf ? joined(of.person, [of, more.behalf]) : (of ?? more.behalf);
    await this.#host.ingress.post({ ...more, behalf, to: { agentId: run.agentId }, body, delivery: run.body.delivery });
    return true;
  }

  #stateHere(runId: RunId): RunState | undefined {
    return this.#at(runId)?.run?.state ?? (this.#queuedAt(runId) ? "queued" : undefined);
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

/** The open questions of a run's agent are withdrawn with the mark (M31). */
const withdrawal = (run: RunRecord | undefined): readonly Op[] =>
  run?.state === "open"
    ? [{ op: "approval.withdraw", of: { agentId: run.agentId }, reason: "the run was aborted" }]
    : [];

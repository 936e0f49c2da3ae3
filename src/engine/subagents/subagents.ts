/**
 * The children of agents, in one object per node: what tools, commands and the engine itself do with the registry. Everything
 * durable is in the store; this object only holds the archive timer and the waits.
 */

import type { Settings } from "../../config/settings.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { SubagentRunOutcome, SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import type { Current } from "../../core/current.ts";
import {
  AbortedError,
  DeniedError,
  errorText,
  NotFoundError,
  TimeoutError,
  WaitCycleError,
} from "../../core/errors.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Message } from "../../core/message/message.ts";
import { sleep } from "../../core/ports/clock.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { RunRecord, RunResult } from "../../core/run/run.ts";
import type { Op } from "../../core/store/change.ts";
import type { CommitSite } from "../../core/store/commit-sites.ts";
import { assertMessageFits } from "../../core/text-limits.ts";
import { submit } from "../commit/submit.ts";
import type { DueSweep } from "../due-sweep.ts";
import { type Emit, emitPosted } from "../engine-event.ts";
import { Waits } from "../runs/waits.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import type { RunEvents } from "../runtime/run-events.ts";
import type { Settled } from "../runtime/run-ports.ts";
import {
  initSubagentRegistry,
  listSubagentRunsForRequester,
  type RegistryHost,
  releaseSubagentRun,
  reportGivenUp,
} from "./registry.ts";
import { endOfRun, endWithoutRun } from "./report.ts";
import type { ReportPeople } from "./report-target.ts";
import type { SubagentParts } from "./settings.ts";
import { type Spawned, type SpawnRequest, type SpawnResult, spawnSubagent } from "./spawn.ts";
import { stopChildrenOps, stopOps } from "./stop.ts";

/** The agents in memory on this node. */
export interface LiveAgents {
  /** The active run of an agent on this node. */
  runOf(agentId: AgentId): RunId | undefined;
  /** Waits without holding the place in a lane that the awaited agent may need (M11). */
  outsideLane<T>(agentId: AgentId, wait: Promise<T>): Promise<T>;
}

interface SubagentHost {
  readonly actors: LiveAgents;
  readonly events: RunEvents;
  readonly emit: Emit;
  /** The node that takes agents without an owner; undefined while it does not work. */
  claimFor(): number | undefined;
  /** Whether there may be other nodes. */
  readonly shared: boolean;
  /** The person a report is for if its requester is gone. */
  readonly people: ReportPeople;
  readonly settings: Current<Settings>;
  readonly parts: SubagentParts;
}

export type SubagentWait =
  | { readonly status: "ended"; readonly outcome: SubagentRunOutcome }
  | { readonly status: "timeout" }
  | { readonly status: "unknown" };

interface SubagentWaiting {
  readonly timeoutMs?: number;
  readonly from?: AgentId;
  readonly signal?: AbortSignal;
  /** The id of the wait, the same after a restart. A caller that gives one also ends it. */
  readonly edge?: string;
}

export interface SubagentInfo {
  readonly record: SubagentRunRecord;
  /** The run, once it has begun. */
  readonly run?: RunRecord;
  readonly child?: AgentRecord;
}

/** How often the store is polled for a child that another node works on. */
const ASK_MS = 1_000;
export const DEFAULT_SUBAGENT_WAIT_MS = 60_000;

export class Subagents {
  readonly #ports: Ports & Pick<SubagentHost, "people" | "settings" | "parts"> & Pick<SubagentParts, "transcriptOf">;
  readonly #host: SubagentHost;
  readonly #waits: Waits<SubagentWait>;
  #sweep: DueSweep | undefined;
  /** The listener for run ends exists only while a caller waits for a child. */
  #waiting = 0;
  #unlisten = (): void => {};

  constructor(ports: Ports, host: SubagentHost) {
    const { people, settings, parts } = host;
    this.#ports = { ...ports, people, settings, parts, transcriptOf: parts.transcriptOf };
    this.#host = host;
    this.#waits = new Waits(ports.clock);
  }

  get #registryHost(): RegistryHost {
    const { emit, shared } = this.#host;
    return { emit, shared, committed: (ops) => this.committed(ops) };
  }

  init(): void {
    this.#sweep ??= initSubagentRegistry(this.#ports, this.#registryHost);
  }

  /** Suspends the waits of runs. They resume after the restart. */
  close(): void {
    this.#unlisten();
    this.#waits.suspend();
    this.#sweep?.stop();
    this.#sweep = undefined;
  }

  /** An agent cannot be restored. If it is a child, its requester gets the report. */
  givenUp(agentId: AgentId, reason: string): void {
    reportGivenUp(this.#ports, { agentId, reason }, this.#registryHost).catch((error) =>
      this.#ports.log.warn("a lost child will be reported at the next start", { error: errorText(error) }),
    );
  }

  // For the engine's own commits.

  async opsOnRunEnd(agent: AgentRecord, run: LiveRun, result: RunResult): Promise<readonly Op[]> {
    return endOfRun(this.#ports, agent, run, result);
  }

  async opsOnSettle(agent: AgentRecord, messages: readonly Message[], { reason }: Settled): Promise<readonly Op[]> {
    return endWithoutRun(this.#ports, agent, messages, reason);
  }

  stopChildren(agent: AgentRecord): Promise<{ readonly ops: readonly Op[]; readonly stopped: number }> {
    return stopChildrenOps(this.#ports.store, agent, this.#ports.clock.now());
  }

  /** Sets the archive timer for records that these committed ops have ended. */
  committed(ops: readonly Op[]): void {
    for (const op of ops) {
      if (op.op === "subagent.put" && op.record.archiveAtMs !== undefined)
        this.#sweep?.due(op.record.archiveAtMs + 1_000);
    }
  }

  // For tools and people.

  /** Checks a spawn and returns its ops; the child exists once they are committed. */
  spawn(request: SpawnRequest): Promise<Spawned> {
    return spawnSubagent(this.#ports, request);
  }

  /** Starts a child that no tool asks for. It exists when this resolves with `accepted`; `also` is committed with it. */
  async start(request: SpawnRequest, also: (result: SpawnResult) => readonly Op[]): Promise<SpawnResult> {
    const { result, ops } = await this.spawn(request);
    if (result.status === "accepted") await this.#commit("subagent.start", [...ops, ...also(result)]);
    return result;
  }

  list(requesterSessionKey: string): Promise<readonly SubagentRunRecord[]> {
    return listSubagentRunsForRequester(this.#ports.store, requesterSessionKey);
  }

  async info(runId: string): Promise<SubagentInfo> {
    const { store } = this.#ports;
    const record = await store.subagentRun(runId);
    if (!record) throw new NotFoundError(`There is no child run ${runId}.`, { hint: "It may have been archived." });
    const run = await store.run(runId as RunId);
    const child = record.childAgentId === undefined ? undefined : await store.agent(record.childAgentId as AgentId);
    return { record, run, child };
  }

  /** The ops that send a text to a child: into its active run, or as its next message. */
  async sendOps(runId: string, text: string, from: AgentId | undefined): Promise<readonly Op[]> {
    const { child } = await this.info(runId);
    if (!child || child.stopped) throw new NotFoundError("That child was stopped or removed; it takes no messages.");
    const active = child.runId !== undefined;
    const body = active
      ? ({ kind: "user", text, queue: { mode: "steer" } } as const)
      : ({ kind: "system", text, origin: from } as const);
    assertMessageFits(body);
    return [{ op: "message.post", to: { agentId: child.id }, message: { body, acceptedAt: this.#ports.clock.now() } }];
  }

  async send(runId: string, text: string, from?: AgentId): Promise<void> {
    await this.#commit("subagent.send", await this.sendOps(runId, text, from));
  }

  async stopRunOps(runId: string, reason: string): Promise<readonly Op[]> {
    const { record } = await this.info(runId);
    const { childAgentId } = record;
    if (childAgentId === undefined) throw new NotFoundError(`The agent of child run ${runId} is unknown.`);
    return stopOps(this.#ports.store, childAgentId as AgentId, reason, this.#ports.clock.now());
  }

  /** Stops a child and its descendants. Each of them still reports. */
  async stop(runId: string, reason = "stopped by a person", also: readonly Op[] = []): Promise<void> {
    await this.#commit("subagent.stop", [...(await this.stopRunOps(runId, reason)), ...also]);
  }

  /** Removes the record of a run that has ended. */
  async release(runId: string): Promise<void> {
    const { record } = await this.info(runId);
    if (await releaseSubagentRun(this.#ports, record.runId)) return;
    throw new DeniedError(`Child run ${runId} is at work and has not reported yet.`, { hint: "Stop it first." });
  }

  /**
   * Waits for a child's end; always settles. Polls the record, so a wait works across a restart and for a child on another
   * node. `from`: the agent whose run waits; its place in the lane is free until the answer.
   */
  async wait(runId: string, options: SubagentWaiting = {}): Promise<SubagentWait> {
    const { from, timeoutMs = DEFAULT_SUBAGENT_WAIT_MS, signal } = options;
    const record = await this.#ports.store.subagentRun(runId);
    if (!record) return { status: "unknown" };
    if (record.outcome) return { status: "ended", outcome: record.outcome };
    const waiter = from && this.#host.actors.runOf(from);
    const edge = options.edge ?? this.#ports.ids.uuid();
    if (from && waiter) await this.#beginWait(edge, from, waiter, record);
    if (this.#waiting++ === 0) {
      this.#unlisten = this.#host.events.listenToEnds((end) => void this.#lookUp(end.runId, true));
    }
    try {
      const waiting = this.#waits.wait(runId, { timeoutMs, signal, ofRun: waiter !== undefined });
      void this.#lookUp(runId);
      return await (from ? this.#host.actors.outsideLane(from, waiting) : waiting);
    } catch (error) {
      if (error instanceof TimeoutError || error instanceof AbortedError) return { status: "timeout" };
      throw error;
    } finally {
      if (--this.#waiting === 0) this.#unlisten();
      // A caller that gives the edge ends it in the commit that stores its own result.
      if (waiter && options.edge === undefined) await this.#commit("wait.end", [{ op: "wait.end", id: edge }]);
    }
  }

  /** A cycle of agents that wait for each other is refused before it closes (M11). */
  async #beginWait(edge: string, from: AgentId, runId: RunId, { childAgentId }: SubagentRunRecord): Promise<void> {
    if (childAgentId === undefined) return;
    const to = { agentId: childAgentId as AgentId };
    const ops: Op[] = [{ op: "wait.begin", id: edge, from, to, runId }];
    const done = await submit(this.#ports, "wait.begin", ops);
    if (done.ok) return;
    if (done.refused === "cycle") throw new WaitCycleError(done.detail, { hint: "Continue without waiting for it." });
    throw new NotFoundError(done.detail);
  }

  /** Settles the waits for a child as soon as its record has ended. */
  async #lookUp(runId: string, once = false): Promise<void> {
    const { clock, store, log } = this.#ports;
    while (this.#waits.has(runId)) {
      try {
        const record = await store.subagentRun(runId);
        if (!record) this.#waits.settle(runId, { status: "unknown" });
        else if (record.outcome) this.#waits.settle(runId, { status: "ended", outcome: record.outcome });
      } catch (error) {
        log.warn("could not read a child run", { run: runId, error: errorText(error) });
      }
      if (once) return;
      await sleep(clock, ASK_MS);
    }
  }

  async #commit(site: CommitSite, ops: readonly Op[]): Promise<void> {
    const result = await submit(this.#ports, site, ops, { claimFor: this.#host.claimFor() });
    if (!result.ok) throw new NotFoundError(result.detail, { hint: "Nothing was changed." });
    emitPosted(this.#host.emit, result.results);
  }
}

/**
 * The agents of one node: what is posted is accepted, agents are made on their first message, woken, worked and put to
 * sleep. Connectors are started last and stopped first, so that whatever they hand in finds everybody at work.
 */

import { z } from "zod";
import type { Config } from "../config/config-schema.ts";
import { type AgentRecord, DEFAULT_PROFILE } from "../core/agent.ts";
import type { AgentTree, TreeOptions } from "../core/agent-tree.ts";
import type { Op, OpResult, Owner, Posted, Recipient } from "../core/change.ts";
import { sleep } from "../core/clock.ts";
import { type Connector, type ConnectorHost, DEFAULT_REPLAY_HORIZON_MS } from "../core/connector.ts";
import type { Delivery, DeliveryContext } from "../core/delivery.ts";
import { type AgentDescriptor, type AgentFetchStrategy, agentDescriptorSchema } from "../core/descriptor.ts";
import type { Diagnosis } from "../core/diagnosis.ts";
import {
  CommitUnknownError,
  errorText,
  InvalidInputError,
  InvariantError,
  NotFoundError,
  RookeryError,
  TimeoutError,
  WaitCycleError,
} from "../core/errors.ts";
import { type AgentId, type DeliveryId, type EntryId, messageId, type RunId, type SessionKey } from "../core/ids.ts";
import {
  isSettled,
  type Message,
  type MessageBody,
  type MessageState,
  type NewMessage,
  type Source,
} from "../core/message.ts";
import type { StatePatch } from "../core/patch-state.ts";
import type { Ports } from "../core/ports.ts";
import type { QueueDedupeMode, QueueSettings } from "../core/queue.ts";
import type { RunRecord, RunResult } from "../core/run.ts";
import type { SendPolicy } from "../core/send-policy.ts";
import { sessionKeyOf } from "../core/session-key.ts";
import type { AgentState } from "../core/state.ts";
import { type AcceptResult, accept, recipientOf } from "../inbox/accept.ts";
import { resolveQueueSettings } from "../inbox/queue-settings.ts";
import { dropDelivery, retryDelivery } from "../outbox/dead-letters.ts";
import { DEFAULT_OUTBOX, Outbox, type OutboxOptions } from "../outbox/outbox.ts";
import { RunEvents } from "../runs/events.ts";
import { type LaneSizes, Lanes } from "../runs/lanes.ts";
import type { LiveRun, RunState } from "../runs/live-run.ts";
import { DEFAULT_RUN_SETTINGS, type RunPorts, type RunSettings } from "../runs/run-ports.ts";
import type { Budgets } from "../runs/spender.ts";
import { Actor, type ActorHost } from "./actor.ts";
import { branchMessage, settingMessage } from "./agent-commands.ts";
import { type AddressOf, type HostOptions, hostFor } from "./connector-host.ts";
import { diagnose } from "./diagnose.ts";
import { readTree } from "./live-tree.ts";
import { Membership } from "./membership.ts";
import { OneAtATime } from "./one-at-a-time.ts";
import { readRunResult } from "./run-result.ts";
import { type LiveRuns, type RunEnd, runState, type WhatWaits, waitForRun } from "./run-tracking.ts";
import type { SubagentSettings } from "./subagents/settings.ts";
import { stopOps } from "./subagents/stop.ts";
import { type SubagentHost, Subagents } from "./subagents/subagents.ts";
import { type InheritsParent, seedFor } from "./thread-fork.ts";
import { type TreeListener, TreeWatch } from "./tree-watch.ts";
import { Waits } from "./waits.ts";
import { whatWaits } from "./what-waits.ts";

export interface AgentSystemOptions {
  readonly nodeName: string;
  /** Absent: alone on this store. */
  readonly leaseMs?: number;
  readonly pollMs?: number;
  readonly restore?: "resume" | "discard";
  readonly lanes?: LaneSizes;
  readonly runs?: Partial<RunSettings>;
  readonly outbox?: Partial<Omit<OutboxOptions, "node">>;
  /** Agents kept in memory while they rest. */
  readonly warm?: number;
  readonly voice: RunPorts["voice"];
  /** What may be spent on models. Absent: nothing is limited. */
  readonly budgets?: Budgets;
  readonly limits?: RunPorts["limits"];
  /** How large contexts may be. Absent: the defaults, whatever the model. */
  readonly contextLimits?: RunPorts["contextLimits"];
  /** Which conversation a connector's message belongs to. Absent: one per person or group and channel, profile `main`. */
  readonly address?: AddressOf;
  /** The system agents there are. Absent: whatever tag is written to. */
  readonly systemTags?: readonly string[];
  readonly isOwner?: HostOptions["isOwner"];
  /** The words that begin a new session. */
  readonly resetTriggers?: readonly string[];
  /** Whether threads begin with their parent conversation's context. Default: all do. */
  readonly inheritsParent?: InheritsParent;
  readonly sendPolicy?: SendPolicy;
  /** Whether a session is to end by itself before the next message. Default: never. */
  readonly isStale?: (agent: AgentRecord, lastInteractionAt: number, now: number) => boolean;
  /** How messages are treated that arrive while a run is active. Default: one run each, in order. */
  readonly queue?: Config["queue"];
  readonly subagents?: Partial<SubagentSettings>;
  /** What others have to say at certain points of a run, beside children's reports; see `RunPorts`. */
  readonly hooks?: Pick<RunPorts, "alsoAtEnd" | "alsoAtSettle" | "replyOf" | "sessionFor">;
}

/** Whom a message is for: an agent by id, by what it is (made if there is none), or by how it is found. */
export type Address =
  | { agentId: AgentId }
  | { descriptor: AgentDescriptor; profile?: string; sessionKey?: SessionKey }
  | { strategy: AgentFetchStrategy };

export interface Posting {
  readonly to: Address;
  readonly body: MessageBody;
  readonly delivery?: DeliveryContext;
  readonly source?: Source;
  /** Makes a repeated posting the same message. */
  readonly key?: string;
  readonly replayHorizonMs?: number;
  readonly also?: readonly Op[];
}

export interface Waiting {
  readonly timeoutMs?: number;
  /** The agent whose run waits: others must not wait for it in a circle, and its place in a lane is free meanwhile (M11). */
  readonly from?: AgentId;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
  /** The wait's own name; whoever gives one commits its `wait.end`. */
  readonly edge?: string;
  /** The time runs from the message's acceptance, not from this call: a wait taken up again is not longer than one that was not. */
  readonly sinceAccepted?: boolean;
}

/** What a question of a run commits beside the message. */
interface Asking {
  begin(to: Recipient): readonly Op[];
  readonly owner: Owner | undefined;
}

/** What waiting for a message's end gives. Without a run where none was needed (a reset, a silent message). */
export interface Answer {
  readonly result: RunResult | undefined;
  /** What became of the message, where there is no result to tell it. */
  readonly ended?: { readonly state: MessageState; readonly reason?: string };
}

/** Without a configuration every message gets a run of its own, at once and in order; nothing is ever dropped. */
const PLAIN_QUEUE: Config["queue"] = {
  mode: "queue",
  debounceMs: 0,
  cap: Number.MAX_SAFE_INTEGER,
  drop: "old",
  dedupe: "message-id",
  byChannel: {},
};
const DEFAULT_WARM = 1_000;
const KNOWN_KEYS = 20_000;
const POLL_ALONE_MS = 30_000;
const POLL_SHARED_MS = 500;
export const DEFAULT_WAIT_MS = 30_000;
const REMOVE_AGAIN_MS = 200;
/** For so many leases nodes that fell silent are expected back before a run is failed for them (M13). */
const SILENT_LEASES = 4;
const ASK_TRIES = 5;
const ASK_AGAIN_MS = 100;

export class AgentSystem {
  readonly #ports: Ports;
  readonly #options: AgentSystemOptions;
  readonly #actors = new Map<AgentId, Actor>();
  readonly #degraded = new Map<AgentId, string>();
  /** Keys of agents that are there: seldom is one removed, so what was seen once need not be looked up again. */
  readonly #knownKeys = new Set<SessionKey>();
  readonly #waits: Waits<Answer>;
  readonly #suspects = new OneAtATime();
  /** The children agents have started. */
  readonly subagents: Subagents;
  readonly #treeWatch: TreeWatch;
  readonly #membership: Membership;
  readonly events: RunEvents;
  readonly lanes: Lanes;
  #outbox: Outbox | undefined;
  #host: ActorHost | undefined;
  #stopHints: (() => void) | undefined;
  readonly #gone = new AbortController();
  #restoring = false;
  #drained: Promise<void> | undefined;
  #phase: "new" | "loaded" | "started" | "draining" | "stopped" = "new";

  constructor(ports: Ports, options: AgentSystemOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#waits = new Waits(ports.clock);
    this.#treeWatch = new TreeWatch(ports.clock, ports.log);
    this.events = new RunEvents(ports.log);
    this.lanes = new Lanes(options.lanes);
    this.subagents = new Subagents(ports, this.#subagentHost(), options.subagents);
    const { nodeName: name, leaseMs } = options;
    const pollMs = options.pollMs ?? (leaseMs === undefined ? POLL_ALONE_MS : POLL_SHARED_MS);
    this.#membership = new Membership(
      ports,
      { name, leaseMs, pollMs },
      {
        claimed: (agentId, epoch) => this.#wake(agentId, epoch),
        polled: () => this.#rescan(),
        lost: () => this.#lost(),
      },
    );
  }

  get node(): number {
    return this.#membership.node;
  }
  get outbox(): Outbox {
    if (!this.#outbox) throw new InvariantError("AgentSystem must load before starting");
    return this.#outbox;
  }
  /** Agents that could not be restored, and why. */
  get degraded(): ReadonlyMap<AgentId, string> {
    return this.#degraded;
  }
  /** How many agents are in memory. */
  get loaded(): number {
    return this.#actors.size;
  }

  /** Joins the store. From here on messages can be accepted; nobody works yet. */
  async load(): Promise<void> {
    await this.#join();
    this.#phase = "loaded";
  }

  /** Takes a number among the nodes and sets up everything that acts under it. */
  async #join(): Promise<void> {
    const node = await this.#membership.join();
    const { clock, store, ids, log, connectors } = this.#ports;
    const outbox = new Outbox(
      { clock, store, ids, log, connectors },
      { ...DEFAULT_OUTBOX, ...this.#options.outbox, node },
    );
    this.#outbox = outbox;
    const options = this.#options;
    const runPorts: RunPorts = {
      ...this.#ports,
      settings: {
        ...DEFAULT_RUN_SETTINGS,
        silenceMs: SILENT_LEASES * (this.#options.leaseMs ?? 0),
        ...this.#options.runs,
      },
      events: this.events,
      ...this.#options.hooks,
      voice: this.#options.voice,
      sendPolicy: this.#options.sendPolicy,
      limits: this.#options.limits,
      get budgets() {
        return options.budgets;
      },
      alsoAtEnd: async (agent, run, result) => [
        ...(await this.subagents.alsoAtEnd(agent, run, result)),
        ...((await this.#options.hooks?.alsoAtEnd?.(agent, run, result)) ?? []),
      ],
      alsoAtSettle: async (agent, messages, reason) => [
        ...(await this.subagents.alsoAtSettle(agent, messages, reason)),
        ...((await this.#options.hooks?.alsoAtSettle?.(agent, messages, reason)) ?? []),
      ],
      stopChildren: (agent) => this.subagents.stopChildren(agent),
      contextLimits: this.#options.contextLimits,
      owed: (deliveries) => outbox.offer(deliveries),
      posted: (posted) => {
        for (const one of posted) this.#wakeIfOurs(one);
      },
    };
    const host: ActorHost = {
      ports: runPorts,
      lanes: this.lanes,
      node,
      restore: this.#options.restore ?? "resume",
      restoring: () => this.#restoring,
      startedAt: clock.now(),
      queueSettings: (message, state) => this.#queueSettings(message, state),
      isStale: (agent, last, now) => this.#options.isStale?.(agent, last, now) ?? false,
      dedupe: this.#dedupe,
      suspects: this.#suspects,
      rescan: () => void this.#rescan(),
      // Actors of a membership that was lost have nothing left to do, whatever they were about to.
      draining: () => this.#host !== host || this.#phase === "draining" || this.#phase === "stopped",
      settled: (messages, result) => {
        for (const { agentId, seq } of messages) {
          this.#waits.settle(messageId(agentId, seq), { result });
          this.#treeWatch.changed(agentId);
        }
        this.#forgetIdle();
      },
      claim: (agentId) => this.#hinted(agentId),
      degraded: (agentId, reason) => {
        this.#degraded.set(agentId, reason);
        log.error("an agent cannot be restored and is left as it is", { agent: agentId, reason });
        this.subagents.givenUp(agentId, reason);
      },
    };
    this.#host = host;
  }

  /** Takes up what a crash left, then lets the connectors in. */
  async start(): Promise<void> {
    if (this.#phase !== "loaded") throw new InvariantError("AgentSystem must load before starting");
    this.#phase = "started";
    this.#stopHints = this.#ports.store.onHint((agentId) => this.#hinted(agentId));
    await this.#rescan();
    this.#restoring = true;
    await this.#membership.start();
    this.#restoring = false;
    this.subagents.init();
    for (const connector of this.#ports.connectors.values()) await connector.start(this.connectorHost(connector));
  }

  /** What a connector may call. */
  connectorHost(connector: Pick<Connector, "name" | "replayHorizonMs">): ConnectorHost {
    return hostFor(connector, (posting) => this.post(posting), this.#options);
  }

  /** Durable when it resolves. */
  post(posting: Posting): Promise<AcceptResult> {
    return this.#post(posting);
  }

  async #post(posting: Posting, waits?: Asking): Promise<AcceptResult> {
    const { clock } = this.#ports;
    const { body, source, delivery } = posting;
    const message: NewMessage = { body, source, delivery, acceptedAt: clock.now() };
    const to = await this.#recipient(posting.to);
    const result = await this.#accept(posting, message, to, waits).catch((error) => {
      // The agent of a key that was known may have been removed: then it is made anew.
      if (!(error instanceof NotFoundError) || !("sessionKey" in to) || !this.#knownKeys.delete(to.sessionKey))
        throw error;
      return this.#recipient(posting.to).then((again) => this.#accept(posting, message, again, waits));
    });
    if (result.status !== "stale") this.#wakeIfOurs(result);
    return result;
  }

  #accept(posting: Posting, message: NewMessage, to: Recipient, waits?: Asking): Promise<AcceptResult> {
    return accept(this.#ports, {
      to,
      message,
      replayHorizonMs: posting.replayHorizonMs ?? DEFAULT_REPLAY_HORIZON_MS,
      claimFor: this.#phase === "started" && this.#host ? this.node : undefined,
      key: posting.key,
      also: waits ? [...(posting.also ?? []), ...waits.begin(to)] : posting.also,
      owner: waits?.owner,
    }).catch((error) => {
      // It may have been applied, and the agent claimed for us, without our learning of it.
      this.#membership.doubt();
      throw error;
    });
  }

  /**
   * Posts and waits for the end of the run that takes the message. Called again with the same key, also after a restart, it
   * waits for the same message, and gives its answer at once where there is one.
   */
  async postAndAwait(posting: Posting, options: Waiting = {}): Promise<Answer> {
    const { timeoutMs = DEFAULT_WAIT_MS, from, signal, sinceAccepted } = options;
    const { ids, clock, store } = this.#ports;
    const actor = from && this.#actors.get(from);
    const runId = actor?.run?.id;
    const edge = options.edge ?? ids.uuid();
    let meant: Recipient | undefined;
    const begin = (to: Recipient): readonly Op[] => {
      meant = to;
      return from && runId ? [{ op: "wait.begin", id: edge, from, to, runId }] : [];
    };
    try {
      // A circle is refused in the commit that would post the message: then nothing is posted.
      const asking: Asking = { begin, owner: actor?.asOwner };
      const posted = await this.#postForRun(posting, asking, signal);
      if (posted.status === "stale") throw new NotFoundError("The message is older than its channel may deliver.");
      const { agentId, seq } = posted;
      const before = posted.status === "duplicate" ? await store.message(agentId, seq) : undefined;
      if (before && isSettled(before)) return await this.#answerTo(before);
      // Asked before a restart under a name that means somebody else by now: it is the first one who is waited for.
      if (before && meant && "agentId" in meant && meant.agentId !== agentId) await this.#waitFor(begin({ agentId }));
      const gone = before && sinceAccepted ? clock.now() - before.acceptedAt : 0;
      const wait = { timeoutMs: Math.max(0, timeoutMs - gone), signal, ofRun: runId !== undefined };
      const waiting = this.#waits.wait(messageId(agentId, seq), wait);
      // It may have ended before we began to wait, or on another node.
      void this.#lookUp(agentId, seq);
      const answer = await (actor ? actor.outsideLane(waiting) : waiting);
      return answer.result ? answer : await this.#answerTo(await store.message(agentId, seq));
    } finally {
      // A caller that names the edge ends it together with what it makes of the answer.
      if (runId && options.edge === undefined) await this.#endWait(edge);
    }
  }

  /**
   * A run's question that has a key is asked again where the store did not answer: it is the same question. One that may still
   * be on its way is not told as refused, whatever is said of it when it is asked again.
   */
  async #postForRun(posting: Posting, asking: Asking, signal: AbortSignal | undefined): Promise<AcceptResult> {
    let unknown: CommitUnknownError | undefined;
    for (let tries = 1; ; tries++) {
      try {
        return await this.#post(posting, asking);
      } catch (error) {
        if (error instanceof CommitUnknownError) unknown = error;
        const passes = error instanceof RookeryError && error.retryable;
        if (!passes || !asking.owner || posting.key === undefined || tries >= ASK_TRIES) throw unknown ?? error;
        await sleep(this.#ports.clock, ASK_AGAIN_MS * 2 ** tries, signal);
        if (signal?.aborted) throw error;
      }
    }
  }

  async #waitFor(ops: readonly Op[]): Promise<void> {
    if (ops.length === 0) return;
    const { ids, clock, store } = this.#ports;
    const done = await store.commit({ id: ids.change(), site: "wait.begin", at: clock.now(), ops });
    if (!done.ok) throw new WaitCycleError(done.detail);
  }

  /** An edge that is left behind ends with its run. */
  async #endWait(id: string): Promise<void> {
    const { ids, clock, store, log } = this.#ports;
    await store
      .commit({ id: ids.change(), site: "wait.end", at: clock.now(), ops: [{ op: "wait.end", id }] })
      .catch((error) => log.warn("a wait could not be ended", { error: errorText(error) }));
  }

  async #answerTo(message: Message | undefined): Promise<Answer> {
    if (!message) return { result: undefined };
    const { runId, state, reason } = message;
    const result = runId && (await readRunResult(this.#ports.store, runId));
    return result ? { result } : { result: undefined, ended: { state, ...(reason ? { reason } : {}) } };
  }

  /** Waits until a message is settled. Without a result where that was before we began to wait, or on another node. */
  waitForMessage({ agentId, seq }: { agentId: AgentId; seq: number }, timeoutMs: number): Promise<Answer> {
    const waiting = this.#waits.wait(messageId(agentId, seq), { timeoutMs });
    void this.#lookUp(agentId, seq);
    return waiting;
  }

  /** The agent a strategy finds, also just after a restart and with nothing loaded. */
  async agentFor(strategy: AgentFetchStrategy): Promise<AgentId | undefined> {
    return (await this.#ports.store.agentFor(strategy))?.id;
  }

  /** Marks a run to end, wherever it runs. False where it had ended already or nobody knows it. */
  async abort(runId: RunId, reason: "person" | "stop" = "person"): Promise<boolean> {
    const { ids, clock, store } = this.#ports;
    for (const { queued } of this.#actors.values()) {
      if (queued?.runId !== runId) continue;
      queued.abort();
      return true;
    }
    const at = clock.now();
    const result = await store.commit({
      id: ids.change(),
      site: "abort",
      at,
      ops: [{ op: "run.abort", runId, mark: { reason, at } }],
    });
    const [marked] = result.ok ? result.results : [];
    const done = marked?.op === "run.abort" && marked.marked;
    if (done) for (const actor of this.#actors.values()) if (actor.run?.id === runId) actor.run.end(reason);
    return done;
  }

  /**
   * Stops an agent and everything it has started, on whichever nodes: once this resolves, nothing of it begins any more
   * (L7). A person's next message starts the agent again, unless it is a subagent.
   */
  async stop(agentId: AgentId, reason = "stopped by a person"): Promise<void> {
    const { store, clock } = this.#ports;
    const claimFor = this.#host ? this.node : undefined;
    const ops = await stopOps(store, agentId, reason, clock.now());
    await this.#change(
      "agent.stop",
      ops.map((op) => (op.op === "message.post" ? { ...op, claimFor } : op)),
    );
  }

  /** Takes a stop back. */
  async startAgain(agentId: AgentId): Promise<void> {
    await this.#change("agent.start", [{ op: "agent.stop", agentId, mark: null }]);
  }

  /** Stops an agent with all it has started, and removes it for ever once it rests. Its children still report. */
  async remove(agentId: AgentId, reason = "removed by a person"): Promise<void> {
    const { store, clock, ids } = this.#ports;
    const record = await store.agent(agentId);
    if (!record || record.stopped?.removed) throw new NotFoundError(`There is no agent ${agentId}.`);
    await this.stop(agentId, reason);
    for (const until = clock.monotonic() + DEFAULT_WAIT_MS; ; ) {
      const ops: Op[] = [{ op: "agent.remove", agentId, reason }];
      const done = await store.commit({ id: ids.change(), site: "agent.remove", at: clock.now(), ops });
      this.#knownKeys.delete(record.sessionKey);
      if (done.ok) return;
      if (clock.monotonic() >= until) {
        throw new TimeoutError(`Agent ${agentId} was stopped, but is still at work.`, { hint: "Try again later." });
      }
      await sleep(clock, REMOVE_AGAIN_MS);
    }
  }

  async #change(site: string, ops: readonly Op[]): Promise<void> {
    const { store, ids, clock } = this.#ports;
    const done = await store.commit({ id: ids.change(), site, at: clock.now(), ops });
    if (!done.ok) throw new NotFoundError(done.detail, { hint: "Nothing was changed." });
    this.#wakePosted(done.results);
  }

  #wakePosted(results: readonly (OpResult | undefined)[]): void {
    for (const result of results) if (result?.op === "message.post") this.#wakeIfOurs(result);
  }

  #subagentHost(): SubagentHost {
    return {
      posted: (results) => this.#wakePosted(results),
      runOf: (agentId) => this.#actors.get(agentId)?.run?.id,
      outsideLane: (agentId, wait) => this.#actors.get(agentId)?.outsideLane(wait) ?? wait,
      onRunEnd: (listener) => this.events.listen((event) => event.type === "end" && listener(event.runId)),
      node: () => (this.#host ? this.node : undefined),
      shared: this.#options.leaseMs !== undefined,
    };
  }

  /** Where a run stands, on whichever node. */
  runState(runId: RunId): Promise<RunState | "unknown"> {
    return runState(this.#ports, this.#liveRuns, runId);
  }

  /** Waits for a run's end; always settles. */
  waitForRun(runId: RunId, timeoutMs?: number): Promise<RunEnd> {
    return waitForRun(this.#ports, this.events, this.#liveRuns, runId, timeoutMs);
  }

  /**
   * Says something into an active run: durable when it resolves, and taken at the run's next step. False, and nothing is
   * posted, where the run is not streaming or is compacting. A run of another node is said something into whatever it is
   * doing; what it does not take up runs next.
   */
  async steer(runId: RunId, text: string): Promise<boolean> {
    const actor = [...this.#actors.values()].find(({ run }) => run?.id === runId);
    if (actor?.run && actor.run.state !== "streaming") return false;
    const run = actor?.run ?? (await this.#runElsewhere(runId));
    if (!run) return false;
    const body = { kind: "user", text, queue: { mode: "steer" } } as const;
    await this.post({ to: { agentId: run.agentId }, body, delivery: run.body.delivery });
    return true;
  }

  async #runElsewhere(runId: RunId): Promise<RunRecord | undefined> {
    if (this.#options.leaseMs === undefined) return undefined;
    const run = await this.#ports.store.run(runId);
    const agent = run?.state === "open" ? await this.#ports.store.agent(run.agentId) : undefined;
    return agent?.runId === runId && agent.node !== undefined && agent.node !== this.node ? run : undefined;
  }

  /** Who started whom, how each stands and what it has used. Bounded; costs what it shows. */
  tree(options?: TreeOptions): Promise<AgentTree> {
    return readTree(this.#ports.store, this.#ports.clock.now(), options);
  }

  /** Told which agents of this node have changed in the tree, a moment later and together. Returns how to stop. */
  onTreeChange(listener: TreeListener): () => void {
    const stopWatching = this.#treeWatch.listen(listener);
    const stopRuns = this.events.listen(({ type, agentId }) => {
      if (type === "start" || type === "restart" || type === "end") this.#treeWatch.changed(agentId);
    });
    return () => {
      stopRuns();
      stopWatching();
    };
  }

  /** What is under way and what is stuck. */
  diagnose(): Promise<Diagnosis> {
    const whatWaits = (agentId: AgentId): Promise<WhatWaits> => this.whatWaits(agentId);
    return diagnose({ ports: this.#ports, lanes: this.lanes, degraded: this.#degraded, whatWaits });
  }

  /** Changes what an agent was told to do differently. Durable when it resolves; its owner writes it in its turn. */
  async patch(agentId: AgentId, patch: StatePatch): Promise<AcceptResult> {
    return this.post({ to: { agentId }, body: await settingMessage(this.#ports.store, agentId, patch) });
  }

  /**
   * Goes back to an entry of the current session: what is said next continues from there. Resolves when it has happened,
   * in the message's turn; after `timeoutMs` it is still going to.
   */
  async branch(
    agentId: AgentId,
    entryId: EntryId,
    { summary, timeoutMs }: { summary?: string; timeoutMs?: number } = {},
  ): Promise<void> {
    const body = await branchMessage(this.#ports.store, agentId, entryId, summary);
    await this.postAndAwait({ to: { agentId }, body }, { timeoutMs });
  }

  /** What waits at an agent, what each message will do, and what was dropped. */
  async whatWaits(agentId: AgentId): Promise<WhatWaits> {
    const record = await this.#ports.store.agent(agentId);
    if (!record) throw new NotFoundError(`There is no agent ${agentId}.`);
    const actor = this.#actors.get(agentId);
    const live = { run: actor?.run, busyUntil: actor?.busyUntil };
    return whatWaits(this.#ports, agentId, live, (message) => this.#queueSettings(message, record.state), this.#dedupe);
  }

  get #liveRuns(): LiveRuns {
    return {
      stateOf: (runId) => {
        for (const { run, queued } of this.#actors.values()) {
          if (run?.id === runId) return run.state;
          if (queued?.runId === runId) return "queued";
        }
        return undefined;
      },
    };
  }

  get #dedupe(): QueueDedupeMode {
    return this.#options.queue?.dedupe ?? "message-id";
  }

  /** The run of an agent that still waits for a lane on this node, if any. */
  queuedRun(agentId: AgentId): RunId | undefined {
    return this.#actors.get(agentId)?.queued?.runId;
  }

  /** The live run of an agent on this node, if any. */
  liveRun(agentId: AgentId) {
    return this.#actors.get(agentId)?.run;
  }

  /** Owes an ended delivery once more, as a person asked (L12); it is taken up at once. */
  async retryDelivery(id: DeliveryId): Promise<Delivery> {
    const delivery = await retryDelivery(this.#ports, id);
    this.outbox.nudge(delivery.target);
    return delivery;
  }

  /** Gives up a delivery that waits, as a person asked; what stood behind it is taken up at once (M17). */
  async dropDelivery(id: DeliveryId): Promise<Delivery> {
    const delivery = await dropDelivery(this.#ports, id);
    this.outbox.nudge(delivery.target);
    return delivery;
  }

  /** Resolves when nobody works here and nothing is left to send now. */
  async settled(): Promise<void> {
    for (;;) {
      const working = [...this.#actors.values()].flatMap((actor) => actor.working ?? []);
      if (working.length > 0) await Promise.allSettled(working);
      await this.outbox.idle();
      const busy = [...this.#actors.values()].some((actor) => !actor.idle);
      if (!busy) return;
    }
  }

  /** Stops taking things in, sets runs aside at their next step, sends what is under way, and leaves. */
  drain(): Promise<void> {
    this.#drained ??= this.#drain();
    return this.#drained;
  }

  async #drain(): Promise<void> {
    const wasStarted = this.#phase === "started";
    this.#phase = "draining";
    this.#stopHints?.();
    if (wasStarted) {
      for (const connector of this.#ports.connectors.values()) {
        await connector
          .stop()
          .catch((error) => this.#ports.log.warn("a connector did not stop", { error: errorText(error) }));
      }
    }
    this.#membership.stop();
    this.subagents.close();
    for (const actor of this.#actors.values()) actor.drain();
    this.#waits.setAside();
    await Promise.allSettled([...this.#actors.values()].flatMap((actor) => actor.working ?? []));
    await this.#outbox?.stop();
    await this.#membership
      .leave()
      .catch((error) => this.#ports.log.warn("could not say goodbye", { error: errorText(error) }));
    this.#phase = "stopped";
    // Nobody will settle these any more: who waits learns it now, and nothing keeps the process from ending.
    this.#waits.abandon();
    this.#gone.abort();
  }

  /**
   * The lease has ended: nothing of ours can be committed any more. Model calls and tools are told to stop, what is in
   * memory is thrown away, and this process goes on as a new node.
   */
  async #lost(): Promise<void> {
    this.#host = undefined;
    for (const actor of this.#actors.values()) actor.lose();
    this.#actors.clear();
    void this.#outbox?.stop();
    await this.#join();
    // Not waited for: however long that takes, the new lease has to be renewed meanwhile.
    void this.#rescan();
    this.#membership
      .claimAll()
      .catch((error) => this.#ports.log.warn("agents will be claimed a little later", { error: errorText(error) }));
  }

  #queueSettings(message: Message, state: AgentState): Required<QueueSettings> {
    const { body, source, delivery } = message;
    return resolveQueueSettings({
      cfg: { queue: this.#options.queue ?? PLAIN_QUEUE },
      channel: source?.connector ?? delivery?.channel,
      sessionEntry: state,
      inlineOptions: body.kind === "user" ? body.queue : undefined,
    });
  }

  async #rescan(): Promise<void> {
    await this.#outbox
      ?.scan()
      .catch((error) => this.#ports.log.warn("the outbox could not be read", { error: errorText(error) }));
  }

  /** What was posted is worked on here where the agent is ours. */
  #wakeIfOurs({ agentId, duplicate, holder, waits }: Posted & { readonly waits?: Message }): void {
    if (!duplicate) this.#treeWatch.changed(agentId);
    if (!duplicate && holder?.node === this.node) this.#wake(agentId, holder.epoch, waits);
  }

  #wake(agentId: AgentId, epoch: number, waits?: Message): void {
    if (!this.#host || this.#phase !== "started") return;
    let actor = this.#actors.get(agentId);
    if (!actor) {
      actor = new Actor(this.#host, agentId, epoch);
      this.#actors.set(agentId, actor);
    } else {
      // The most recently woken stand last, so that the first idle ones are the coldest.
      this.#actors.delete(agentId);
      this.#actors.set(agentId, actor);
    }
    actor.wake(epoch, waits);
  }

  #hinted(agentId: AgentId): void {
    const actor = this.#actors.get(agentId);
    if (actor && !actor.idle) {
      actor.wake(0);
      if (actor.run) void this.#lookAtMark(actor.run);
    } else {
      void this.#membership
        .claimOne(agentId)
        .catch((error) => this.#ports.log.warn("could not follow a hint", { agent: agentId, error: errorText(error) }));
    }
  }

  /** Another node may have marked a run of ours to end: it does at once, and not at its next step. */
  async #lookAtMark(run: LiveRun): Promise<void> {
    try {
      const abort = (await this.#ports.store.run(run.id))?.abort;
      if (abort) run.end(abort.reason);
    } catch (error) {
      this.#ports.log.warn("could not look at a run's mark", { run: run.id, error: errorText(error) });
    }
  }

  /** Idle agents leave memory when there are more than enough; they come back on their next message. */
  #forgetIdle(): void {
    const limit = this.#options.warm ?? DEFAULT_WARM;
    if (this.#actors.size <= limit) return;
    for (const [agentId, actor] of this.#actors) {
      if (this.#actors.size <= limit) return;
      if (actor.idle && !actor.summarising) this.#actors.delete(agentId);
    }
  }

  async #recipient(to: Address): Promise<Recipient> {
    if ("agentId" in to) return to;
    if ("descriptor" in to) return this.#recipientOf(to);
    const agentId = await this.agentFor(to.strategy);
    if (!agentId) {
      throw new NotFoundError("No recent foreground agent found.", { hint: "Somebody must write to an agent first." });
    }
    return { agentId };
  }

  /** What it takes to make an agent is prepared only where there may be none; who comes first is decided by the commit. */
  async #recipientOf(to: Extract<Address, { descriptor: unknown }>): Promise<Recipient> {
    const { store } = this.#ports;
    const { descriptor, profile = DEFAULT_PROFILE, sessionKey = sessionKeyOf(descriptor, profile) } = to;
    if (this.#knownKeys.has(sessionKey)) return { sessionKey };
    const valid = agentDescriptorSchema.safeParse(descriptor);
    if (!valid.success) throw new InvalidInputError(`That cannot be an agent: ${z.prettifyError(valid.error)}`);
    if (descriptor.type === "system" && this.#options.systemTags?.includes(descriptor.tag) === false) {
      throw new NotFoundError(`Unknown system agent tag: ${descriptor.tag}`);
    }
    if (await store.agentByKey(sessionKey)) {
      if (this.#knownKeys.size >= KNOWN_KEYS) this.#knownKeys.clear();
      this.#knownKeys.add(sessionKey);
      return { sessionKey };
    }
    const { inheritsParent } = this.#options;
    return recipientOf(await seedFor(this.#ports, { descriptor, profile, sessionKey }, inheritsParent));
  }

  async #lookUp(agentId: AgentId, seq: number): Promise<void> {
    const key = messageId(agentId, seq);
    while (this.#waits.has(key)) {
      try {
        const message = await this.#ports.store.message(agentId, seq);
        // One that is no longer there was settled and has been pruned since.
        if (!message || isSettled(message)) {
          this.#waits.settle(key, await this.#answerTo(message));
          return;
        }
      } catch (error) {
        this.#ports.log.warn("could not look a message up", { id: key, error: errorText(error) });
      }
      await sleep(this.#ports.clock, 1_000, this.#gone.signal);
    }
  }
}

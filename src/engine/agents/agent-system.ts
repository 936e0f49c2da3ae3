/**
 * The agents of one node: what is posted is accepted, agents are made on their first message, woken, worked and put to
 * sleep. Connectors are started last and stopped first, so that whatever they hand in finds everybody at work.
 */

import type { AgentTree, TreeOptions } from "../../core/agent/agent-tree.ts";
import type { AgentFetchStrategy } from "../../core/agent/descriptor.ts";
import type { Diagnosis } from "../../core/agent/diagnosis.ts";
import type { StatePatch } from "../../core/agent/patch-state.ts";
import type { AgentState } from "../../core/agent/state.ts";
import type { Delivery } from "../../core/delivery/delivery.ts";
import { errorText, InvariantError, NotFoundError } from "../../core/errors.ts";
import type { AgentId, DeliveryId, EntryId, RunId } from "../../core/ids.ts";
import type { Message } from "../../core/message/message.ts";
import type { QueueDedupeMode, QueueSettings } from "../../core/message/queue.ts";
import type { Connector, ConnectorHost } from "../../core/ports/connector.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Op, OpResult, Posted } from "../../core/store/change.ts";
import { Membership } from "../cluster/membership.ts";
import { submit } from "../commit/submit.ts";
import type { AcceptResult } from "../inbox/accept.ts";
import { resolveQueueSettings } from "../inbox/queue-settings.ts";
import { dropDelivery, retryDelivery } from "../outbox/dead-letters.ts";
import { DEFAULT_OUTBOX, Outbox } from "../outbox/outbox.ts";
import { Lanes } from "../runs/lanes.ts";
import type { RunState } from "../runtime/live-run.ts";
import { Mutex } from "../runtime/mutex.ts";
import { RunEvents } from "../runtime/run-events.ts";
import { readTree } from "../subagents/live-tree.ts";
import { Subagents } from "../subagents/subagents.ts";
import { type TreeListener, TreeWatch } from "../subagents/tree-watch.ts";
import type { ActorHost } from "./actor-host.ts";
import { ActorRegistry } from "./actor-registry.ts";
import { branchMessage, settingMessage } from "./agent-commands.ts";
import { type AgentSystemOptions, PLAIN_QUEUE } from "./agent-system-options.ts";
import { type Answer, Answers, type Waiting } from "./answers.ts";
import { hostFor } from "./connector-host.ts";
import { diagnose } from "./diagnose.ts";
import { type EndingHost, removeAgent, removeSwarm, stopAgent } from "./end-agents.ts";
import { MessageIngress, type PostRequest } from "./message-ingress.ts";
import { RunControl } from "./run-control.ts";
import { runPortsOf } from "./run-ports-of.ts";
import type { RunEnd, WhatWaits } from "./run-tracking.ts";
import { whatWaits } from "./what-waits.ts";

const POLL_ALONE_MS = 30_000;
const POLL_SHARED_MS = 500;

export class AgentSystem {
  readonly #ports: Ports;
  readonly #options: AgentSystemOptions;
  readonly #actors: ActorRegistry;
  readonly #degraded = new Map<AgentId, string>();
  readonly #ingress: MessageIngress;
  readonly #answers: Answers;
  readonly #runs: RunControl;
  readonly #recoveryQueue = new Mutex();
  /** The children agents have started. */
  readonly subagents: Subagents;
  readonly #treeWatch: TreeWatch;
  readonly #membership: Membership;
  readonly events: RunEvents;
  readonly lanes: Lanes;
  #outbox: Outbox | undefined;
  #host: ActorHost | undefined;
  #stopHints: (() => void) | undefined;
  #restoring = false;
  #drained: Promise<void> | undefined;
  #phase: "new" | "loaded" | "started" | "draining" | "stopped" = "new";

  constructor(ports: Ports, options: AgentSystemOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#actors = new ActorRegistry(ports, options.warm);
    this.#treeWatch = new TreeWatch(ports.clock, ports.log);
    this.events = new RunEvents(ports.log);
    this.lanes = new Lanes(options.lanes);
    const { nodeName: name, leaseMs } = options;
    const shared = leaseMs !== undefined;
    this.#ingress = new MessageIngress(ports, options, {
      claimFor: () => this.#claimFor(),
      accepted: (posted) => this.#wakeIfOurs(posted),
      doubt: () => this.#membership.doubt(),
    });
    this.#answers = new Answers(ports, this.#ingress, (agentId) => this.#actors.get(agentId), options.remoteNodes);
    this.#runs = new RunControl(ports, {
      events: this.events,
      ingress: this.#ingress,
      actors: () => this.#actors.all(),
      node: () => this.node,
      shared,
    });
    this.subagents = new Subagents(
      ports,
      {
        posted: (results) => this.#wakePosted(results),
        runOf: (agentId) => this.#actors.get(agentId)?.run?.id,
        outsideLane: (agentId, wait) => this.#actors.get(agentId)?.outsideLane(wait) ?? wait,
        onRunEnd: (listener) => this.events.listenToEnds(({ runId }) => listener(runId)),
        node: () => (this.#host ? this.node : undefined),
        shared,
      },
      options.subagents,
    );
    const pollMs = options.pollMs ?? (leaseMs === undefined ? POLL_ALONE_MS : POLL_SHARED_MS);
    this.#membership = new Membership(
      ports,
      { name, leaseMs, pollMs },
      {
        claimed: (agentId, epoch) => {
          if (!this.#actors.isProcessing(agentId, epoch)) this.#wake(agentId, epoch);
        },
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
      {
        ...{ clock, store, ids, log, connectors },
        opsOnDelivered: this.#options.hooks?.opsOnDelivered,
        posted: (posted) => {
          for (const one of posted) this.#wakeIfOurs(one);
        },
      },
      { ...DEFAULT_OUTBOX, ...this.#options.outbox, node, alone: this.#options.leaseMs === undefined },
    );
    this.#outbox = outbox;
    const ports = runPortsOf(this.#ports, this.#options, {
      events: this.events,
      subagents: this.subagents,
      onDeliveries: (deliveries, results) => outbox.offer(deliveries, results),
      posted: (posted) => this.#wakeIfOurs(posted),
    });
    const host: ActorHost = {
      ports,
      lanes: this.lanes,
      node,
      restore: this.#options.restore ?? "resume",
      restoring: () => this.#restoring,
      startedAt: clock.now(),
      queueSettings: (message, state) => this.#queueSettings(message, state),
      isStale: (agent, last, now) => this.#options.isStale?.(agent, last, now) ?? false,
      dedupe: this.#dedupe,
      recoveryQueue: this.#recoveryQueue,
      rescan: () => void this.#rescan(),
      // Actors of a membership that was lost have nothing left to do, whatever they were about to.
      draining: () => this.#host !== host || this.#phase === "draining" || this.#phase === "stopped",
      settled: (messages, result) => {
        for (const message of messages) {
          this.#answers.settle(message, result);
          this.#treeWatch.changed(message.agentId);
        }
        this.#actors.forgetIdle();
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
  post(posting: PostRequest): Promise<AcceptResult> {
    return this.#ingress.post(posting);
  }

  /**
   * Posts and waits for the end of the run that takes the message. Called again with the same key, also after a restart, it
   * waits for the same message, and gives its answer at once where there is one.
   */
  postAndAwait(posting: PostRequest, options?: Waiting): Promise<Answer> {
    return this.#answers.toPosting(posting, options);
  }

  /** Waits until a message is settled. Without a result where that was before we began to wait, or on another node. */
  waitForMessage(message: { agentId: AgentId; seq: number }, timeoutMs: number): Promise<Answer> {
    return this.#answers.toMessage(message, timeoutMs);
  }

  /** The agent a strategy finds, also just after a restart and with nothing loaded. */
  async agentFor(strategy: AgentFetchStrategy): Promise<AgentId | undefined> {
    return (await this.#ports.store.agentFor(strategy))?.id;
  }

  /** Where a run stands, on whichever node. */
  runState(runId: RunId): Promise<RunState | "unknown"> {
    return this.#runs.state(runId);
  }

  /** Waits for a run's end; always settles. */
  waitForRun(runId: RunId, timeoutMs?: number): Promise<RunEnd> {
    return this.#runs.wait(runId, timeoutMs);
  }

  /** Marks a run to end, wherever it runs. False where it had ended already or nobody knows it. */
  abort(runId: RunId, reason: "person" | "stop" = "person"): Promise<boolean> {
    return this.#runs.abort(runId, reason);
  }

  /**
   * Says something into an active run: durable when it resolves, and taken at the run's next step. False, and nothing is
   * posted, where the run is not streaming or is compacting. A run of another node is said something into whatever it is
   * doing; what it does not take up runs next.
   */
  steer(runId: RunId, text: string): Promise<boolean> {
    return this.#runs.steer(runId, text);
  }

  /**
   * Stops an agent and everything it has started, on whichever nodes: once this resolves, nothing of it begins any more
   * (L7). A person's next message starts the agent again, unless it is a subagent.
   */
  stop(agentId: AgentId, reason = "stopped by a person"): Promise<void> {
    return stopAgent(this.#ports, this.#ending, agentId, reason);
  }

  /** Takes a stop back. */
  startAgain(agentId: AgentId): Promise<void> {
    return this.#change("agent.start", [{ op: "agent.stop", agentId, mark: null }]);
  }

  /** Stops an agent with all it has started, and removes it for ever once it rests. Its children still report. */
  remove(agentId: AgentId, reason = "removed by a person"): Promise<void> {
    return removeAgent(this.#ports, this.#ending, agentId, reason);
  }

  /** Takes a swarm's name back; its agents are removed as they come to rest. */
  removeSwarm(nametag: string, by = "a person"): Promise<void> {
    return removeSwarm(this.#ports, this.#ending, nametag, by);
  }

  get #ending(): EndingHost {
    return {
      claimFor: () => this.#claimFor(),
      change: (site, ops) => this.#change(site, ops),
      forget: (key) => this.#ingress.forget(key),
    };
  }

  /** This node, where it takes up agents that nobody holds. */
  #claimFor(): number | undefined {
    return this.#phase === "started" && this.#host ? this.node : undefined;
  }

  async #change(site: string, ops: readonly Op[]): Promise<void> {
    const done = await submit(this.#ports, site, ops);
    if (!done.ok) throw new NotFoundError(done.detail, { hint: "Nothing was changed." });
    this.#wakePosted(done.results);
  }

  #wakePosted(results: readonly (OpResult | undefined)[]): void {
    for (const result of results) if (result?.op === "message.post") this.#wakeIfOurs(result);
  }

  /** Who started whom, how each stands and what it has used. Bounded; costs what it shows. */
  tree(options?: TreeOptions): Promise<AgentTree> {
    return readTree(this.#ports.store, this.#ports.clock.now(), options);
  }

  /** Told which agents of this node have changed in the tree, a moment later and together. Returns how to stop. */
  onTreeChange(listener: TreeListener): () => void {
    const stopWatching = this.#treeWatch.listen(listener);
    const stopRuns = this.events.listenToOwn(({ type, agentId }) => {
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
      await Promise.allSettled(this.#actors.working());
      await this.outbox.idle();
      if (this.#actors.working().length === 0) return;
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
    for (const actor of this.#actors.all()) actor.drain();
    this.#answers.suspend();
    await Promise.allSettled(this.#actors.working());
    await this.#outbox?.stop();
    await this.#membership
      .leave()
      .catch((error) => this.#ports.log.warn("could not say goodbye", { error: errorText(error) }));
    this.#phase = "stopped";
    this.#answers.abandon();
  }

  /**
   * The lease has ended: nothing of ours can be committed any more. Model calls and tools are told to stop, what is in
   * memory is thrown away, and this process goes on as a new node.
   */
  async #lost(): Promise<void> {
    this.#host = undefined;
    this.#actors.lose();
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
    if (this.#host && this.#phase === "started") this.#actors.wake(this.#host, agentId, epoch, waits);
  }

  #hinted(agentId: AgentId): void {
    if (this.#actors.interruptWait(agentId)) return;
    void this.#membership
      .claimOne(agentId)
      .catch((error) => this.#ports.log.warn("could not follow a hint", { agent: agentId, error: errorText(error) }));
  }
}

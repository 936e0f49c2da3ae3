/**
 * The agents of one node. A message is accepted, its agent is created if it is new, woken, and released when it rests.
 * Connectors start last and stop first, so every message they submit finds the rest of the node at work.
 */

import { DEFAULT_PROFILE } from "../../core/agent/agent.ts";
import type { AgentFetchStrategy } from "../../core/agent/descriptor.ts";
import type { Diagnosis } from "../../core/agent/diagnosis.ts";
import { sessionKeyOf } from "../../core/agent/session-key.ts";
import { errorText, InvariantError } from "../../core/errors.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Message } from "../../core/message/message.ts";
import type { ConnectorHost } from "../../core/ports/connector.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { WhatWaits } from "../../core/run/what-waits.ts";
import type { Posted } from "../../core/store/change.ts";
import { Approvals } from "../approvals/approvals.ts";
import { Membership } from "../cluster/membership.ts";
import { hasSaid } from "../context/has-said.ts";
import type { Emit, EngineEvent } from "../engine-event.ts";
import type { FileService } from "../files/file-service.ts";
import type { AcceptResult } from "../inbox/accept.ts";
import { Outbox } from "../outbox/outbox.ts";
import { type Directory, directoryOf } from "../people/directory.ts";
import { holdWhileQuiet } from "../people/hold-while-quiet.ts";
import { Pairing } from "../people/pairing.ts";
import { configuredRules } from "../rights/configured-rules.ts";
import { Lanes } from "../runs/lanes.ts";
import { finalText } from "../runs/reply-texts.ts";
import { type People, peopleOf } from "../runtime/people.ts";
import { RunEvents } from "../runtime/run-events.ts";
import { LiveTree } from "../subagents/live-tree.ts";
import { Subagents } from "../subagents/subagents.ts";
import { ancestorsOf } from "../subagents/tree.ts";
import { type ActorHost, actorHostOf } from "./actor/actor-host.ts";
import { ActorRegistry } from "./actor/actor-registry.ts";
import type { AgentSystemOptions } from "./agent-system-options.ts";
import { type Answer, Answers, type Waiting } from "./answers.ts";
import { answerCommand, type CommandHost } from "./command-context.ts";
import { type Conversations, type HostOptions, hostFor } from "./connector-host.ts";
import { Deliveries } from "./deliveries.ts";
import { type ConversationName, type DescribedConversation, describeConversation } from "./describe-conversation.ts";
import { diagnose } from "./diagnose.ts";
import { type DropRequest, dropMessage } from "./drop-message.ts";
import { Lifecycle } from "./lifecycle.ts";
import { LiveViews } from "./live-views.ts";
import { MessageIngress, type PostRequest } from "./message-ingress.ts";
import { pressButton } from "./press-button.ts";
import { NodeFates, SILENT_LEASES } from "./recovery/node-fates.ts";
import { Trials } from "./recovery/trials.ts";
import { RunControl } from "./run-control.ts";
import { SessionControl } from "./sessions/session-control.ts";
import { whatWaits } from "./what-waits.ts";

export class AgentSystem {
  readonly #ports: Ports;
  readonly #options: AgentSystemOptions;
  readonly #emit: Emit = (event) => this.#on(event);
  readonly #actors: ActorRegistry;
  readonly #membership: Membership;
  readonly #ingress: MessageIngress;
  readonly #answers: Answers;
  /** Resolves when the node holds the agents that it found at its start. */
  readonly #claimed = Promise.withResolvers<void>();
  readonly #fates: NodeFates;
  readonly #degraded = new Map<AgentId, string>();
  readonly #views: LiveViews;
  readonly events: RunEvents;
  readonly lanes: Lanes;
  /** The state of runs, and waiting for, steering and aborting them. */
  readonly runs: RunControl;
  /** Lists, retries and drops deliveries of the outbox, and reads mailboxes. */
  readonly deliveries: Deliveries;
  /** The people agents work for, and where they can be reached. */
  readonly people: People;
  /** Who has which rights now. */
  readonly directory: Directory;
  /** Who waits to be let in. */
  readonly pairing: Pairing;
  /** Which agent started which. */
  readonly tree: LiveTree;
  /** The children that agents have started. */
  readonly subagents: Subagents;
  /** Stops, starts and removes agents. */
  readonly lifecycle: Lifecycle;
  /** Questions about calls that wait for a person. */
  readonly approvals: Approvals;
  /** Overrides and branches of agents' sessions. */
  readonly sessions: SessionControl;
  /** These belong to one membership. A node that joins again gets new ones. */
  #trials: Trials | undefined;
  #outbox: Outbox | undefined;
  #host: ActorHost | undefined;
  #scans = 0;
  #stopHints: (() => void) | undefined;
  #restoring = false;
  #drained: Promise<void> | undefined;
  #phase: "new" | "loaded" | "started" | "draining" | "stopped" = "new";

  constructor(ports: Ports, options: AgentSystemOptions) {
    const { nodeName: name, leaseMs, pollMs, settings } = options;
    this.#ports = ports;
    this.#options = options;
    this.events = new RunEvents(ports.log);
    this.lanes = new Lanes(settings);
    this.#fates = new NodeFates(ports, SILENT_LEASES * (leaseMs ?? 0));
    this.#actors = new ActorRegistry(ports, options.warm);
    this.#membership = new Membership(ports, { name, leaseMs, pollMs }, this.#emit);
    const [emit, events, actors, membership] = [this.#emit, this.events, this.#actors, this.#membership];
    const { shared } = membership;
    const claimFor = (): number | undefined => (this.#phase === "started" && this.#host ? this.node : undefined);
    this.directory = directoryOf(ports, settings);
    this.pairing = new Pairing(ports, this.directory);
    this.people = peopleOf(ports.store, settings, this.directory);
    const { people } = this;
    const ingress = new MessageIngress(ports, options, { emit, claimFor, people });
    this.#ingress = ingress;
    this.#answers = new Answers(ports, ingress, actors, options.remoteNodes);
    this.runs = new RunControl(ports, { emit, events, ingress, actors, membership });
    this.approvals = new Approvals(ports, {
      directory: this.directory,
      emit,
      shared,
      claimFor,
      partiesOf: (...asked) => (options.rights ? configuredRules(settings.current).partiesOf(...asked) : []),
      ancestorsOf: (agent) => ancestorsOf(ports.store, agent),
      offer: (delivery) => this.#outbox?.offer([delivery]),
    });
    this.deliveries = new Deliveries(ports, {
      ...{ emit, people, shared, claimFor, settings },
      opsOnDelivered: options.hooks?.opsOnDelivered,
    });
    this.tree = new LiveTree(ports, events);
    this.subagents = new Subagents(ports, {
      ...{ actors, events, emit, claimFor, shared, people, settings },
      parts: options.subagents ?? {},
    });
    this.#views = new LiveViews({
      ...{ events, connectors: ports.connectors, live: (agentId: AgentId) => this.runs.live(agentId) },
      shownOf: (text) => (settings.current.runs.enforceFinalTag ? finalText(text) : text),
    });
    this.lifecycle = new Lifecycle(ports, { ingress, people, emit, claimFor });
    this.sessions = new SessionControl(ports.store, ingress, this.#answers, options.commands?.models?.problem);
  }

  /** Files of people, if this system stores any. */
  get files(): FileService | undefined {
    return this.#options.files;
  }
  get node(): number {
    return this.#membership.node;
  }
  /** Agents that could not be restored, and why. */
  get degraded(): ReadonlyMap<AgentId, string> {
    return this.#degraded;
  }
  /** How many agents are in memory. */
  get loaded(): number {
    return this.#actors.size;
  }

  /** Joins the store. From here on messages can be accepted; no agent works yet. */
  async load(): Promise<void> {
    await this.#membership.join();
    this.#phase = "loaded";
  }

  /** Resumes the work that a crash left, then starts the connectors. */
  async start(): Promise<void> {
    if (this.#phase !== "loaded") throw new InvariantError("AgentSystem must load before starting");
    this.#phase = "started";
    this.#stopHints = this.#ports.store.onHint((agentId) => this.#claim(agentId));
    await this.deliveries.start();
    await this.#scanOutbox();
    this.#restoring = true;
    await this.#membership.start();
    this.#restoring = false;
    this.#claimed.resolve();
    this.subagents.init();
    this.approvals.start();
    this.#views.refresh();
    for (const connector of this.#ports.connectors.values()) await connector.start(this.connectorHost(connector));
  }

  /** Other settings are in force, and connectors may have been added or removed. */
  reloaded(): void {
    this.lanes.resized();
    if (this.#phase === "started") this.#views.refresh();
    this.deliveries.reloaded();
  }

  /** The functions that a connector may call. `post`: instead of posting as this system does. */
  connectorHost(
    connector: Parameters<typeof hostFor>[0],
    post: AgentSystem["post"] = (request) => this.post(request),
  ): ConnectorHost {
    const personOf = async (channel: string, userId: string) => (await this.directory.recent()).sender(channel, userId);
    const [conversations, pairing] = [this.#conversations, this.pairing];
    const receipt: HostOptions["receipt"] = (channel, one) => this.deliveries.receipt(channel, one);
    const { settings, files } = this.#options;
    return hostFor(connector, post, { settings, files, conversations, pairing, personOf, receipt });
  }

  readonly #conversations: Conversations = {
    agentAt: async ({ sessionKey, descriptor, profile = DEFAULT_PROFILE }) =>
      this.#ports.store.agentByKey(sessionKey ?? sessionKeyOf(descriptor, profile)),
    hasSaid: async (to, text) => {
      const agent = await this.#conversations.agentAt(to);
      return agent !== undefined && hasSaid(this.#ports.store, agent, text);
    },
    abort: (runId) => this.runs.abort(runId),
    press: (button) => {
      const { store, clock } = this.#ports;
      const { directory, approvals, pairing } = this;
      return pressButton(
        { clock, store, directory, approvals, pairing, post: (request) => this.post(request) },
        button,
      );
    },
  };

  /** Durable when it resolves. */
  post(request: PostRequest): Promise<AcceptResult> {
    return this.#ingress.post(request);
  }

  /**
   * Posts and waits for the end of the run that takes the message. A second call with the same key, even after a restart,
   * waits for the same message, and returns its answer at once if there is one.
   */
  postAndAwait(request: PostRequest, options?: Waiting): Promise<Answer> {
    return this.#answers.postAndAwait(request, options);
  }

  /** Waits until a message is settled. Without a result if it was settled before this call, or on another node. */
  waitForMessage(message: { agentId: AgentId; seq: number }, timeoutMs: number): Promise<Answer> {
    return this.#answers.waitForMessage(message, timeoutMs);
  }

  /** The agent that a strategy finds, even right after a restart with no agent in memory. */
  async agentFor(strategy: AgentFetchStrategy): Promise<AgentId | undefined> {
    return (await this.#ingress.agentFor(strategy))?.id;
  }

  /** The messages that wait at an agent, what each will do, and what was dropped. */
  whatWaits(agentId: AgentId): Promise<WhatWaits> {
    return whatWaits(this.#ports, this.#actors.get(agentId), this.#options.settings.current, agentId);
  }

  /** A person drops a message that waits. Durable when it resolves; rejects if the message does not wait any more. */
  async dropMessage(request: DropRequest): Promise<Message> {
    if (!this.#host) throw new InvariantError("AgentSystem must load before a message is dropped");
    const dropped = await dropMessage(this.#host.ports, this.#host.node, request);
    this.#emit({ type: "settled", messages: [dropped] });
    // The agent may rest because of this message, or may not have been able to read it.
    if (this.#degraded.delete(request.agentId)) this.#claim(request.agentId);
    else this.#actors.interruptWait(request.agentId);
    return dropped;
  }

  /** The parts of a conversation that a status line shows. `agent`: undefined before its first message. */
  describe(conversation: ConversationName): Promise<DescribedConversation> {
    return describeConversation(this.#ports, this.#options, conversation);
  }

  /** Active and stuck work. */
  diagnose(): Promise<Diagnosis> {
    const [ports, lanes, degraded] = [this.#ports, this.lanes, this.#degraded];
    return diagnose({ ports, lanes, degraded, whatWaits: (agentId) => this.whatWaits(agentId) });
  }

  /** Resolves when no agent works here and there is nothing to send now. */
  async settled(): Promise<void> {
    for (;;) {
      await Promise.allSettled(this.#actors.working());
      await this.#outbox?.idle();
      if (this.#actors.working().length === 0) return;
    }
  }

  /** Accepts nothing more, suspends runs at their next step, finishes the sends under way, and leaves the store. */
  drain(): Promise<void> {
    this.#drained ??= this.#drain();
    return this.#drained;
  }

  async #drain(): Promise<void> {
    const { connectors, log } = this.#ports;
    const started = this.#phase === "started";
    const joined = this.#phase !== "new";
    this.#phase = "draining";
    this.#stopHints?.();
    for (const connector of started ? connectors.values() : []) {
      await connector.stop().catch((error) => log.warn("a connector did not stop", { error: errorText(error) }));
    }
    this.#views.stop();
    this.#membership.stop();
    this.subagents.close();
    this.approvals.stop();
    this.#trials?.drain();
    for (const actor of this.#actors.all()) actor.drain();
    this.#answers.suspend();
    await Promise.allSettled(this.#actors.working());
    await this.deliveries.stop();
    await this.#outbox?.stop();
    if (joined) {
      await this.#membership
        .leave()
        .catch((error) => log.warn("the node could not leave the store", { error: errorText(error) }));
    }
    this.#phase = "stopped";
    this.#answers.abandon();
  }

  #on(event: EngineEvent): void {
    switch (event.type) {
      case "posted":
        this.#posted(event.posted);
        break;
      case "settled":
        for (const message of event.messages) {
          this.#answers.settle(message, event.result);
          this.tree.changed(message.agentId);
        }
        this.#actors.forgetIdle();
        break;
      case "claimed":
        if (!this.#actors.isProcessing(event.agentId, event.epoch)) this.#wake(event.agentId, event.epoch);
        break;
      case "work-found":
        this.#claim(event.agentId);
        break;
      case "degraded":
        this.#giveUp(event.agentId, event.reason);
        break;
      case "claim-unknown":
        // A system that has not joined claims nothing.
        if (this.#phase !== "new") this.#membership.doubt();
        break;
      case "deliveries-unknown":
        void this.#scanOutbox();
        break;
      case "written":
        void this.#outbox?.written(event.chat).catch((error) => {
          this.#ports.log.warn("questions of a chat could not be looked up", { error: errorText(error) });
        });
        break;
      case "withdrawn":
        this.approvals.withdrawn();
        break;
      case "delivery-moved":
        this.#outbox?.nudge(event.target);
        break;
      case "reached":
        void this.#outbox?.reached(event.target);
        break;
      case "joined":
        this.#joined(event.node);
        break;
      case "lease-lost":
        this.#host = undefined;
        this.#actors.lose();
        void this.#outbox?.stop();
        break;
      case "polled":
        if (this.#scans === 0) void this.#scanOutbox();
        this.deliveries.polled();
        break;
      default:
        event satisfies never;
    }
  }

  #posted({ agentId, duplicate, holder, waits }: Posted & { readonly waits?: Message }): void {
    if (duplicate) return;
    this.deliveries.accepted();
    this.tree.changed(agentId);
    if (holder?.node === this.node) this.#wake(agentId, holder.epoch, waits);
  }

  #wake(agentId: AgentId, epoch: number, waits?: Message): void {
    if (this.#host && this.#phase === "started") this.#actors.wake(this.#host, agentId, epoch, waits);
  }

  #giveUp(agentId: AgentId, reason: string): void {
    this.#degraded.set(agentId, reason);
    this.#ports.log.error("cannot restore an agent; leaving it unchanged", { agent: agentId, reason });
    this.subagents.givenUp(agentId, reason);
  }

  /** Sets up what acts under the node's number. */
  #joined(node: number): void {
    const [ports, options, emit] = [this.#ports, this.#options, this.#emit];
    const { store, clock } = ports;
    const outbox = new Outbox(
      {
        ...ports,
        opsOnDelivered: options.hooks?.opsOnDelivered,
        settings: options.settings,
        heldMs: holdWhileQuiet({ store, clock, people: this.people, settings: options.settings }),
        waiting: (state, target) => this.deliveries.waits(state, target),
        shownLate: () => emit({ type: "withdrawn" }),
        posted: (messages) => {
          for (const posted of messages) emit({ type: "posted", posted });
        },
      },
      { node, alone: !this.#membership.shared },
    );
    const fates = this.#fates;
    const pauseMs = this.#trials?.pauseLeft;
    const trials = new Trials(ports, { node, fates, claimed: this.#claimed.promise, pauseMs });
    const host: ActorHost = actorHostOf(ports, options, {
      ...{ events: this.events, subagents: this.subagents, lanes: this.lanes, outbox, node },
      ...{ people: this.people, directory: this.directory, approvals: this.approvals },
      ...{ trials, fates },
      answerCommand: (agent, message) => answerCommand(ports, options, this.#commandHost(), agent, message),
      restoring: () => this.#restoring,
      // Actors of a lost membership have nothing left to do.
      draining: () => this.#host !== host || this.#phase === "draining" || this.#phase === "stopped",
      emit,
    });
    [this.#host, this.#outbox, this.#trials] = [host, outbox, trials];
    if (this.#phase !== "new") void this.#scanOutbox();
  }

  #commandHost(): CommandHost {
    const { directory, people, approvals, pairing } = this;
    return {
      directory,
      people,
      approvals,
      pairing,
      whatWaits: (agentId) => this.whatWaits(agentId),
    };
  }

  async #scanOutbox(): Promise<void> {
    this.#scans += 1;
    try {
      await this.#outbox?.scan();
    } catch (error) {
      this.#ports.log.warn("the outbox could not be read", { error: errorText(error) });
    } finally {
      this.#scans -= 1;
    }
  }

  /** Wakes an agent that works here; otherwise claims it if no living node holds it. */
  #claim(agentId: AgentId): void {
    if (this.#actors.interruptWait(agentId)) return;
    this.#membership
      .claimOne(agentId)
      .catch((error) => this.#ports.log.warn("could not claim an agent", { agent: agentId, error: errorText(error) }));
  }
}

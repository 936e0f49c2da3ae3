/**
 * One agent at work on this node: takes what waits, runs, and rests. At most one of these lives per agent and node, and
 * the store lets only the owner commit, so an agent has one live run on any number of nodes (L2, L3).
 */

import { parseDescriptor } from "../../core/agent/descriptor.ts";
import { parseState } from "../../core/agent/state.ts";
import { CorruptDataError, errorText, RookeryError } from "../../core/errors.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Message } from "../../core/message/message.ts";
import type { Lane, RunResult } from "../../core/run/run.ts";
import type { Owner } from "../../core/store/change.ts";
import { afterRefusal, CommitRefused } from "../commit/commit-refused.ts";
import { measureContext } from "../runs/fit-context.ts";
import { Place } from "../runs/lanes.ts";
import { failRun, runLoop } from "../runs/loop.ts";
import { Attempts } from "../runs/recovery/attempts.ts";
import { resumeRun } from "../runs/recovery/resume.ts";
import { AgentLease } from "../runtime/agent-lease.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import { stopOf } from "../subagents/tree.ts";
import type { ActorHost } from "./actor-host.ts";
import { BackgroundCompaction } from "./background-compaction.ts";
import { drainStoppedInbox, removeForGood } from "./drain-stopped-inbox.ts";
import { answerAboutChildren, beginFresh, recordSilent, resetSession, settle, settleStop } from "./inbox-steps.ts";
import { InboxView } from "./inbox-view.ts";
import { isFlushDue, openFlush } from "./memory-flush.ts";
import { changeSettings } from "./sessions/change-settings.ts";
import { describeAgent } from "./sessions/describe-agent.ts";
import { goBack } from "./sessions/go-back.ts";
import { laneOf, type RunChoice, steerInto, takeRun } from "./take.ts";

export class Actor {
  readonly #host: ActorHost;
  readonly agentId: AgentId;
  #epoch: number;
  #lease: AgentLease | undefined;
  #run: LiveRun | undefined;
  #queued: { readonly runId: RunId; abort(): void } | undefined;
  #working: Promise<void> | undefined;
  #again = false;
  /** A fault of our own, which would come back, made us read the agent anew: that counts as a crash does (M13). */
  #faulted = false;
  /** Whether what is found waiting or under way is given up (`restore: "discard"`). */
  #discards: boolean;
  #failures = 0;
  /** When the last run ended here; what had come before that had to wait for it. */
  #busyUntil: number | undefined;
  /** Ends the wait for quiet. */
  #interruptWait: (() => void) | undefined;
  #place: Place | undefined;
  /** Lets the next suspect go on, where this agent's run is one (M13). */
  #releaseRecovery: (() => void) | undefined;
  /** A run was refused because the agent, or one above it, was stopped. */
  #stopped = false;
  readonly #inbox: InboxView;
  readonly #background = new BackgroundCompaction();
  readonly #attempts: Attempts;
  #flushWaits = false;

  constructor(host: ActorHost, agentId: AgentId, epoch: number) {
    this.#host = host;
    this.agentId = agentId;
    this.#epoch = epoch;
    this.#inbox = new InboxView(host, agentId);
    this.#attempts = new Attempts(host.ports);
    this.#discards = host.restore === "discard" && host.restoring();
  }

  get run(): LiveRun | undefined {
    return this.#run;
  }
  /** When the last run ended here. */
  get busyUntil(): number | undefined {
    return this.#busyUntil;
  }
  /** A run that still waits for a lane. */
  get queued(): { readonly runId: RunId; abort(): void } | undefined {
    return this.#queued;
  }
  /** The claim under which the agent is ours. */
  get epoch(): number {
    return this.#epoch;
  }
  get idle(): boolean {
    return this.#working === undefined;
  }
  get working(): Promise<void> | undefined {
    return this.#working;
  }
  /** Whether its context is being summarised in the background: it is better not forgotten now. */
  get summarising(): boolean {
    return this.#background.busy;
  }

  /** Something was posted, or the agent was claimed (again). `waits`: all that waits, where the one who wakes us knows. */
  wake(epoch: number, waits?: Message): void {
    this.#interruptWait?.();
    this.#inbox.known(this.#working ? undefined : waits);
    this.#epoch = Math.max(this.#epoch, epoch);
    this.#again = true;
    if (this.#run && this.#lease) void this.#inbox.lookAtArrivals(this.#run, this.#lease.state);
    if (this.#working) return;
    this.#working = this.#work().finally(() => {
      this.#working = undefined;
      if (this.#again && !this.#host.draining()) this.wake(this.#epoch);
      else this.#claimForContext();
    });
  }

  /** Sets the current run aside at its next step. */
  drain(): void {
    this.#interruptWait?.();
    this.#background.stop();
    this.#run?.end("drain");
  }

  /** What a commit in the name of the active run says of itself. */
  get asOwner(): Owner | undefined {
    if (!this.#run || !this.#lease) return undefined;
    const { agentId, node, epoch, sessionId } = this.#lease;
    return { agentId, node, epoch, sessionId, run: this.#run.guard() };
  }

  /** Waits for another agent without holding a place that agent may need (M11): neither in a lane nor among suspects. */
  async outsideLane<T>(wait: Promise<T>): Promise<T> {
    // Whatever becomes of it is told by the one who awaits it below.
    wait.catch(() => undefined);
    await this.#recordProgress();
    return this.#place ? this.#place.without(wait) : wait;
  }

  /** A run that was cut off before and has come as far as waiting is not what killed the node: that is progress (M13). */
  async #recordProgress(): Promise<void> {
    const [run, lease] = [this.#run, this.#lease];
    if (run && lease && run.attempt > 1) {
      const { id: runId, body } = run;
      await lease.commit({ site: "waits", ops: [{ op: "run.step", runId, body }], run: run.guard() });
      run.stepped(body);
    }
    this.#releaseRecovery?.();
  }

  /** The agent is no longer ours: the model and the tools are told to stop, nothing is committed. */
  lose(): void {
    this.#interruptWait?.();
    this.#background.stop();
    this.#run?.end("lost");
  }

  /** Between two steps: a summary that was written meanwhile is appended, what may be steered is taken into the run. */
  async #between(lease: AgentLease, run: LiveRun): Promise<void> {
    await this.#background.append(this.#host.ports, lease, run);
    for (const question of await this.#inbox.questions()) {
      await answerAboutChildren(this.#host.ports, lease, question);
      this.#settled([question]);
    }
    const messages = await this.#inbox.steerable(run);
    if (messages.length > 0) await steerInto(this.#host.ports, lease, run, messages);
  }

  async #work(): Promise<void> {
    const { ports } = this.#host;
    while (this.#again && !this.#host.draining()) {
      this.#again = false;
      try {
        while (!this.#host.draining() && (await this.#next(await this.#hold()))) this.#failures = 0;
      } catch (error) {
        this.#lease = undefined;
        this.#run = undefined;
        // Not ours, or claimed anew since: if somebody woke us meanwhile, the next look tells which.
        const next = afterRefusal(error);
        if (next === "yield") continue;
        if (next === "stop") {
          this.#stopped = true;
          this.#again = true;
          continue;
        }
        // What the store keeps as JSON and is none is as corrupt as what has the wrong shape.
        if (error instanceof CorruptDataError || error instanceof SyntaxError) {
          this.#host.emit({ type: "degraded", agentId: this.agentId, reason: errorText(error) });
          return;
        }
        // What was committed without our knowing may owe something.
        this.#host.emit({ type: "deliveries-unknown" });
        if (next === "rethrow") {
          // A fault that would come back for ever counts as a crash does (M13); one that passes by itself does not.
          if (!(error instanceof RookeryError && error.retryable)) this.#faulted = true;
          ports.log.error("an agent stumbled and is read anew", { agent: this.agentId, error: errorText(error) });
        }
        this.#failures += 1;
        const wait = Math.min(50 * 2 ** this.#failures, 30_000);
        await new Promise<void>((resolve) => ports.clock.after(wait, resolve));
        this.#again = true;
      }
    }
  }

  /** What we hold of the agent: kept while it is true, read from the store otherwise. */
  async #hold(): Promise<AgentLease> {
    const { ports, node } = this.#host;
    const held = this.#lease;
    if (held && !held.released && held.epoch === this.#epoch) return held;
    // Claimed again right after we gave it back: nobody was in between, so what is in memory still holds.
    if (held?.released && held.epoch + 1 === this.#epoch) {
      this.#lease = held.renewed({ node, epoch: this.#epoch });
      return this.#lease;
    }
    this.#lease = undefined;
    const record = await ports.store.agent(this.agentId);
    if (record?.node !== node)
      throw new CommitRefused("fenced", `Agent ${this.agentId} is held by node ${record?.node}.`);
    parseDescriptor(record.descriptor, `agent ${this.agentId}`);
    parseState(record.state, `agent ${this.agentId}`);
    this.#epoch = record.epoch;
    this.#lease = new AgentLease(ports, record, { node, epoch: record.epoch });
    return this.#lease;
  }

  /** Does one thing. False where there is nothing left to do and the agent was given back. */
  async #next(lease: AgentLease): Promise<boolean> {
    const { ports } = this.#host;
    // Whatever comes before the next choice may take what waits.
    if (lease.runId || this.#stopped || lease.record.stopped) this.#inbox.known(undefined);
    if (lease.runId) {
      await this.#resume(lease, lease.runId);
      return !lease.released;
    }
    this.#faulted = false;
    if (this.#stopped || lease.record.stopped) {
      const wound = await drainStoppedInbox(ports, lease);
      if (wound.is === "settled") return this.#settled(wound.messages);
      if (wound.is === "removing") {
        await removeForGood(lease, wound.stops, wound.reason);
        this.#lease = undefined;
        this.#settled(wound.stops);
        return false;
      }
      this.#stopped = false;
      // The mark in memory is not the one in the store.
      if (wound.is === "free" && lease.record.stopped) {
        this.#lease = undefined;
        return true;
      }
    }
    if (await this.#background.append(ports, lease)) return true;
    const { choice, messages, seen, now } = await this.#inbox.choose(lease, this.#busyUntil);
    if (this.#discards && (await this.#discard(lease, messages))) return true;
    this.#discards = false;
    switch (choice.act) {
      case "rest":
        // Only where the context is in memory: nobody reads a history to find that nothing is to be done.
        if (lease.size && (await this.#flush(lease))) return !lease.released;
        return this.#release(lease);
      case "wait":
        await this.#debounceUntil(choice.until);
        return true;
      case "reset":
        this.#background.stop();
        await resetSession(ports, lease, choice.message);
        return this.#settled([choice.message]);
      case "record":
        await recordSilent(ports, lease, choice.messages);
        return this.#settled(choice.messages);
      case "stop":
        // A stop may be for good: then everything else that waits goes first.
        if ((await ports.store.agent(this.agentId))?.stopped?.removing) {
          this.#stopped = true;
          return true;
        }
        await settleStop(ports, lease, choice.message);
        return this.#settled([choice.message]);
      case "settle":
        await this.#settle(lease, choice.message, choice.reason);
        return this.#settled([choice.message]);
      case "run":
        if (this.#isStale(lease, choice.messages, now)) {
          this.#background.stop();
          await beginFresh(ports, lease);
          return true;
        }
        if (choice.messages[0]?.body.kind !== "compact" && (await this.#flush(lease))) return !lease.released;
        return this.#take(lease, choice, seen);
    }
  }

  /** Waits as part of the work, so that nobody takes the agent for idle: for a time, or until something stirs. */
  async #quiet(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.#host.ports.clock.after(ms, resolve);
      this.#interruptWait = () => {
        cancel();
        resolve();
      };
    });
    this.#interruptWait = undefined;
  }

  /** The same however much arrives meanwhile, which is looked at then; only what overtakes ends it before. */
  async #debounceUntil(until: number): Promise<void> {
    const { clock } = this.#host.ports;
    for (let left = until - clock.now(); left > 0; left = until - clock.now()) {
      await this.#quiet(left);
      if (this.#host.draining() || until <= clock.now() || (await this.#inbox.overtaken())) return;
    }
  }

  /** Whether a person's message finds a session that should have ended by itself meanwhile. */
  #isStale({ record, state }: AgentLease, messages: readonly Message[], now: number): boolean {
    const last = state.lastInteractionAt;
    if (last === undefined || !messages.some(({ body }) => body.kind === "user")) return false;
    return this.#host.isStale({ ...record, state }, last, now);
  }

  /** A command that needs no run. */
  async #settle(lease: AgentLease, message: Message, reason: string): Promise<void> {
    const { ports } = this.#host;
    if (message.body.kind === "setting") return changeSettings(ports, lease, message);
    if (message.body.kind === "describe") return describeAgent(ports, lease, message);
    if (message.body.kind === "subagents") return answerAboutChildren(ports, lease, message);
    if (message.body.kind !== "branch") return settle(ports, lease, "settle", [message], "recorded", reason);
    // What is being summarised is perhaps no longer on the way.
    this.#background.stop();
    await goBack(ports, lease, message);
    // The tip is elsewhere now: what is in memory of the context is read anew.
    this.#lease = undefined;
  }

  #settled(messages: readonly Pick<Message, "agentId" | "seq">[], result?: RunResult): true {
    this.#host.emit({ type: "settled", messages, result });
    return true;
  }

  /** Gives the agent back. Refused where a message came in between: then there is more to do (M3). */
  async #release(lease: AgentLease): Promise<boolean> {
    const { results } = await lease.commit({ site: "release", ops: [{ op: "agent.release" }] });
    const [release] = results;
    lease.released = release?.op === "agent.release" && release.released;
    // Something came in that we have not seen: a message, or a commit we had given up. It is read anew (M2).
    if (!lease.released) this.#lease = undefined;
    return !lease.released;
  }

  /** A place in a lane; a wait for another agent gives it back for as long as it lasts (M11). */
  async #enter(lane: Lane, signal?: AbortSignal): Promise<Place | undefined> {
    const { lanes } = this.#host;
    const slot = await lanes.enter(lane, signal);
    this.#place = slot && new Place(lanes, lane, slot);
    return this.#place;
  }

  async #take(lease: AgentLease, choice: RunChoice, seen: number): Promise<boolean> {
    const { ports } = this.#host;
    // The run may have been promised to somebody under its id when its message was posted.
    const runId = choice.messages.find(({ asRun }) => asRun !== undefined)?.asRun ?? (ports.ids.uuid() as RunId);
    const queued = new AbortController();
    this.#queued = { runId, abort: () => queued.abort() };
    const place = await this.#enter(laneOf(lease), queued.signal);
    this.#queued = undefined;
    try {
      if (this.#host.draining()) return false;
      if (!place) {
        // Aborted while it waited for a lane: its messages never run.
        const reason = `run ${runId} was aborted before it began`;
        await settle(ports, lease, "abort.queued", choice.messages, "aborted", reason);
        return this.#settled(choice.messages);
      }
      // More came while it waited for a lane: what is taken is decided anew, a reset may go first.
      const looked = this.#again ? await this.#inbox.choose(lease, this.#busyUntil) : { choice, seen };
      const now = looked.choice;
      // What runs next may not be what the run was meant for.
      if (now.act !== "run" || now.messages[0]?.asRun !== choice.messages[0]?.asRun) return true;
      const run = await takeRun(ports, lease, runId, now, looked.seen).catch((error) => {
        // A reset came between the look and the commit, or a commit that was given up came in late after all: what there is
        // to do is read and decided anew (M10, M2).
        if (!(error instanceof CommitRefused) || error.refused !== "conflict") throw error;
        this.#lease = undefined;
        return undefined;
      });
      if (!run) return true;
      this.#inbox.taken();
      if (now.dropped.length > 0) this.#settled(now.dropped.map(({ message }) => message));
      await this.#drive(lease, run);
      return !lease.released;
    } finally {
      place?.leave();
    }
  }

  async #drive(lease: AgentLease, run: LiveRun): Promise<void> {
    this.#run = run;
    this.#inbox.runBegins();
    // What came while the run was being opened is looked at once more, now that the run can be ended.
    if (this.#again) void this.#inbox.lookAtArrivals(run, lease.state);
    if (this.#host.draining()) run.end("drain");
    try {
      const exit = await runLoop(this.#host.ports, lease, run, () => this.#between(lease, run));
      this.#busyUntil = this.#host.ports.clock.now();
      if (exit.kind === "ended") {
        const { agentId } = this;
        const messages = run.body.seqs.map((seq) => ({ agentId, seq }));
        this.#settled(messages, exit.result);
        await this.#afterRest(lease);
      }
    } finally {
      this.#run = undefined;
      this.#inbox.runEnded();
    }
  }

  /** A silent turn in which the agent writes down what matters, where its context will soon be compacted. */
  async #flush(lease: AgentLease): Promise<boolean> {
    const { ports } = this.#host;
    const measured = await measureContext(ports, lease);
    if (!isFlushDue(ports, lease, measured)) return false;
    const place = await this.#enter(laneOf(lease));
    try {
      if (this.#host.draining()) return false;
      const run = await openFlush(ports, lease, ports.ids.uuid() as RunId, measured.limits.memoryFlush);
      await this.#drive(lease, run);
      return true;
    } finally {
      place?.leave();
    }
  }

  /** A run has ended: what its context needs is begun now, while nobody waits for it. */
  async #afterRest(lease: AgentLease): Promise<void> {
    const { ports } = this.#host;
    if (this.#host.draining()) return;
    try {
      const measured = await measureContext(ports, lease);
      this.#flushWaits = isFlushDue(ports, lease, measured);
      if (!this.#flushWaits) await this.#background.start(ports, lease, measured, () => this.#claimForContext());
    } catch (error) {
      ports.log.warn("could not look after a context", { agent: this.agentId, error: errorText(error) });
    }
  }

  /** A flush or a summary waits and nobody works: the agent is claimed for it. Whoever works finds it by himself. */
  #claimForContext(): void {
    if (!this.idle || this.#host.draining() || !(this.#flushWaits || this.#background.isReady)) return;
    this.#flushWaits = false;
    this.#host.emit({ type: "work-found", agentId: this.agentId });
  }

  /** A run without an end: goes on from its last step, fails visibly after too many crashes, or is discarded. */
  async #resume(lease: AgentLease, runId: RunId): Promise<void> {
    const { ports, recoveryQueue } = this.#host;
    const record = await ports.store.run(runId);
    if (!record) throw new CorruptDataError(`Agent ${this.agentId} names the run ${runId}, which is not there.`);
    // Somebody else worked on it and went away, or it was we and our own fault. What the store alone is to blame for is neither.
    const counted = record.body.node !== lease.node || this.#faulted;
    this.#faulted = false;
    const leave = counted && record.attempt > 1 ? await recoveryQueue.enter() : undefined;
    this.#releaseRecovery = leave;
    const place = await this.#enter(record.body.lane);
    try {
      const same = { attempt: record.attempt, blamed: record.body.blamed ?? [] };
      const count = counted && !record.body.paused ? await this.#attempts.count(record, lease.node) : same;
      if ("waitMs" in count) {
        // Nobody stands behind it meanwhile: neither the next suspect nor who waits for a place.
        place?.leave();
        leave?.();
        this.#faulted = record.body.node === lease.node;
        await this.#quiet(count.waitMs);
        return;
      }
      const run = await resumeRun(ports, lease, record, count);
      if (this.#discards && counted) {
        const message = "The program was restarted; unfinished work is not taken up again (restore: discard).";
        await failRun(ports, lease, run, { kind: "internal", message });
        return;
      }
      if (run.attempt > ports.settings.maxAttempts) {
        const message = `This could not be finished: the program stopped ${ports.settings.maxAttempts} times while working on it.`;
        await failRun(ports, lease, run, { kind: "attempts", message });
        const { agentId } = this;
        this.#settled(run.body.seqs.map((seq) => ({ agentId, seq })));
        return;
      }
      // Nothing begins any more under a stop, not even what a crash interrupted (M20).
      if (await stopOf(ports.store, lease.record)) run.end("stop");
      // A reset or a stop may have been accepted before the crash.
      void this.#inbox.lookAtArrivals(run, lease.state);
      // The suspect is cleared by its first new step, or by its end.
      const stop =
        leave &&
        ports.events.listen((event) => {
          if (event.runId === runId && (event.type === "step" || event.type === "end")) leave();
        });
      try {
        await this.#drive(lease, run);
      } finally {
        stop?.();
      }
    } finally {
      place?.leave();
      leave?.();
      this.#releaseRecovery = undefined;
    }
  }

  /** `restore: "discard"`: what waited when the program started is not taken up; it leaves a trace. */
  async #discard(lease: AgentLease, waiting: readonly Message[]): Promise<boolean> {
    const old = waiting.filter((message) => message.acceptedAt < this.#host.startedAt);
    if (old.length === 0) return false;
    await settle(this.#host.ports, lease, "discard", old, "discarded", "restore: discard");
    return this.#settled(old);
  }
}

/**
 * Drives an actor's runs: enters a lane, opens the run, passes it through the loop, and begins what its context needs
 * afterwards. While a run waits for another agent, its place in the lane is free (M11).
 */

import type { Settings } from "../../../config/settings.ts";
import { errorText } from "../../../core/errors.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import type { Message } from "../../../core/message/message.ts";
import type { Behalf } from "../../../core/people/behalf.ts";
import type { Lane, RunResult } from "../../../core/run/run.ts";
import type { Owner } from "../../../core/store/change.ts";
import { CommitRefused } from "../../commit/commit-refused.ts";
import { BackgroundCompaction } from "../../context/compaction/background-compaction.ts";
import { type MeasuredContext, measureAtRest } from "../../context/measure-context.ts";
import { isFlushDue, openFlush } from "../../context/memory-flush.ts";
import { Place } from "../../runs/lanes.ts";
import { runLoop } from "../../runs/loop.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import type { LiveRun } from "../../runtime/live-run.ts";
import type { RunEventBody } from "../../runtime/run-events.ts";
import { changeSettings } from "../sessions/change-settings.ts";
import type { ActorHost } from "./actor-host.ts";
import { countsAsTry, countTry } from "./failed-tries.ts";
import { answerQuestion, settle } from "./inbox-steps.ts";
import type { InboxView } from "./inbox-view.ts";
import { type RunChoice, steerInto, takeRun } from "./take.ts";

/** What follows an action. `again`: there may be more to do. `reload`: the same, with the agent read from the store. `rest`: nothing is left. */
export type Next = "again" | "reload" | "rest";

/** What the driver needs from its actor. */
interface DriverActor {
  /** Whether something came since the actor last read its inbox. */
  woken(): boolean;
  /** A summary is ready to be appended, or a flush is due. */
  contextWorkDue(): void;
}

export class RunDriver {
  readonly #host: ActorHost;
  readonly #agentId: AgentId;
  readonly #inbox: InboxView;
  readonly #actor: DriverActor;
  /** Made when a context first comes near its limit. */
  background: BackgroundCompaction | undefined;
  /** A run that waits for a lane. */
  queued: { readonly runId: RunId; abort(): void } | undefined;
  /** When the last run ended here during which something came; a message that came before had to wait for it. */
  busyUntil: number | undefined;
  #driven: { readonly run: LiveRun; readonly lease: AgentLease } | undefined;
  #place: Place | undefined;
  /** Of the last run: what the agent does on its own afterwards counts for the same tokens. */
  #limits: Behalf["limits"];
  #flushIsDue = false;

  constructor(host: ActorHost, agentId: AgentId, inbox: InboxView, actor: DriverActor) {
    this.#host = host;
    this.#agentId = agentId;
    this.#inbox = inbox;
    this.#actor = actor;
  }

  get run(): LiveRun | undefined {
    return this.#driven?.run;
  }

  get asOwner(): Owner | undefined {
    if (!this.#driven) return undefined;
    const { agentId, node, epoch, sessionId } = this.#driven.lease;
    return { agentId, node, epoch, sessionId, run: this.#driven.run.guard() };
  }

  /** A place in a lane, held until it is left. Undefined if the signal aborted the wait. */
  async enter(lane: Lane, signal?: AbortSignal): Promise<Place | undefined> {
    const { lanes } = this.#host;
    const slot = await lanes.enter(lane, signal);
    this.#place = slot && new Place(lanes, lane, slot);
    return this.#place;
  }

  /** Opens a run for the chosen messages and drives it to its end. */
  async take(lease: AgentLease, choice: RunChoice, seen: number, settings: Settings): Promise<Next> {
    const { ports } = this.#host;
    // A message may name the id of its run, for a caller that was promised it.
    const runId = choice.messages.find(({ asRun }) => asRun !== undefined)?.asRun ?? (ports.ids.uuid() as RunId);
    const queued = new AbortController();
    this.queued = { runId, abort: () => queued.abort() };
    const place = await this.enter(lease.lane, queued.signal);
    this.queued = undefined;
    try {
      if (this.#host.draining()) return "rest";
      if (!place) {
        const reason = "the run was aborted before it began";
        await settle(ports, lease, "abort.queued", choice.messages, "aborted", reason);
        this.#settled(choice.messages);
        return "again";
      }
      // More came while it waited for a lane: choose again, because a reset goes first.
      const look = this.#actor.woken() ? await this.#inbox.choose(lease, this.busyUntil, settings) : { choice, seen };
      const now = look.choice;
      // The run id may belong to a message that is no longer next.
      if (now.act !== "run" || now.messages[0]?.asRun !== choice.messages[0]?.asRun) return "again";
      const run = await takeRun(ports, lease, runId, now, look.seen, settings).catch((error) => {
        // A reset, or a commit that was given up, came between the read and the commit (M2, M10).
        if (error instanceof CommitRefused && error.refused === "conflict") return undefined;
        throw error;
      });
      if (!run) return "reload";
      this.#inbox.taken();
      if (now.dropped.length > 0) this.#settled(now.dropped.map(({ message }) => message));
      await this.drive(lease, run, { type: "start" });
      return lease.released ? "rest" : "again";
    } finally {
      place?.leave();
    }
  }

  /** Passes a run through the loop until it ends or is suspended. `began`: emitted when listeners can find the live run. */
  async drive(lease: AgentLease, run: LiveRun, began?: RunEventBody): Promise<void> {
    const { ports, draining } = this.#host;
    this.#driven = { run, lease };
    if (began) ports.events.emit(run.position, began);
    this.#inbox.runBegins();
    // A message that came while the run was being opened may end it.
    if (this.#actor.woken()) void this.#inbox.lookAtArrivals(run, lease);
    if (draining()) run.end("drain");
    try {
      const exit = await runLoop(ports, lease, run, {
        between: () => this.#between(lease, run),
        background: this.background,
      });
      // What comes after the end has not waited for the run, however much later this line is reached.
      const endedAt = exit.kind === "ended" ? run.startedAt + exit.result.meta.durationMs : ports.clock.now();
      if (this.#actor.woken()) this.busyUntil = endedAt;
      if (exit.kind !== "ended") return;
      this.#settled(
        run.body.seqs.map((seq) => ({ agentId: this.#agentId, seq })),
        exit.result,
      );
      await this.#afterRest(lease, run);
    } finally {
      this.#driven = undefined;
      this.#inbox.runEnded();
    }
  }

  /** Between two steps: a finished summary is appended, questions are answered, steering messages enter the run. */
  async #between(lease: AgentLease, run: LiveRun): Promise<void> {
    const { ports } = this.#host;
    await this.background?.append(ports, lease, run);
    for (const question of await this.#inbox.questions()) {
      await this.#counted(lease, [question], async () => {
        if (question.body.kind === "setting") await changeSettings(ports, lease, question);
        else await answerQuestion(ports, lease, question);
        this.#settled([question]);
      });
    }
    const messages = await this.#inbox.steerable(run);
    if (messages.length > 0) await this.#counted(lease, messages, () => steerInto(ports, lease, run, messages));
  }

  /** A message that cannot be handled does not end the run that it came to: the try counts for the message (M48). */
  async #counted(lease: AgentLease, messages: readonly Message[], work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!countsAsTry(error)) throw error;
      this.#settled(await countTry(this.#host.ports, lease, messages, error));
    }
  }

  /** Waits for another agent without holding a place that agent may need (M11). */
  async outsideLane<T>(wait: Promise<T>): Promise<T> {
    // The await below reports a rejection.
    wait.catch(() => undefined);
    await this.#recordProgress();
    return this.#place ? this.#place.without(wait) : wait;
  }

  /** A recovered run that reaches a wait did not kill its node: that counts as progress (M13). */
  async #recordProgress(): Promise<void> {
    if (!this.#driven) return;
    const { run, lease } = this.#driven;
    if (run.attempt === 1 && !run.trial) return;
    const { id: runId, body } = run;
    await lease.commit({ site: "waits", ops: [{ op: "run.step", runId, body }], run: run.guard() });
    run.stepped(body);
  }

  /** A silent turn in which the agent writes down what matters, before its context is compacted. */
  async flush(lease: AgentLease): Promise<boolean> {
    const { ports } = this.#host;
    const measured = await measureAtRest(ports, lease);
    if (isFarFromLimits(measured) || !isFlushDue(ports, lease, measured)) return false;
    const place = await this.enter(lease.lane);
    try {
      if (this.#host.draining()) return false;
      const run = await openFlush(ports, lease, ports.ids.uuid() as RunId, measured.limits.memoryFlush, this.#limits);
      await this.drive(lease, run);
      return true;
    } finally {
      place?.leave();
    }
  }

  /** After a run: starts the flush or the background summary that the context needs, while no message waits for it. */
  async #afterRest(lease: AgentLease, { body: { behalf } }: LiveRun): Promise<void> {
    const { ports } = this.#host;
    this.#limits = behalf?.limits;
    if (this.#host.draining()) return;
    try {
      const measured = await measureAtRest(ports, lease);
      this.#flushIsDue = false;
      if (isFarFromLimits(measured)) return;
      this.#flushIsDue = isFlushDue(ports, lease, measured);
      if (!this.#flushIsDue) {
        this.background ??= new BackgroundCompaction();
        await this.background.start(ports, lease, measured, behalf, () => this.#actor.contextWorkDue());
      }
    } catch (error) {
      ports.log.warn("could not prepare the compaction of a context", {
        agent: this.#agentId,
        error: errorText(error),
      });
    }
  }

  /** Whether a flush or a finished summary needs a turn of the agent. The caller gives it one. */
  takeContextWork(): boolean {
    const due = this.#flushIsDue || (this.background?.isReady ?? false);
    this.#flushIsDue = false;
    return due;
  }

  #settled(messages: readonly Pick<Message, "agentId" | "seq">[], result?: RunResult): void {
    this.#host.emit({ type: "settled", messages, result });
  }
}

/** The flush has the lowest threshold: below it a context needs nothing. */
const isFarFromLimits = ({ tokens, thresholds }: MeasuredContext): boolean => tokens < thresholds.flush;

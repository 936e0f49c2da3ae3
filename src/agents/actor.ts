/**
 * One agent at work on this node: takes what waits, runs, and rests. At most one of these lives per agent and node, and
 * the store lets only the owner commit, so an agent has one live run on any number of nodes (L2, L3).
 */
import type { Op, Settlement } from "../core/change.ts";
import type { NewDelivery } from "../core/delivery.ts";
import { parseDescriptor } from "../core/descriptor.ts";
import { CorruptDataError, errorText } from "../core/errors.ts";
import type { AgentId, RunId, SessionId } from "../core/ids.ts";
import { isUrgent, type Message } from "../core/message.ts";
import type { Lane, RunBody, RunResult } from "../core/run.ts";
import { parseState } from "../core/state.ts";
import { chain, messageEntries, resetMarker } from "../history/entries.ts";
import { choose } from "../inbox/choose.ts";
import { owe } from "../outbox/owe.ts";
import { Holding, LostHolding } from "../runs/holding.ts";
import type { Lanes } from "../runs/lanes.ts";
import { LiveRun } from "../runs/live-run.ts";
import { failed, runLoop } from "../runs/loop.ts";
import { resumeRun } from "../runs/resume.ts";
import type { RunPorts } from "../runs/run-ports.ts";

/** How many waiting messages are looked at for one decision. */
const LOOK_AHEAD = 64;

export interface ActorHost {
  readonly ports: RunPorts;
  readonly lanes: Lanes;
  readonly node: number;
  readonly restore: "resume" | "discard";
  /** Whether the agents that are claimed now are those an earlier process left. */
  restoring(): boolean;
  readonly startedAt: number;
  /** Serialises the resumption of runs that were already resumed once without progress (M13). */
  readonly suspects: { enter(): Promise<() => void> };
  draining(): boolean;
  /** Something may have been committed that nobody here knows of: the outbox looks for itself. */
  rescan(): void;
  /** A run, or a message without one, has ended. */
  settled(messages: readonly { agentId: AgentId; seq: number }[], result: RunResult | undefined): void;
  /** The agent cannot be restored; the others go on. */
  degraded(agentId: AgentId, reason: string): void;
}

export class Actor {
  readonly #host: ActorHost;
  readonly agentId: AgentId;
  #epoch: number;
  #holding: Holding | undefined;
  #run: LiveRun | undefined;
  #working: Promise<void> | undefined;
  #again = false;
  /** True where a run that is found may have been cut off by a crash: at loading, and after a fault of our own. */
  #fresh = true;
  /** Whether what is found waiting or under way is given up (`restore: "discard"`). */
  #discards: boolean;
  #failures = 0;

  constructor(host: ActorHost, agentId: AgentId, epoch: number) {
    this.#host = host;
    this.agentId = agentId;
    this.#epoch = epoch;
    this.#discards = host.restore === "discard" && host.restoring();
  }

  get run(): LiveRun | undefined {
    return this.#run;
  }
  get idle(): boolean {
    return this.#working === undefined;
  }
  get working(): Promise<void> | undefined {
    return this.#working;
  }

  /** Something was posted, or the agent was claimed (again). */
  wake(epoch: number): void {
    this.#epoch = Math.max(this.#epoch, epoch);
    this.#again = true;
    if (this.#run) void this.#lookForUrgent(this.#run);
    if (this.#working) return;
    this.#working = this.#work().finally(() => {
      this.#working = undefined;
      if (this.#again && !this.#host.draining()) this.wake(this.#epoch);
    });
  }

  /** Sets the current run aside at its next step. */
  drain(): void {
    this.#run?.end("drain");
  }

  /** A stop ends the run that works on what came before it; so does a person's reset, daily and idle ones wait (M10). */
  async #lookForUrgent(run: LiveRun): Promise<void> {
    try {
      const urgent = await this.#host.ports.store.waiting(this.agentId, { limit: 8, urgent: true });
      const last = Math.max(...run.body.seqs);
      for (const { body, seq } of urgent) {
        if (body.kind === "stop" && seq > last) run.end("person");
        if (body.kind === "reset" && body.by === "person") run.end("reset");
      }
    } catch (error) {
      this.#host.ports.log.warn("could not look for urgent messages", { agent: this.agentId, error: errorText(error) });
    }
  }

  async #work(): Promise<void> {
    const { ports } = this.#host;
    while (this.#again && !this.#host.draining()) {
      this.#again = false;
      try {
        while (!this.#host.draining() && (await this.#next(await this.#hold()))) this.#failures = 0;
      } catch (error) {
        this.#holding = undefined;
        this.#run = undefined;
        // Not ours, or claimed anew since: if somebody woke us meanwhile, the next look tells which.
        if (error instanceof LostHolding && error.refused === "fenced") continue;
        // What the store keeps as JSON and is none is as corrupt as what has the wrong shape.
        if (error instanceof CorruptDataError || error instanceof SyntaxError) {
          this.#host.degraded(this.agentId, errorText(error));
          return;
        }
        // What was committed without our knowing may owe something.
        this.#host.rescan();
        if (!(error instanceof LostHolding)) {
          // A fault that would come back for ever counts as a crash does (M13).
          this.#fresh = true;
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
  async #hold(): Promise<Holding> {
    const { ports, node } = this.#host;
    const held = this.#holding;
    if (held && !held.released && held.epoch === this.#epoch) return held;
    // Claimed again right after we gave it back: nobody was in between, so what is in memory still holds.
    if (held?.released && held.epoch + 1 === this.#epoch) {
      this.#holding = held.renewed({ node, epoch: this.#epoch });
      return this.#holding;
    }
    this.#holding = undefined;
    const record = await ports.store.agent(this.agentId);
    if (record?.node !== node)
      throw new LostHolding("fenced", `Agent ${this.agentId} is held by node ${record?.node}.`);
    parseDescriptor(record.descriptor, `agent ${this.agentId}`);
    parseState(record.state, `agent ${this.agentId}`);
    this.#epoch = record.epoch;
    this.#holding = new Holding(ports, record, { node, epoch: record.epoch });
    return this.#holding;
  }

  /** Does one thing. False where there is nothing left to do and the agent was given back. */
  async #next(holding: Holding): Promise<boolean> {
    const { store } = this.#host.ports;
    if (holding.runId) {
      await this.#resume(holding, holding.runId);
      return !holding.released;
    }
    this.#fresh = false;
    const waiting = await store.waiting(this.agentId, { limit: LOOK_AHEAD });
    // Only where more waits than was looked at may something urgent stand behind it.
    const urgent =
      waiting.length < LOOK_AHEAD
        ? waiting.filter((message) => isUrgent(message.body))
        : await store.waiting(this.agentId, { limit: 1, urgent: true });
    if (this.#discards && (await this.#discard(holding, waiting))) return true;
    this.#discards = false;
    const choice = choose(urgent, waiting);
    switch (choice.act) {
      case "rest":
        return this.#release(holding);
      case "reset":
        await this.#reset(holding, choice.message);
        return true;
      case "record":
        await this.#record(holding, choice.messages);
        return true;
      case "stop":
        await this.#stopped(holding, choice.message);
        return true;
      case "settle":
        await this.#settle(holding, choice.message, choice.reason);
        return true;
      case "run":
        return this.#take(holding, choice.messages);
    }
  }

  /** Gives the agent back. Refused where a message came in between: then there is more to do (M3). */
  async #release(holding: Holding): Promise<boolean> {
    const { results } = await holding.commit({ site: "release", ops: [{ op: "agent.release" }] });
    const [release] = results;
    holding.released = release?.op === "agent.release" && release.released;
    return !holding.released;
  }

  async #take(holding: Holding, messages: readonly Message[]): Promise<boolean> {
    const { ports, lanes } = this.#host;
    const slot = await lanes.enter(laneOf(holding));
    try {
      if (!slot || this.#host.draining()) return false;
      const first = messages[0] as Message;
      const last = messages.at(-1) as Message;
      const runId = ports.ids.uuid() as RunId;
      const seqs = messages.map((message) => message.seq);
      const body: RunBody = {
        lane: laneOf(holding),
        seqs,
        delivery: last.delivery,
        replyToId: last.source?.messageId,
        calls: [],
        iterations: 0,
        deliveries: 0,
      };
      const entries = messageEntries(messages, runId);
      const ops: Op[] = [
        { op: "message.take", runId, seqs },
        { op: "run.open", runId, body },
      ];
      await holding.commit({ site: "take", ops, append: chain(ports.ids, holding, entries) });
      holding.runId = runId;
      const { agentId, sessionId } = holding;
      const startedAt = ports.clock.now();
      const run = new LiveRun({ id: runId, agentId, sessionId, startedAt, step: 1, attempt: 1, body });
      ports.events.emit({ agentId, runId, attempt: 1, step: 1 }, { type: "start" });
      ports.log.debug("run", { agent: agentId, run: runId, first: first.seq, last: last.seq });
      await this.#drive(holding, run);
      return !holding.released;
    } finally {
      slot?.release();
    }
  }

  async #drive(holding: Holding, run: LiveRun): Promise<void> {
    this.#run = run;
    // What came while the run was being opened is looked at once more, now that the run can be ended.
    if (this.#again) void this.#lookForUrgent(run);
    if (this.#host.draining()) run.end("drain");
    try {
      const exit = await runLoop(this.#host.ports, holding, run);
      if (exit.kind === "ended") {
        const { agentId } = this;
        this.#host.settled(
          run.body.seqs.map((seq) => ({ agentId, seq })),
          exit.result,
        );
      }
    } finally {
      this.#run = undefined;
    }
  }

  /** A run without an end: goes on from its last step, fails visibly after too many crashes, or is discarded. */
  async #resume(holding: Holding, runId: RunId): Promise<void> {
    const { ports, lanes, suspects } = this.#host;
    const record = await ports.store.run(runId);
    if (!record) throw new CorruptDataError(`Agent ${this.agentId} names the run ${runId}, which is not there.`);
    const counted = this.#fresh;
    this.#fresh = false;
    const leave = counted && record.attempt > 1 ? await suspects.enter() : undefined;
    const slot = await lanes.enter(record.body.lane);
    try {
      const run = await resumeRun(ports, holding, record, { counted });
      if (this.#discards && counted) {
        const message = "The program was restarted; unfinished work is not taken up again (restore: discard).";
        await failed(ports, holding, run, { kind: "internal", message });
        return;
      }
      if (run.attempt > ports.settings.maxAttempts) {
        const message = `This could not be finished: the program stopped ${ports.settings.maxAttempts} times while working on it.`;
        await failed(ports, holding, run, { kind: "attempts", message });
        const { agentId } = this;
        this.#host.settled(
          run.body.seqs.map((seq) => ({ agentId, seq })),
          undefined,
        );
        return;
      }
      // A reset or a stop may have been accepted before the crash.
      void this.#lookForUrgent(run);
      // The suspect is cleared by its first new step, or by its end.
      const stop =
        leave &&
        ports.events.listen((event) => {
          if (event.runId === runId && (event.type === "step" || event.type === "end")) leave();
        });
      try {
        await this.#drive(holding, run);
      } finally {
        stop?.();
      }
    } finally {
      slot?.release();
      leave?.();
    }
  }

  /** A new session: the marker, the state that belongs to the old one cleared, the person told. */
  async #reset(holding: Holding, message: Message): Promise<void> {
    const { ports } = this.#host;
    if (message.body.kind !== "reset") return;
    const at = ports.clock.now();
    const begins = ports.ids.uuid() as SessionId;
    const told = notice(ports, holding, message, at, RESET_TEXT);
    const ops: Op[] = [
      ...told.map((delivery): Op => ({ op: "delivery.add", delivery })),
      { op: "message.settle", settlements: [settlement(message, "recorded", "reset")] },
    ];
    await holding.commit({
      site: "reset",
      ops,
      append: chain(ports.ids, holding, [resetMarker(begins, at, message.body.text)]),
      state: { ...holding.state, tokens: null, updatedAt: at },
      begins,
    });
    ports.owed(told);
    this.#host.settled([message], undefined);
  }

  /** Settles a stop: the run it ended is there, or there was none. */
  async #stopped(holding: Holding, message: Message): Promise<void> {
    const { ports } = this.#host;
    const [run] = await ports.store.runs(this.agentId, { limit: 1 });
    const ended = run?.outcome === "aborted" && (run.endedAt ?? 0) >= message.acceptedAt;
    const at = ports.clock.now();
    const told = notice(ports, holding, message, at, ended ? STOPPED_TEXT : NOTHING_TO_STOP_TEXT);
    const reason = ended ? `stopped run ${run.id}` : "no run to stop";
    const ops: Op[] = [
      ...told.map((delivery): Op => ({ op: "delivery.add", delivery })),
      { op: "message.settle", settlements: [settlement(message, "recorded", reason)] },
    ];
    await holding.commit({ site: "stop", ops });
    ports.owed(told);
    this.#host.settled([message], undefined);
  }

  async #record(holding: Holding, messages: readonly Message[]): Promise<void> {
    const { ports } = this.#host;
    const entries = messageEntries(messages);
    const settlements = messages.map((message) => settlement(message, "recorded", "silent"));
    const append = chain(ports.ids, holding, entries);
    await holding.commit({ site: "record", ops: [{ op: "message.settle", settlements }], append });
    this.#host.settled(messages, undefined);
  }

  /** `restore: "discard"`: what waited when the program started is not taken up; it leaves a trace. */
  async #discard(holding: Holding, waiting: readonly Message[]): Promise<boolean> {
    const old = waiting.filter((message) => message.acceptedAt < this.#host.startedAt);
    if (old.length === 0) return false;
    const settlements = old.map((message) => settlement(message, "discarded", "restore: discard"));
    await holding.commit({ site: "discard", ops: [{ op: "message.settle", settlements }] });
    this.#host.settled(old, undefined);
    return true;
  }

  async #settle(holding: Holding, message: Message, reason: string): Promise<void> {
    const settlements = [settlement(message, "recorded", reason)];
    await holding.commit({ site: "settle", ops: [{ op: "message.settle", settlements }] });
    this.#host.settled([message], undefined);
  }
}

const settlement = ({ seq }: Message, state: Settlement["state"], reason?: string): Settlement => ({
  seq,
  from: "waiting",
  state,
  ...(reason ? { reason } : {}),
});

function laneOf({ record }: Holding): Lane {
  switch (record.descriptor.type) {
    case "subagent":
      return "subagent";
    case "cron":
    case "heartbeat":
      return "cron";
    default:
      return "main";
  }
}

export const RESET_TEXT = "Session reset.";
export const STOPPED_TEXT = "⚙️ Agent was aborted.";
export const NOTHING_TO_STOP_TEXT = "No active inference to stop.";

/** What a command owes to whoever gave it. */
function notice(ports: RunPorts, holding: Holding, message: Message, at: number, text: string): readonly NewDelivery[] {
  if (!message.delivery) return [];
  const { agentId } = holding;
  // A command is no run; its message's place makes the id of what it owes.
  const runId = `command-${agentId}-${message.seq}` as RunId;
  return owe({ agentId, runId, ordinal: 0, at, target: message.delivery, connectors: ports.connectors }, { text });
}

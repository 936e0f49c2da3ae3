/**
 * Streams the events of one agent, or of one of its runs. Committed entries come from the history, however long the reader
 * was away. Deltas come from the run itself and are not durable: a `restart` voids them (M24).
 */
import { errorText } from "../../../core/errors.ts";
import { type Entry, readEntry } from "../../../core/history/entry.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { AgentSystem } from "../../../engine/agents/agent-system.ts";
import type { Mailbox, Mailboxes } from "../../../engine/outbox/mailboxes.ts";
import type { RunEvent } from "../../../engine/runtime/run-events.ts";
import { type EventId, entryEventId, eventId } from "./event-id.ts";
import { type EventStreamWriter, eventFrame, type Frame } from "./event-stream-writer.ts";
import { deliveryFrame } from "./mailbox-stream.ts";
import { openEventStream, type StreamContext, type StreamRequest } from "./open-event-stream.ts";
import type { RunEventHub } from "./run-event-hub.ts";

export interface AgentStreamContext extends StreamContext {
  readonly ports: Pick<Ports, "clock" | "store" | "log">;
  readonly agents: Pick<AgentSystem, "runs" | "directory"> & {
    readonly deliveries: { readonly mailboxes: Pick<Mailboxes, "follow"> };
  };
  readonly runEvents: RunEventHub;
}

interface AgentStreamOptions {
  readonly agentId: AgentId;
  /** Only this run; the stream ends with it. */
  readonly runId?: RunId;
  /** The last event a returning reader has seen. */
  readonly seen?: EventId;
  /** The position of the first entry for a reader without `seen`. */
  readonly from: number;
  /** The position behind the last entry of a run that has ended. */
  readonly until?: number;
  /** The mailbox of the agent's person: what the agent says to it on its own is part of the stream. */
  readonly mailbox?: Mailbox;
}

const PAGE_SIZE = 100;
/** A returning reader gets at most this many missed entries. */
const MAX_REPLAYED = 2_000;
/** How often the stream asks the store whether a run on another node has ended. */
const POLL_MS = 3_000;
/** Events that start a step, so that a reader needs no `restart` before them. */
const STEP_STARTS: ReadonlySet<RunEvent["type"]> = new Set(["start", "restart", "step", "end"]);
/** Events that are emitted with a commit, so that new history entries precede them. */
const COMMITS: ReadonlySet<RunEvent["type"]> = new Set(["start", "step", "end"]);

export function streamAgent(request: StreamRequest<AgentStreamContext>, options: AgentStreamOptions): void {
  new AgentStream(request, options).start();
}

class AgentStream {
  readonly #context: AgentStreamContext;
  readonly #options: AgentStreamOptions;
  readonly #writer: EventStreamWriter;
  /** The position of the last entry that was sent. */
  #position: number;
  /** Tasks run one after the other: events keep arriving while entries are read from the store. */
  #tasks: Promise<void> = Promise.resolve();
  /** Set for a reader that returns to a run on another node: that node repeats its tail, and these events are skipped. */
  #seen: EventId | undefined;
  #isOver = false;

  constructor(request: StreamRequest<AgentStreamContext>, options: AgentStreamOptions) {
    this.#context = request.context;
    this.#options = options;
    this.#position = options.seen?.position ?? options.from - 1;
    this.#writer = openEventStream(request);
  }

  start(): void {
    const { runEvents } = this.#context;
    const { agentId, runId, seen } = this.#options;
    this.#writer.onClose(runEvents.subscribe(agentId, (event) => this.#onEvent(event)));
    // Read in the same tick as the subscription starts, so that no event is missed or sent twice.
    const current = runEvents.tailOf(agentId);
    const tail = current && (runId === undefined || current.runId === runId) ? current : undefined;
    if (!tail) this.#seen = seen;
    const missed = tail && seen?.runId === tail.runId ? tail.tail.after(seen) : undefined;
    const pending = missed ?? tail?.tail.events() ?? [];
    this.#enqueue(async () => {
      await this.#sendEntries();
      const [first] = pending;
      // What the reader has of the current step may be void or incomplete: it gets the whole step again.
      if (seen && !missed && first) this.#writer.write(restartFrame(first, this.#position));
      for (const event of pending) this.#writer.write(runEventFrame(event, this.#position));
      if (!tail) await this.#endIfRunEnded();
    });
    if (runId !== undefined && runEvents.isShared) this.#pollForEnd(runId);
    this.#followMailbox();
  }

  #followMailbox(): void {
    const { agentId, mailbox } = this.#options;
    if (!mailbox) return;
    const { mailboxes } = this.#context.agents.deliveries;
    const stop = mailboxes.follow(mailbox, (delivery) => {
      if (delivery.agentId === agentId) this.#enqueue(async () => this.#writer.write(deliveryFrame(delivery)));
    });
    this.#writer.onClose(stop);
  }

  #enqueue(task: () => Promise<void>): void {
    this.#tasks = this.#tasks.then(task).catch((error) => {
      const { log } = this.#context.ports;
      log.warn("a stream failed and was closed", { agent: this.#options.agentId, error: errorText(error) });
      this.#writer.close("slow");
    });
  }

  #onEvent(event: RunEvent): void {
    const { runId } = this.#options;
    if (this.#isOver || (runId !== undefined && event.runId !== runId)) return;
    const order = this.#seen && compareWithSeen(event, this.#seen);
    if (order === "seen") return;
    this.#seen = undefined;
    this.#enqueue(async () => {
      if (this.#isOver) return;
      if (COMMITS.has(event.type)) await this.#sendEntries();
      if (order === "unrelated" && !STEP_STARTS.has(event.type)) {
        this.#writer.write(restartFrame(event, this.#position));
      }
      this.#writer.write(runEventFrame(event, this.#position));
      if (event.type === "end" && runId !== undefined) this.#finish();
    });
  }

  #finish(): void {
    this.#isOver = true;
    this.#writer.close("done");
  }

  /** Sends the history entries behind the current position. */
  async #sendEntries(): Promise<void> {
    const { agentId, runId, until } = this.#options;
    const lines: { position: number; line: string }[] = [];
    let before = until;
    for (;;) {
      const page = await this.#context.ports.store.linesBack(agentId, { limit: PAGE_SIZE, before });
      const unsent = page.filter(({ position }) => position > this.#position);
      lines.push(...unsent);
      before = page.at(-1)?.position;
      if (unsent.length < PAGE_SIZE || before === undefined || lines.length >= MAX_REPLAYED) break;
    }
    for (const { position, line } of lines.reverse()) {
      this.#position = position;
      const read = readEntry(line);
      if (read.kind !== "entry" || (runId !== undefined && !isOfRun(read.entry, runId))) continue;
      this.#writer.write(entryFrame(read.entry, position));
    }
  }

  /** Ends the stream of a run whose end is in the store and was not sent as an event. */
  async #endIfRunEnded(): Promise<void> {
    const { runId } = this.#options;
    if (this.#isOver || runId === undefined) return;
    const run = await this.#context.ports.store.run(runId);
    if (run?.state !== "ended") return;
    const { agentId, attempt, step, outcome, body } = run;
    const id = eventId({ runId, attempt, step, seq: 0 }, this.#position);
    this.#writer.write(
      eventFrame("end", id, { type: "end", agentId, runId, attempt, step, outcome, error: body.error }),
    );
    this.#finish();
  }

  /** When the other node dies, or the connection to it is lost, its end event never arrives. */
  #pollForEnd(runId: RunId): void {
    const { agents, ports } = this.#context;
    let cancel = (): void => {};
    const poll = (): void => {
      cancel = ports.clock.after(POLL_MS, () => {
        if (agents.runs.live(this.#options.agentId)?.id !== runId) {
          this.#enqueue(async () => {
            if ((await ports.store.run(runId))?.state !== "ended" || this.#isOver) return;
            await this.#sendEntries();
            await this.#endIfRunEnded();
          });
        }
        poll();
      });
    };
    poll();
    this.#writer.onClose(() => cancel());
  }
}

/** `next` follows the seen event in the same step; `unrelated` belongs to another run, attempt or step. */
function compareWithSeen({ runId, attempt, step, seq }: RunEvent, seen: EventId): "seen" | "next" | "unrelated" {
  if (runId !== seen.runId || attempt !== seen.attempt || step !== seen.step) return "unrelated";
  return seq <= seen.seq ? "seen" : "next";
}

const isOfRun = (entry: Entry, runId: RunId): boolean => "runId" in entry && entry.runId === runId;

function runEventFrame(event: RunEvent, position: number): Frame {
  const id = eventId(event, position);
  if (event.type !== "delta") return eventFrame(event.type, id, event);
  return {
    joinKey: `delta ${event.stream}`,
    text: event.text,
    render: (text) => eventFrame("delta", id, { ...event, text }).render(""),
  };
}

function restartFrame({ agentId, runId, attempt, step }: RunEvent, position: number): Frame {
  const id = eventId({ runId, attempt, step, seq: 0 }, position);
  return eventFrame("restart", id, { type: "restart", agentId, runId, attempt, step });
}

const entryFrame = (entry: Entry, position: number): Frame =>
  eventFrame("entry", entryEventId(position), { type: "entry", position, entry });

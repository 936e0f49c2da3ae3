/**
 * Streams what happens at one agent, or in one of its runs. What was committed comes from history, whoever was away for
 * however long; what is being said now comes from the run itself and is not durable: a `restart` voids it (M24).
 */

import { errorText } from "../../../core/errors.ts";
import { type Entry, readEntry } from "../../../core/history/entry.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import type { RunEvent } from "../../../engine/runtime/run-events.ts";
import type { Call } from "../http/route.ts";
import { type EventId, eventId, placeId } from "./event-id.ts";
import type { EventStreamWriter, Frame } from "./event-stream-writer.ts";
import { openEventStream } from "./open-event-stream.ts";

export interface Following {
  readonly agentId: AgentId;
  /** Only this run; the stream ends with it. */
  readonly runId?: RunId;
  /** What the reader has seen before; absent: it begins at `from`. */
  readonly seen?: EventId;
  /** The position of the first entry to send to a reader that is new. */
  readonly from: number;
  /** Where the entries end that may be sent, of a run that has ended. */
  readonly until?: number;
}

const PORTION = 100;
/** So far back a reader that comes back is told what it missed. */
const MAX_REPLAYED = 2_000;

export function streamAgent(call: Call, following: Following): void {
  const { context } = call;
  const { agentId, runId } = following;
  const writer = openEventStream(call);
  const state = { position: following.seen?.position ?? following.from - 1 };
  // One after the other: entries are read from the store while events go on coming.
  let work: Promise<void> = Promise.resolve();
  const then = (what: () => Promise<void> | void): void => {
    work = work.then(what).catch((error) => {
      context.ports.log.warn("a stream stumbled and is closed", { agent: agentId, error: errorText(error) });
      writer.close("slow");
    });
  };
  // A reader that comes back to a run on another node: what it has seen is told again from there, and not to it.
  let had: EventId | undefined;
  let over = false;
  const onEvent = (event: RunEvent): void => {
    if (over || (runId !== undefined && event.runId !== runId)) return;
    const place = had && placeOf(event, had);
    if (place === "seen") return;
    had = undefined;
    // What was committed with the event goes before it.
    const commits = event.type === "start" || event.type === "step" || event.type === "end";
    then(async () => {
      if (over) return;
      if (commits) await sendEntries(call, writer, following, state);
      if (place === "elsewhere" && !BEGINS.has(event.type)) writer.write(restartFrame(event, state.position));
      writer.write(frameOf(event, state.position));
      if (event.type === "end" && runId !== undefined) finish();
    });
  };
  const finish = (): void => {
    over = true;
    writer.close("done");
  };
  /** Its end, where it has come and was not told. */
  const lookForEnd = async (): Promise<void> => {
    if (over || runId === undefined || !(await tellEnd(call, writer, runId, state.position))) return;
    finish();
  };
  const stop = context.feed.follow(agentId, onEvent);
  writer.onClose(stop);
  // The tail is taken at the same moment as following begins: between them nothing is missed or told twice.
  const now = context.feed.tailOf(agentId);
  const tail = now && (runId === undefined || now.runId === runId) ? now : undefined;
  const seen = following.seen;
  if (!tail) had = seen;
  const missed = tail && seen?.runId === tail.runId ? tail.tail.after(seen) : undefined;
  const said = missed ?? tail?.tail.events() ?? [];
  then(async () => {
    await sendEntries(call, writer, following, state);
    // What the reader has of the step under way may be void or incomplete: it gets all of it anew.
    const [first] = said;
    if (seen && !missed && first) writer.write(restartFrame(first, state.position));
    for (const event of said) writer.write(frameOf(event, state.position));
    if (!tail) await lookForEnd();
  });
  if (runId === undefined || !context.feed.isShared) return;
  // A node that dies, or a way between nodes that is cut, must not leave a reader waiting for an end that has come.
  let cancel = (): void => {};
  const look = (): void => {
    cancel = context.ports.clock.after(LOOK_MS, () => {
      if (context.agents.runs.live(agentId)?.id !== runId) {
        then(async () => {
          if ((await context.ports.store.run(runId))?.state !== "ended" || over) return;
          await sendEntries(call, writer, following, state);
          await lookForEnd();
        });
      }
      look();
    });
  };
  look();
  writer.onClose(() => cancel());
}

/** How often the store is asked about a run of another node that somebody follows. */
const LOOK_MS = 3_000;
const BEGINS: ReadonlySet<RunEvent["type"]> = new Set(["start", "restart", "step", "end"]);

/** Where an event stands to what a reader has seen: it has it, it is the next, or it belongs to something else. */
function placeOf({ runId, attempt, step, seq }: RunEvent, seen: EventId): "seen" | "next" | "elsewhere" {
  if (runId !== seen.runId || attempt !== seen.attempt || step !== seen.step) return "elsewhere";
  return seq <= seen.seq ? "seen" : "next";
}

/** Sends what history has beyond what the reader has seen. */
async function sendEntries(
  { context }: Call,
  writer: EventStreamWriter,
  { agentId, runId, until }: Following,
  state: { position: number },
): Promise<void> {
  const lines: { position: number; line: string }[] = [];
  let before = until;
  for (;;) {
    const page = await context.ports.store.linesBack(agentId, { limit: PORTION, before });
    const fresh = page.filter(({ position }) => position > state.position);
    lines.push(...fresh);
    before = page.at(-1)?.position;
    if (fresh.length < PORTION || before === undefined || lines.length >= MAX_REPLAYED) break;
  }
  for (const { position, line } of lines.reverse()) {
    state.position = position;
    const read = readEntry(line);
    if (read.kind !== "entry" || (runId !== undefined && !isOf(read.entry, runId))) continue;
    writer.write(entryFrame(read.entry, position));
  }
}

const isOf = (entry: Entry, runId: RunId): boolean => "runId" in entry && entry.runId === runId;

/** A run that is over or has not begun here: its end is read from the store. False where it has none yet. */
async function tellEnd({ context }: Call, writer: EventStreamWriter, runId: RunId, position: number): Promise<boolean> {
  const run = await context.ports.store.run(runId);
  if (run?.state !== "ended") return false;
  const { agentId, attempt, step, outcome, body } = run;
  const data = { type: "end", agentId, runId, attempt, step, outcome, ...(body.error ? { error: body.error } : {}) };
  writer.write(frame("end", `${runId}.${attempt}.${step}.0.${position}`, data));
  return true;
}

function frameOf(event: RunEvent, position: number): Frame {
  const id = eventId(event, position);
  if (event.type !== "delta") return frame(event.type, id, event);
  return {
    joins: `delta ${event.stream}`,
    text: event.text,
    render: (text) => `id: ${id}\nevent: delta\ndata: ${JSON.stringify({ ...event, text })}\n\n`,
  };
}

const restartFrame = (event: RunEvent, position: number): Frame => {
  const { agentId, runId, attempt, step } = event;
  return frame("restart", `${runId}.${attempt}.${step}.0.${position}`, {
    type: "restart",
    agentId,
    runId,
    attempt,
    step,
  });
};

const entryFrame = (entry: Entry, position: number): Frame =>
  frame("entry", placeId(position), { type: "entry", position, entry });

const frame = (event: string, id: string, data: object): Frame => ({
  text: "",
  render: () => `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
});

/**
 * What the chat knows about the open conversation, and how each event changes it. Pure. Committed entries come by their position,
 * each once; the text of a running answer is void when its entry arrives or the step starts again. So after a lost connection
 * nothing is missing and nothing is shown twice.
 */
import { type Block, blocksOf, type RawEntry, type ToolBlock, withResult } from "./blocks.ts";
import { type CleanText, clean, cleanLine } from "./clean-text.ts";
import { addText, NO_TEXT, piecesOf, type SplitText, splitText } from "./split-markdown.ts";

/** A run that has not ended. */
export interface Live {
  readonly runId: string;
  readonly startedAt: number;
  readonly text: SplitText;
  readonly thinking: string;
  readonly doing: "thinking" | "writing" | "tools" | "compacting" | "approval";
  /** The entry of this step is there: deltas that still come are in it. */
  readonly isCommitted: boolean;
}

/** A message of this terminal that is not in the history yet. */
export interface Pending {
  readonly key: string;
  readonly text: CleanText;
  readonly state: "sending" | "accepted" | "held";
  readonly seq?: number;
  /** Where it went: what the queue does with it. */
  readonly will?: CleanText;
}

export interface ChatState {
  readonly blocks: readonly Block[];
  /** The position and the id of the last entry. */
  readonly position: number;
  readonly lastEntry?: string;
  readonly live?: Live;
  readonly pending: readonly Pending[];
  /** Runs whose end was shown, and messages whose entry was. */
  readonly ended: readonly string[];
  readonly seqs: readonly number[];
  /** An entry arrived that does not follow the last one: the history was branched and must be read again. */
  readonly isStale: boolean;
}

export const EMPTY_CHAT: ChatState = { blocks: [], position: 0, pending: [], ended: [], seqs: [], isStale: false };

/** An event of the stream of an agent. */
export interface AgentEvent {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const MAX_ENDED = 100;
const MAX_SEQS = 500;
const MAX_LIVE_THINKING = 4_000;

export function applyEvent(state: ChatState, { type, data }: AgentEvent, now: number): ChatState {
  switch (type) {
    case "start":
      return { ...state, live: freshLive(String(data.runId), state.live?.startedAt ?? now) };
    case "delta":
      return withDelta(state, data, now);
    case "restart":
      return { ...state, live: freshLive(String(data.runId), state.live?.startedAt ?? now) };
    case "step":
      return patchLive(state, data, now, { isCommitted: false, text: NO_TEXT, thinking: "", doing: "thinking" });
    case "tool_start":
      return patchLive(withTool(state, data, { at: now }), data, now, { doing: "tools" });
    case "tool_end":
      return withTool(state, data, { state: data.isError ? "failed" : "done" }, now);
    case "approval":
      return patchLive(withTool(state, data, { state: "waiting" }), data, now, { doing: "approval" });
    case "compaction_start":
      return patchLive(state, data, now, { doing: "compacting" });
    case "compaction_end":
      return patchLive(state, data, now, { doing: "thinking" });
    case "entry":
      return withEntry(state, Number(data.position), data.entry as RawEntry);
    case "end":
      return withEnd(state, data);
    default:
      return state;
  }
}

const freshLive = (runId: string, startedAt: number): Live => ({
  ...{ runId, startedAt, text: NO_TEXT, thinking: "", doing: "thinking", isCommitted: false },
});

const liveOf = ({ live }: ChatState, runId: unknown, now: number): Live =>
  live && live.runId === runId ? live : freshLive(String(runId), now);

function patchLive(
  state: ChatState,
  { runId }: Readonly<Record<string, unknown>>,
  now: number,
  patch: Partial<Live>,
): ChatState {
  return { ...state, live: { ...liveOf(state, runId, now), ...patch } };
}

function withDelta(state: ChatState, data: Readonly<Record<string, unknown>>, now: number): ChatState {
  const live = liveOf(state, data.runId, now);
  if (live.isCommitted) return state;
  const text = String(data.text ?? "");
  if (data.stream === "thinking") {
    const thinking = (live.thinking + text).slice(-MAX_LIVE_THINKING);
    return { ...state, live: { ...live, thinking, doing: "thinking" } };
  }
  return { ...state, live: { ...live, text: addText(live.text, clean(text)), doing: "writing" } };
}

function withTool(
  state: ChatState,
  { callId }: Readonly<Record<string, unknown>>,
  patch: Partial<ToolBlock>,
  endedAt?: number,
): ChatState {
  const index = state.blocks.findLastIndex((block) => block.kind === "tool" && block.callId === callId);
  const block = state.blocks[index];
  if (block?.kind !== "tool" || block.output !== undefined) return state;
  const took = endedAt === undefined ? block.took : Math.max(0, endedAt - block.at);
  return { ...state, blocks: state.blocks.with(index, { ...block, ...patch, took }) };
}

function withEntry(state: ChatState, position: number, entry: RawEntry): ChatState {
  if (position <= state.position) return state;
  const isTool = entry.type === "message" && entry.role === "tool";
  const isNext = state.lastEntry === undefined || entry.parentId === null || entry.parentId === state.lastEntry;
  const added = isTool ? [] : reuse(state.live, blocksOf(entry));
  const isAnswer = entry.type === "message" && entry.role === "assistant";
  const { live } = state;
  return {
    ...state,
    blocks: isTool ? withResult(state.blocks, entry) : added.length === 0 ? state.blocks : [...state.blocks, ...added],
    position,
    lastEntry: entry.id ?? state.lastEntry,
    pending: withoutSeqs(state.pending, entry.seqs),
    seqs: entry.seqs ? [...state.seqs, ...entry.seqs].slice(-MAX_SEQS) : state.seqs,
    live: isAnswer && live ? { ...live, text: NO_TEXT, thinking: "", isCommitted: true } : live,
    isStale: state.isStale || !isNext,
  };
}

/** The pieces that were shown while they were written are the same ones: they are not rendered again. */
function reuse(live: Live | undefined, blocks: readonly Block[]): readonly Block[] {
  if (!live || live.text.done.length === 0) return blocks;
  const pieces = piecesOf(live.text);
  return blocks.map((block) => {
    if (block.kind !== "answer" || block.pieces.length !== pieces.length) return block;
    const same = block.pieces.every((piece, n) => piece.text === pieces[n]?.text);
    return same ? { ...block, pieces } : block;
  });
}

const withoutSeqs = (pending: readonly Pending[], seqs: readonly number[] = []): readonly Pending[] =>
  seqs.length === 0 ? pending : pending.filter(({ seq }) => seq === undefined || !seqs.includes(seq));

function withEnd(state: ChatState, data: Readonly<Record<string, unknown>>): ChatState {
  const runId = String(data.runId);
  const result = (data.result ?? data) as { readonly outcome?: string; readonly error?: { readonly message?: string } };
  const live = state.live?.runId === runId ? undefined : state.live;
  const ended = [...state.ended, runId].slice(-MAX_ENDED);
  const next = { ...state, live, ended };
  const { outcome = "ok", error } = result;
  if (outcome === "ok") return next;
  if (outcome === "aborted")
    return withBlock(next, { kind: "marker", key: `end/${runId}`, text: "stopped" as CleanText });
  const why = error?.message ?? outcome;
  return withBlock(next, { kind: "notice", key: `end/${runId}`, pieces: splitText(clean(why)), isError: true });
}

/** A message of this terminal, before it is accepted. */
export const withPending = (state: ChatState, pending: Pending): ChatState => ({
  ...state,
  pending: [...state.pending, pending],
});

/** What is known about a message of this terminal. It leaves when its entry is there. */
export function patchPending(state: ChatState, key: string, patch: Partial<Pending>): ChatState {
  const pending = state.pending.map((one) => (one.key === key ? { ...one, ...patch } : one));
  return { ...state, pending: withoutSeqs(pending, state.seqs) };
}

/** It was not accepted. */
export const withoutPending = (state: ChatState, key: string): ChatState => ({
  ...state,
  pending: state.pending.filter((one) => one.key !== key),
});

/** The run that the engine works on now. Another one has ended while the connection was lost. */
export const withLiveRun = (state: ChatState, runId: string | undefined): ChatState =>
  state.live && state.live.runId !== runId ? { ...state, live: undefined } : state;

export interface Reply {
  readonly text: string;
  readonly isError: boolean;
}

/** How a message of this terminal ended: its replies, if it has no entry in the history; or why there is none. */
export interface Settled {
  readonly runId: string | null;
  readonly replies: readonly Reply[];
  readonly unanswered: { readonly reason: string; readonly failed: boolean } | null;
}

/** A command is in no history: it is shown with its answer. A failed run is shown once, by its end or here. */
export function withSettled(state: ChatState, key: string, { runId, replies, unanswered }: Settled): ChatState {
  const pending = state.pending.find((one) => one.key === key);
  const without = withoutPending(state, key);
  if (runId !== null && state.ended.includes(runId)) return without;
  const typed: Block | undefined = pending && { kind: "user", key: `typed/${key}`, text: pending.text };
  let next = runId === null && typed ? withBlock(without, typed) : without;
  for (const [n, { text, isError }] of replies.entries()) {
    if (runId !== null && !isError) continue;
    next = withBlock(next, { kind: "notice", key: `reply/${key}/${n}`, pieces: splitText(clean(text)), isError });
  }
  if (!unanswered || runId !== null) return next;
  const text = cleanLine(`no answer: ${unanswered.reason}`);
  return withBlock(next, { kind: "marker", key: `reply/${key}`, text });
}

/** Adds a block that is not in the history, once. */
export function withBlock(state: ChatState, block: Block): ChatState {
  if (state.blocks.some(({ key }) => key === block.key)) return state;
  return { ...state, blocks: [...state.blocks, block] };
}

/** What an agent said to this person's mailbox. Nothing is added if the log has it: an answer of this conversation. */
export function withDelivery(
  state: ChatState,
  item: { readonly id: string; readonly runId?: string; readonly text?: string; readonly isError?: boolean },
  from?: string,
): ChatState {
  const said = item.text?.trim() ?? "";
  if (said === "" || hasSaid(state, item.runId, said)) return state;
  const title = from === undefined ? undefined : cleanLine(from, 60);
  const pieces = splitText(clean(said));
  return withBlock(state, {
    kind: "notice",
    key: `delivery/${item.id}`,
    title,
    pieces,
    isError: item.isError === true,
  });
}

function hasSaid({ blocks }: ChatState, runId: string | undefined, text: string): boolean {
  const delivered = bare(clean(text));
  return blocks.some(
    (block) =>
      block.kind === "answer" &&
      block.runId === runId &&
      delivered.includes(bare(block.pieces[0]?.text ?? "").slice(0, 200)),
  );
}

/** Without what markdown and pieces change. */
const bare = (text: string): string => text.replaceAll(/[\s`~]/gu, "");

/** The older part of the history, in front. `entries`: oldest first. */
export function withOlder(state: ChatState, entries: readonly { position: number; entry: RawEntry }[]): ChatState {
  const older = entries.reduce((sofar, one) => withEntry(sofar, one.position, one.entry), EMPTY_CHAT);
  return { ...state, blocks: [...older.blocks, ...state.blocks] };
}

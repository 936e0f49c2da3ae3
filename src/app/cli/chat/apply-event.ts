/**
 * How each event changes what the chat shows. Pure. Committed entries come by their position, each once; the text of a running
 * answer is void when its entry arrives or the step starts again. So after a lost connection nothing is missing and nothing is
 * shown twice.
 */
import { type Block, blocksOf, type RawEntry, type ToolBlock, withResult } from "./blocks.ts";
import { type ChatState, EMPTY_CHAT, type Live, withBlock } from "./chat-state.ts";
import { type CleanText, clean, cleanLine } from "./clean-text.ts";
import { endKey, withoutArrived } from "./pending.ts";
import { addText, NO_TEXT, piecesOf, splitText } from "./split-markdown.ts";

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
  return withoutArrived({
    ...state,
    blocks: isTool ? withResult(state.blocks, entry) : added.length === 0 ? state.blocks : [...state.blocks, ...added],
    position,
    lastEntry: entry.id ?? state.lastEntry,
    seqs: entry.seqs ? [...state.seqs, ...entry.seqs].slice(-MAX_SEQS) : state.seqs,
    live: isAnswer && live ? { ...live, text: NO_TEXT, thinking: "", isCommitted: true } : live,
    isStale: state.isStale || !isNext,
  });
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

function withEnd(state: ChatState, data: Readonly<Record<string, unknown>>): ChatState {
  const runId = String(data.runId);
  const result = (data.result ?? data) as { readonly outcome?: string; readonly error?: { readonly message?: string } };
  const live = state.live?.runId === runId ? undefined : state.live;
  const ended = [...state.ended, runId].slice(-MAX_ENDED);
  const next = { ...state, live, ended };
  const { outcome = "ok", error } = result;
  if (outcome === "ok") return next;
  if (outcome === "aborted")
    return withBlock(next, { kind: "marker", key: endKey(runId), text: "stopped" as CleanText });
  const why = error?.message ?? outcome;
  return withBlock(next, { kind: "notice", key: endKey(runId), pieces: splitText(clean(why)), isError: true });
}

/** The run that the engine works on now. Another one has ended while the connection was lost. */
export const withLiveRun = (state: ChatState, runId: string | undefined): ChatState =>
  state.live && state.live.runId !== runId ? { ...state, live: undefined } : state;

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

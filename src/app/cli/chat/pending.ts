/**
 * A message of this terminal, from the key to the log. It is shown at every moment: as one that waits, then by its entry in the
 * history, or, if it has none, with its answer. The stream and the answers to requests come in any order, so a message that has
 * ended waits for its entry. Pure.
 */
import type { Block } from "./blocks.ts";
import { type ChatState, type Pending, type Settled, withBlock } from "./chat-state.ts";
import { clean, cleanLine } from "./clean-text.ts";
import { splitText } from "./split-markdown.ts";

/** A message before it is accepted. */
export const withPending = (state: ChatState, pending: Pending): ChatState => ({
  ...state,
  pending: [...state.pending, pending],
});

/** What is known about a message. It leaves when its entry is there. */
export function patchPending(state: ChatState, key: string, patch: Partial<Pending>): ChatState {
  const pending = state.pending.map((one) => (one.key === key ? { ...one, ...patch } : one));
  return withoutArrived({ ...state, pending });
}

/** It was not accepted. */
export const withoutPending = (state: ChatState, key: string): ChatState => ({
  ...state,
  pending: state.pending.filter((one) => one.key !== key),
});

/** How a message ended. One that is in no history, such as a command, is shown with its answer. */
export function withSettled(state: ChatState, key: string, settled: Settled): ChatState {
  if (settled.historyEnd === null) return withAnswered(state, key, settled);
  const isWaiting = state.pending.some((one) => one.key === key);
  return isWaiting ? patchPending(state, key, { settled }) : withFailure(state, settled);
}

/** Without the messages whose entry is there. One that ended and was not among the entries is on another branch. */
export function withoutArrived(state: ChatState): ChatState {
  const gone = state.pending.filter((one) => hasArrived(state, one));
  if (gone.length === 0) return state;
  const left: ChatState = { ...state, pending: state.pending.filter((one) => !gone.includes(one)) };
  return gone.reduce((now, { settled }) => (settled ? withFailure(now, settled) : now), left);
}

const hasArrived = ({ seqs, position }: ChatState, { seq, settled }: Pending): boolean =>
  (seq !== undefined && seqs.includes(seq)) ||
  (settled !== undefined && settled.historyEnd !== null && position >= settled.historyEnd - 1);

function withAnswered(state: ChatState, key: string, settled: Settled): ChatState {
  const { runId, replies, unanswered } = settled;
  const pending = state.pending.find((one) => one.key === key);
  const typed: Block | undefined = pending && { kind: "user", key: `typed/${key}`, text: pending.text };
  let next = typed ? withBlock(withoutPending(state, key), typed) : state;
  for (const [n, { text, isError }] of replies.entries()) {
    if (isError && runId !== null) continue;
    next = withBlock(next, { kind: "notice", key: `reply/${key}/${n}`, pieces: splitText(clean(text)), isError });
  }
  next = withFailure(next, settled);
  if (!unanswered) return next;
  return withBlock(next, { kind: "marker", key: `reply/${key}`, text: cleanLine(`no answer: ${unanswered.reason}`) });
}

/** The key of the block that says how a run ended. A failed run is shown once: by its end, or by the message that it took. */
export const endKey = (runId: string): string => `end/${runId}`;

/** The end of a run may not come with the stream: it was sent while the connection was lost. */
function withFailure(state: ChatState, { runId, replies }: Settled): ChatState {
  const why = replies.filter(({ isError }) => isError).map(({ text }) => text);
  if (runId === null || why.length === 0 || state.ended.includes(runId)) return state;
  const pieces = splitText(clean(why.join("\n\n")));
  return withBlock(state, { kind: "notice", key: endKey(runId), pieces, isError: true });
}

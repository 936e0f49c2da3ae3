/** A message that got no answer: how it ended, as everything that shows the message also shows it (M45). */
import type { RunId } from "../ids.ts";
import { type Message, type MessageKind, shownText, UNANSWERED_STATES, type UnansweredState } from "./message.ts";

export interface UnansweredMessage {
  /** Its number in the inbox of its agent. */
  readonly seq: number;
  readonly kind: MessageKind;
  /** At most 2,000 characters. */
  readonly text: string;
  readonly state: UnansweredState;
  /** The error, the policy that dropped it, or who stopped it. */
  readonly reason?: string;
  /** The run that took it, or was about to. */
  readonly runId?: RunId;
  readonly acceptedAt: number;
  readonly settledAt?: number;
}

const MAX_TEXT = 2_000;

const isUnanswered = (state: string): state is UnansweredState => UNANSWERED_STATES.some((one) => one === state);

/** Undefined if it has an answer, needs none, or has not ended. */
export function unansweredMessage(message: Message): UnansweredMessage | undefined {
  const { seq, body, state, reason, runId, acceptedAt, settledAt } = message;
  if (!isUnanswered(state)) return undefined;
  const text = shownText(body).slice(0, MAX_TEXT);
  return { seq, kind: body.kind, text, state, reason, runId, acceptedAt, settledAt };
}

/** Its end in words: the state and its reason. */
export const unansweredText = ({ state, reason }: Pick<UnansweredMessage, "state" | "reason">): string =>
  reason ? `${state}: ${reason}` : state;

/** Whether a run took it. Other messages may still name the run that was about to. */
export const wasTaken = ({ state }: Pick<Message, "state">): boolean =>
  state !== "dropped" && state !== "discarded" && state !== "removed";

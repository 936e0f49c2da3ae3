/** The answer to a message, the receipt of one that was sent, and the errors of answers that are none. */
import { RookeryError } from "../../core/errors.ts";

export interface Answer {
  readonly agentId: string;
  /** The number of the message in the inbox of its agent. */
  readonly seq: number;
  /** The run that took the message. Absent if none did. */
  readonly runId?: string;
  /** `ok`, or why there is no answer. */
  readonly outcome: string;
  readonly text: string;
  readonly error?: { readonly kind: string; readonly message: string };
  readonly stopReason?: string;
  readonly usage?: {
    readonly input: number;
    readonly output: number;
    readonly cacheRead: number;
    readonly cacheWrite: number;
    readonly totalTokens: number;
  };
}

/** A message that is durable in the inbox of its agent. */
export interface Receipt {
  readonly agentId: string;
  readonly seq: number;
  readonly messageId: string;
  /** Resolves when a run has taken the message; undefined if it is settled without one. Changes nothing. */
  runId(): Promise<string | undefined>;
  /** Resolves when the message is settled, also by an engine that was started again in between. Changes nothing. */
  result(): Promise<Answer>;
}

/** The run that took the message did not answer it. `answer` has the outcome and the text so far. */
export class RunFailedError extends RookeryError {
  readonly code = "run_failed";
  readonly retryable = false;
  readonly answer: Answer;

  constructor(answer: Answer) {
    const { outcome, error } = answer;
    super(`The message was not answered (${outcome}): ${error?.message ?? "the run has no result"}.`, {
      hint: "`history()` shows what happened. Send the message again with a new id to try again.",
    });
    this.answer = answer;
  }
}

/** The agent answered three times, and no answer matches the schema. `text` is its last answer. */
export class OutputInvalidError extends RookeryError {
  readonly code = "output_invalid";
  readonly retryable = false;
  readonly text: string;

  constructor(text: string, problem: string) {
    super(`The answer does not match the schema: ${problem}`, {
      hint: "The last answer is in `text`. Say in the question what each field means, or use a stronger model.",
    });
    this.text = text;
  }
}

/** Throws `RunFailedError` unless the message was answered. */
export function answeredText(answer: Answer): string {
  if (answer.outcome !== "ok" && answer.outcome !== "recorded") throw new RunFailedError(answer);
  return answer.text;
}

/** The HTTP error for an answer whose run failed. The same answer always leads to the same error. */
import { unreachable } from "../../../core/errors.ts";
import { HttpError } from "../http/http-error.ts";
import type { Answer } from "../schemas/message.ts";

/** Undefined if the run succeeded. */
export function errorOfAnswer(answer: Answer): HttpError | undefined {
  const { outcome, error } = answer;
  const message = error?.message;
  switch (outcome) {
    case "ok":
    case "recorded":
      return undefined;
    case "error":
      return errorOfRun(answer);
    case "timeout":
      return new HttpError(504, "run_timeout", message ?? "The run exceeded its time limit.");
    case "aborted":
      return new HttpError(410, "run_aborted", "The run was aborted.", { hint: "Ask again with a new request." });
    case "lost":
      return new HttpError(502, "run_lost", message ?? "The run was lost.", { hint: "Ask again with a new request." });
    case "dropped":
      return new HttpError(410, "dropped", `The queue dropped the message: ${message}.`, {
        hint: "Ask again with a new request.",
      });
    case "discarded":
    case "removed":
      return new HttpError(410, "discarded", `The message was ${outcome}.`);
    case "pruned":
      return new HttpError(410, "no_longer_kept", "The answer is no longer stored.", {
        hint: "Ask again with a new request.",
      });
    default:
      return unreachable(outcome, "outcome");
  }
}

function errorOfRun({ error }: Answer): HttpError {
  const message = error?.message ?? "The run failed.";
  switch (error?.kind) {
    case "context_overflow":
      return new HttpError(400, "context_length_exceeded", message);
    case "role_ordering":
      return new HttpError(400, "role_ordering", message);
    case "budget":
      return new HttpError(429, "insufficient_quota", message);
    default:
      return new HttpError(502, `run_${error?.kind ?? "failed"}`, message, { retryable: error?.retryable });
  }
}

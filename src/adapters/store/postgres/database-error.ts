/** Errors of PostgreSQL and of the connection to it: was the statement applied, and may it be tried again. */
import { type RookeryError, StoreFullError, StoreUnavailableError } from "../../../core/errors.ts";

/**
 * `retry`: nothing was applied, the same statement may be sent again. `again`: the rows it was computed from have changed,
 * so it is computed again. `refused`: one change of the group cannot be applied. `unknown`: the connection broke, so it is
 * unknown whether the statement was applied. `failed`: nothing was applied, and sending again does not help.
 */
type Failure = "retry" | "again" | "refused" | "unknown" | "failed";

const codeOf = (error: unknown): string => String((error as { code?: unknown } | undefined)?.code ?? "");
const isSqlState = (code: string): boolean => /^[0-9A-Z]{5}$/.test(code);

/** Whether the connection failed, and not the statement sent over it. */
export const isBroken = (error: unknown): boolean => {
  const code = codeOf(error);
  return !isSqlState(code) || code.startsWith("57P") || code.startsWith("08");
};

export function failureOf(error: unknown): Failure {
  const code = codeOf(error);
  if (!isSqlState(code)) return "unknown";
  // The server or an administrator ended the connection, at an unknown point of the statement.
  if (code.startsWith("57P") || code.startsWith("08")) return "unknown";
  if (code === "RKAGN") return "again";
  if (code.startsWith("40") || code === "55P03" || code === "57014") return "retry";
  if (code.startsWith("53") || code.startsWith("25") || code.startsWith("58") || code.startsWith("28")) return "failed";
  return "refused";
}

/** The typed error for a failure that concerns all statements, with a hint for a person. */
export function explain(error: unknown): RookeryError {
  const text = error instanceof Error ? error.message : String(error);
  if (codeOf(error) === "53100") {
    return new StoreFullError(`The disk of the database is full: ${text}. Nothing of this change was stored.`, {
      cause: error,
      hint: "Make room on the database server. Work then continues automatically.",
    });
  }
  return new StoreUnavailableError(`The database cannot be used now: ${text || codeOf(error)}.`, {
    cause: error,
    hint: "Nothing was stored and nothing is lost. Work continues automatically when the database answers again.",
  });
}

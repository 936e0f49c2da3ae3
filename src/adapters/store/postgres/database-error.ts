/** What PostgreSQL and the wire to it say when something fails, in our words: was it applied, and may it be tried again. */
import { type RookeryError, StoreFullError, StoreUnavailableError } from "../../../core/errors.ts";

/**
 * `retry`: nothing was applied, the same statement may be sent again. `again`: what it was made from has changed, so it is
 * made anew. `refused`: one change of the group cannot stand.
 * `unknown`: the connection broke, nobody knows. `failed`: nothing was applied and nothing will be.
 */
export type Failure = "retry" | "again" | "refused" | "unknown" | "failed";

const codeOf = (error: unknown): string => String((error as { code?: unknown } | undefined)?.code ?? "");
const isSqlState = (code: string): boolean => /^[0-9A-Z]{5}$/.test(code);

/** Whether it is the connection that failed, and not what was asked over it. */
export const isBroken = (error: unknown): boolean => {
  const code = codeOf(error);
  return !isSqlState(code) || code.startsWith("57P") || code.startsWith("08");
};

export function failureOf(error: unknown): Failure {
  const code = codeOf(error);
  if (!isSqlState(code)) return "unknown";
  // The server or an administrator ended the connection; it may have been at any point.
  if (code.startsWith("57P") || code.startsWith("08")) return "unknown";
  if (code === "RKAGN") return "again";
  if (code.startsWith("40") || code === "55P03" || code === "57014") return "retry";
  if (code.startsWith("53") || code.startsWith("25") || code.startsWith("58") || code.startsWith("28")) return "failed";
  return "refused";
}

/** An error of the database that concerns everybody, told so that a person knows what to do. */
export function explain(error: unknown): RookeryError {
  const text = error instanceof Error ? error.message : String(error);
  if (codeOf(error) === "53100") {
    return new StoreFullError(`The disk of the database is full: ${text}. Nothing of this change was kept.`, {
      cause: error,
      hint: "Make room on the database server; work goes on by itself.",
    });
  }
  return new StoreUnavailableError(`The database cannot be used now: ${text || codeOf(error)}.`, {
    cause: error,
    hint: "Nothing was kept and nothing is lost; work goes on by itself when the database answers again.",
  });
}

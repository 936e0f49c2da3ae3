/**
 * A row of the audit log: who did what, for which person, and what was decided. Rows are only ever added, in the commit of what they
 * tell about. Arguments appear as a digest, so that no secret gets into the log.
 */
import type { Verdict } from "./grant.ts";

export interface AuditEntry {
  readonly at: number;
  /** The person it was done for. */
  readonly person: string;
  /** Where it came from: `api`, `cli`, `control`, a channel, `cron`, `heartbeat`, `hook`. */
  readonly surface: string;
  /** The id of the token that was presented. */
  readonly token?: string;
  readonly agentId?: string;
  readonly runId?: string;
  readonly callId?: string;
  /** A tool, or what a person did: `person.put`, `token.mint`, `approval.decide`. */
  readonly action: string;
  readonly target?: string;
  readonly decision: Verdict;
  readonly reason?: string;
  readonly outcome?: "ok" | "error" | "unknown";
  /** SHA-256 of the arguments. */
  readonly digest?: string;
}

/** A stored row; `n` rises with time. */
export type AuditRow = AuditEntry & { readonly n: number };

/** Which rows to list, the newest first. */
export interface AuditFilter {
  readonly limit: number;
  readonly beforeN?: number;
  readonly since?: number;
  /** One of these two at most narrows the rows by an index; the rest is filtered. */
  readonly person?: string;
  readonly agentId?: string;
  readonly action?: string;
  readonly decision?: AuditEntry["decision"];
}

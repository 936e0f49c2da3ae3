/**
 * A row of the audit log: who did what, for which person, and what was decided. Rows are only ever added, in the commit of what they
 * tell about. Arguments appear as a digest, so that no secret gets into the log.
 */
import { z } from "zod";
import { VERDICTS } from "./grant.ts";

const short = z.string().max(512);

export const auditEntrySchema = z
  .strictObject({
    at: z.number().int(),
    /** The person it was done for. */
    person: short,
    /** Where it came from: `api`, `cli`, `control`, a channel, `cron`, `heartbeat`, `hook`. */
    surface: short,
    /** The id of the token that was presented. */
    token: short.optional(),
    agentId: short.optional(),
    runId: short.optional(),
    callId: short.optional(),
    /** A tool, or what a person did: `person.put`, `token.mint`, `approval.decide`. */
    action: short,
    target: short.optional(),
    decision: z.enum(VERDICTS),
    reason: short.optional(),
    outcome: z.enum(["ok", "error", "unknown"]).optional(),
    /** SHA-256 of the arguments. */
    digest: short.optional(),
  })
  .readonly();
export type AuditEntry = z.infer<typeof auditEntrySchema>;

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

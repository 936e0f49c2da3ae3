/** Makes rows of the audit log. What was said or asked for appears as a digest only, so no secret and no text gets into the log. */
import { createHash } from "node:crypto";
import { cutText } from "../../core/cut-text.ts";
import type { AuditEntry } from "../../core/people/audit.ts";
import type { Op } from "../../core/store/change.ts";

/** Who does something on a surface: the person, where they are, and the token they presented. */
export interface Actor {
  readonly person: string;
  readonly surface: string;
  readonly token?: string;
}

interface Audited extends Pick<AuditEntry, "action" | "target" | "reason" | "outcome" | "agentId"> {
  readonly decision?: AuditEntry["decision"];
  /** What the action was called with. Only its digest is stored. */
  readonly args?: unknown;
}

/** The longest text of one field. */
const MAX_FIELD = 512;

export function auditOp(by: Actor, at: number, { args, decision = "allow", ...rest }: Audited): Op {
  const { person, surface, token } = by;
  const entry: AuditEntry = {
    at,
    person: short(person),
    surface: short(surface),
    token,
    agentId: rest.agentId,
    action: short(rest.action),
    target: rest.target && short(rest.target),
    decision,
    reason: rest.reason && short(rest.reason),
    outcome: rest.outcome,
    digest: args === undefined ? undefined : createHash("sha256").update(JSON.stringify(args)).digest("hex"),
  };
  return { op: "audit.add", entry };
}

const short = (text: string): string => (text.length <= MAX_FIELD ? text : cutText(text, MAX_FIELD));

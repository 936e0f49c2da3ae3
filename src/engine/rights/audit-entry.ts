/** The row of the audit log for a tool call: who it was for, what was decided, how it ended. Arguments appear as a digest only. */
import { createHash } from "node:crypto";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { cutText } from "../../core/cut-text.ts";
import type { AuditEntry } from "../../core/people/audit.ts";
import type { JudgedCall, JudgedRun } from "../../core/ports/gate.ts";
import type { CallRecord } from "../../core/run/run.ts";

/** The longest text of one field. */
const MAX = 512;
const short = (text: string): string => cutText(text, MAX);

type Judged = Omit<JudgedCall, "acts">;

export function auditOf(
  agent: AgentRecord,
  run: JudgedRun,
  { call, person, decision, effects }: Judged,
  at: number,
  outcome?: AuditEntry["outcome"],
): AuditEntry {
  const target = effects.find((effect) => effect.target !== undefined)?.target;
  return {
    at,
    person: short(person),
    surface: short(surfaceOf(agent, run.body)),
    agentId: agent.id,
    runId: run.id,
    callId: short(call.callId),
    action: short(call.name),
    target: target === undefined ? undefined : short(target),
    decision: decision.verdict,
    reason: decision.reason === "" ? undefined : short(decision.reason),
    outcome,
    digest: digestOf(call),
  };
}

const surfaceOf = ({ descriptor }: AgentRecord, { trigger, delivery }: JudgedRun["body"]): string => {
  if (trigger) return trigger.type === "webhook" ? "hook" : trigger.type;
  return delivery?.channel ?? descriptor.type;
};

const digestOf = (call: CallRecord): string =>
  createHash("sha256").update(JSON.stringify(call.arguments)).digest("hex");

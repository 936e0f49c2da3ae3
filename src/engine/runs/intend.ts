/**
 * The intent to start calls: the gate judges every call that has not started, and the commit that marks the next ones as
 * started names the revision of rights it was judged by. If a right has changed in between, that commit is refused and the calls
 * are judged again (L13, M30). A denied call gets its result in the same commit.
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { JudgedCall } from "../../core/ports/gate.ts";
import { ALLOWED } from "../../core/rights/decide.ts";
import type { CallRecord } from "../../core/run/run.ts";
import type { CommitResult, Op } from "../../core/store/change.ts";
import { CommitRefused } from "../commit/commit-refused.ts";
import { type EntryDraft, type ToolResult, toolEntry } from "../context/entries.ts";
import { auditOf } from "../rights/audit-entry.ts";
import { deniedText } from "../rights/denied-text.ts";
import { NO_ONE } from "../rights/gate.ts";
import type { AgentLease, Committing } from "../runtime/agent-lease.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import type { RunPorts } from "../runtime/run-ports.ts";

/** What the commit of an intent writes. */
export interface Intent {
  /** All calls: the denied ones done, the next ones intended. Empty if none is left. */
  readonly calls: readonly CallRecord[];
  /** The results of the denied calls. */
  readonly denials: readonly EntryDraft[];
  readonly ops: readonly Op[];
  /** The revision of rights. Absent: nothing was judged. */
  readonly rights?: number;
  readonly allowed: readonly JudgedCall[];
}

/** The rows of the audit log for calls whose outcome is not known. They had been allowed. */
export function auditUnknown(
  { gate, tools }: RunPorts,
  agent: AgentRecord,
  run: LiveRun,
  calls: readonly CallRecord[],
  at: number,
): readonly Op[] {
  if (!gate) return [];
  return calls.flatMap((call): Op[] => {
    const known = run.allowed.get(call.callId);
    const acts = known?.acts ?? tools.find(agent, call.name)?.rights.some((right) => right !== "read");
    if (!acts) return [];
    const { behalf, person = NO_ONE } = run.body;
    const judged = known ?? { call, person: behalf?.person ?? person, decision: ALLOWED, effects: [] };
    return [{ op: "audit.add", entry: auditOf(agent, run, judged, at, "unknown") }];
  });
}

/** Rights change seldom. Beyond this the agent is read again and the run resumes. */
const TRIES = 5;

/** Judges the open calls and commits what `committing` makes of that. */
export async function commitIntent(
  ports: RunPorts,
  lease: AgentLease,
  run: LiveRun,
  calls: readonly CallRecord[],
  committing: (intent: Intent) => Committing,
): Promise<Intent & Pick<Extract<CommitResult, { ok: true }>, "results">> {
  for (let tries = 1; ; tries++) {
    const intent = await intend(ports, lease.record, run, calls);
    try {
      const { results } = await lease.commit({ ...committing(intent), rights: intent.rights });
      for (const one of intent.allowed) run.allowed.set(one.call.callId, one);
      return { ...intent, results };
    } catch (error) {
      if (!(error instanceof CommitRefused) || error.refused !== "rights" || tries === TRIES) throw error;
    }
  }
}

async function intend(
  ports: RunPorts,
  agent: AgentRecord,
  run: LiveRun,
  calls: readonly CallRecord[],
): Promise<Intent> {
  const open = calls.filter(({ state }) => state === "asked");
  if (open.length === 0) return { calls: left(calls), denials: [], ops: [], allowed: [] };
  if (!ports.gate) return { calls: intendNext(ports, agent, calls), denials: [], ops: [], allowed: [] };
  const at = ports.clock.now();
  const { revision, calls: judged } = await ports.gate.judge(agent, run, open);
  const settled = judged.map(withoutApproval);
  const allowed = settled.filter(({ decision }) => decision.verdict === "allow");
  const denied = settled.filter(({ decision }) => decision.verdict === "deny");
  const deniedIds = new Set(denied.map(({ call }) => call.callId));
  const rest = calls.map((call): CallRecord => (deniedIds.has(call.callId) ? { ...call, state: "done" } : call));
  return {
    calls: left(intendNext(ports, agent, rest)),
    denials: denied.map((one) => toolEntry(resultOfDenied(one), at, run.id)),
    ops: denied.map((one): Op => ({ op: "audit.add", entry: auditOf(agent, run, one, at) })),
    rights: revision,
    allowed,
  };
}

/** The place where approvals begin (M31): a call that must be asked for does not start. */
const withoutApproval = (one: JudgedCall): JudgedCall =>
  one.decision.verdict === "ask"
    ? { ...one, decision: { ...one.decision, verdict: "deny", reason: `${one.decision.reason}; it needs approval` } }
    : one;

const resultOfDenied = ({ call, decision, effects }: JudgedCall): ToolResult => ({
  callId: call.callId,
  name: call.name,
  content: [{ type: "text", text: deniedText(call.name, decision, effects) }],
  isError: true,
});

const left = (calls: readonly CallRecord[]): readonly CallRecord[] =>
  calls.every(({ state }) => state === "done") ? [] : calls;

/** Marks the calls that may start now: the next one, or all next ones that may run in parallel. */
export function intendNext(ports: RunPorts, agent: AgentRecord, calls: readonly CallRecord[]): readonly CallRecord[] {
  if (calls.some((call) => call.state === "intended")) return calls;
  const parallel = (call: CallRecord): boolean => ports.tools.find(agent, call.name)?.parallel ?? true;
  const open = calls.filter((call) => call.state === "asked");
  const isNext = new Set(open.slice(0, 1));
  if (open[0] && parallel(open[0])) {
    for (const call of open.slice(1)) {
      if (!parallel(call)) break;
      isNext.add(call);
    }
  }
  return calls.map((call) => (isNext.has(call) ? { ...call, state: "intended" } : call));
}

/**
 * The intent to start calls: the gate judges every call that has not started, and the commit that marks the next ones as
 * started names the revision of rights it was judged by. If a right has changed in between, that commit is refused and the calls
 * are judged again (L13, M30). A denied call gets its result in the same commit. A call that must be asked about starts only
 * with a yes, which the same commit uses up; without one it is held (M31).
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { JudgedCall, Judgement } from "../../core/ports/gate.ts";
import { type Approval, MAX_OPEN_QUESTIONS } from "../../core/rights/approval.ts";
import { ALLOWED } from "../../core/rights/decide.ts";
import type { CallRecord } from "../../core/run/run.ts";
import type { CommitResult, Op } from "../../core/store/change.ts";
import { deniedBefore } from "../approvals/denied-before.ts";
import { unreadable } from "../approvals/question.ts";
import { type AskedCall, endNeedless, type HeldCall, settleAsked } from "../approvals/settle-asked.ts";
import { CommitRefused } from "../commit/commit-refused.ts";
import { callEntry, type EntryDraft } from "../context/entries.ts";
import { auditOf } from "../rights/audit-entry.ts";
import { deniedText } from "../rights/denied-text.ts";
import { NO_ONE } from "../rights/gate.ts";
import type { AgentLease, Committing } from "../runtime/agent-lease.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import type { RunPorts } from "../runtime/run-ports.ts";
import { textOutput, validate } from "./call-tool.ts";

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
  /** Calls that wait for a person. */
  readonly held: readonly HeldCall[];
}

/** `waitEnds`: something came that must not wait for a person: calls without a yes are not made now. */
interface IntentOptions {
  readonly waitEnds?: boolean;
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
  options: IntentOptions = {},
): Promise<Intent & Pick<Extract<CommitResult, { ok: true }>, "results">> {
  for (let tries = 1; ; tries++) {
    const intent = await intend(ports, lease.record, run, calls, options);
    try {
      const { results } = await lease.commit({ ...committing(intent), rights: intent.rights });
      for (const one of intent.allowed) run.allowed.set(one.call.callId, one);
      return { ...intent, results };
    } catch (error) {
      if (!isDecidedAgain(error, intent) || tries === TRIES) throw error;
    }
  }
}

/** A right has changed, or a yes was withdrawn or used: what was decided by it is decided again. */
const isDecidedAgain = (error: unknown, { ops }: Intent): boolean =>
  error instanceof CommitRefused &&
  (error.refused === "rights" || (error.refused === "conflict" && ops.some(({ op }) => op.startsWith("approval."))));

export async function intend(
  ports: RunPorts,
  agent: AgentRecord,
  run: LiveRun,
  calls: readonly CallRecord[],
  { waitEnds = false }: IntentOptions = {},
): Promise<Intent> {
  const open = calls.filter(({ state }) => state === "asked");
  if (open.length === 0) return { calls: left(calls), denials: [], ops: [], allowed: [], held: [] };
  if (!ports.gate) return { calls: intendNext(ports, agent, calls), denials: [], ops: [], allowed: [], held: [] };
  const judgement = await ports.gate.judge(agent, run, open);
  const asked = await settleAll(ports, agent, run, judgement, waitEnds);
  return intentOf(ports, agent, run, calls, judgement, asked);
}

/** What becomes of the calls that must be asked about, by their ids. */
async function settleAll(
  ports: RunPorts,
  agent: AgentRecord,
  run: LiveRun,
  { calls }: Judgement,
  waitEnds: boolean,
): Promise<ReadonlyMap<string, AskedCall>> {
  const asked = new Map<string, AskedCall>();
  // One approval is for one call: a second call with the same digest is asked about.
  const taken = new Set(calls.flatMap(({ call }) => call.approval ?? []));
  const questions = calls.filter(({ decision }) => decision.verdict === "ask");
  let open: number | undefined;
  const denials = questions.length === 0 ? [] : await denialsIn(ports, run);
  for (const one of questions) {
    const denied = one.call.approval === undefined ? deniedBefore(one, denials) : undefined;
    if (denied !== undefined) {
      asked.set(one.call.callId, { is: "refused", text: denied, ops: [] });
      continue;
    }
    const input = await inputOf(ports, agent, one.call);
    if (!input.success) {
      asked.set(one.call.callId, { is: "refused", text: input.problem, ops: [] });
      continue;
    }
    let settled = await settleAsked(ports, agent, run, { ...one, input: input.data }, waitEnds, taken);
    if (settled.is === "held" && settled.held.approval === undefined) {
      const text = unreadable(agent, settled.held);
      if (text !== undefined) settled = { is: "refused", text, ops: [] };
      else {
        open ??= await openQuestions(ports, run);
        if (open++ >= MAX_OPEN_QUESTIONS) settled = { is: "refused", text: TOO_MANY, ops: [] };
      }
    }
    const approval =
      settled.is === "held" ? settled.held.approval : settled.is === "allowed" ? settled.approval : undefined;
    if (approval !== undefined) taken.add(approval);
    asked.set(one.call.callId, settled);
  }
  return asked;
}

/** Nobody is asked about a call that its tool would refuse, and people are shown what the tool gets. */
async function inputOf({ tools }: RunPorts, agent: AgentRecord, call: CallRecord) {
  const tool = tools.find(agent, call.name);
  const given = { success: true, data: call.arguments } as const;
  const input = tool ? await validate(tool, call) : given;
  // Only JSON can be shown as the tool gets it.
  return input.success && !isJson(input.data) ? given : input;
}

function isJson(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return !["bigint", "symbol", "function"].includes(typeof value);
  if (Array.isArray(value)) return value.every(isJson);
  return Object.getPrototypeOf(value) === Object.prototype && Object.values(value).every(isJson);
}

const TOO_MANY = "Not executed: too many open questions. Wait until people have answered some of them.";

async function openQuestions({ store }: RunPorts, { body: { behalf } }: LiveRun): Promise<number> {
  return (await store.approvals({ person: behalf?.person, states: ["pending"], limit: MAX_OPEN_QUESTIONS })).length;
}

/** How many of a person's noes are looked at; a task that got several of them asks nothing more. */
const LATEST_DENIALS = 200;

/** The questions with a no of this run, of the runs that led to it, and of all that these have led to. */
async function denialsIn({ store }: RunPorts, { id, body }: LiveRun): Promise<readonly Approval[]> {
  const { person, roots = [] } = body.behalf ?? {};
  const isOfTask = new Set([id, ...roots]);
  const denied = await store.approvals({ person, states: ["denied"], limit: LATEST_DENIALS });
  return denied.filter(({ runId, behalf }) => [runId, ...(behalf.roots ?? [])].some((one) => isOfTask.has(one)));
}

async function intentOf(
  ports: RunPorts,
  agent: AgentRecord,
  run: LiveRun,
  calls: readonly CallRecord[],
  { revision, calls: judged }: Judgement,
  asked: ReadonlyMap<string, AskedCall>,
): Promise<Intent> {
  const at = ports.clock.now();
  const allowed: JudgedCall[] = [];
  const denied: JudgedCall[] = [];
  const held: HeldCall[] = [];
  const ops: Op[] = [];
  const denials: EntryDraft[] = [];
  const settled = new Map<string, CallRecord>();
  for (const one of judged) {
    const { call, decision } = one;
    const answer = asked.get(call.callId);
    if (decision.verdict === "allow") {
      allowed.push(one);
      ops.push(...(await endNeedless(ports, run.id, call)));
    } else if (answer?.is === "allowed") {
      const reason = `approval ${answer.approval}`;
      allowed.push({ ...one, decision: { verdict: "allow", reason } });
      settled.set(call.callId, { ...call, approval: answer.approval });
    } else if (answer?.is === "held") held.push(answer.held);
    else if (answer) {
      ops.push(...answer.ops);
      settled.set(call.callId, { ...call, state: "done" });
      denials.push(callEntry(call, textOutput(answer.text, true), at, run.id));
    } else {
      denied.push(one);
      settled.set(call.callId, { ...call, state: "done" });
      denials.push(callEntry(call, textOutput(deniedText(call.name, decision, one.effects), true), at, run.id));
    }
  }
  const isHeld = new Set(held.map(({ judged: { call } }) => call.callId));
  const rest = calls.map((call) => settled.get(call.callId) ?? call);
  const next = intendNext(ports, agent, rest, isHeld).map((call, index) => withoutUnusedYes(call, calls[index]));
  for (const one of denied) ops.push({ op: "audit.add", entry: auditOf(agent, run, one, at) });
  for (const call of next) {
    const answer = call.state === "intended" ? asked.get(call.callId) : undefined;
    if (answer?.is === "allowed" && answer.use) ops.push(answer.use);
  }
  return { calls: left(next), denials, ops, rights: revision, allowed, held };
}

/** A yes is named by the call that uses it, when it starts. */
const withoutUnusedYes = (call: CallRecord, before: CallRecord | undefined): CallRecord =>
  call.state === "asked" && before ? before : call;

const left = (calls: readonly CallRecord[]): readonly CallRecord[] =>
  calls.every(({ state }) => state === "done") ? [] : calls;

/** Marks the calls that may start now: the next one, or all next ones that may run in parallel. `held` ones do not start. */
function intendNext(
  ports: RunPorts,
  agent: AgentRecord,
  calls: readonly CallRecord[],
  held: ReadonlySet<string> = new Set(),
): readonly CallRecord[] {
  if (calls.some((call) => call.state === "intended")) return calls;
  const parallel = (call: CallRecord): boolean => ports.tools.find(agent, call.name)?.parallel ?? true;
  const open = calls.filter((call) => call.state === "asked" && !held.has(call.callId));
  const isNext = new Set(open.slice(0, 1));
  if (open[0] && parallel(open[0])) {
    for (const call of open.slice(1)) {
      if (!parallel(call)) break;
      isNext.add(call);
    }
  }
  return calls.map((call) => (isNext.has(call) ? { ...call, state: "intended" } : call));
}

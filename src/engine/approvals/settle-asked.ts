/**
 * Settles calls that the gate says to ask about (M31): the yes to its question lets a call start, a no or an end of the
 * question is its result, and otherwise it waits. A call that equals an open question waits for that one. A digest is taken from the
 * world as it is now: what has changed since the question is not what was approved.
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { RunId } from "../../core/ids.ts";
import { type Behalf, everyone } from "../../core/people/behalf.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { JudgedCall, JudgedRun } from "../../core/ports/gate.ts";
import type { Approval, ApprovalId } from "../../core/rights/approval.ts";
import type { CallRecord } from "../../core/run/run.ts";
import type { Op } from "../../core/store/change.ts";
import type { StoreReader } from "../../core/store/store.ts";
import type { ApprovalPort } from "./approval-port.ts";
import { digestOf } from "./call-digest.ts";

interface AskPorts {
  readonly store: Pick<StoreReader, "approval" | "openApprovals">;
  readonly clock: { now(): number };
  readonly approvals?: ApprovalPort;
}

/** A call that waits for a person. */
export interface HeldCall {
  readonly judged: JudgedCall;
  readonly digest: string;
  readonly files: readonly string[];
  /** What people are shown instead of the arguments. */
  readonly preview?: string;
  readonly directory?: string;
  readonly behalf: Behalf;
  /** Its question, if it was asked already. */
  readonly approval?: ApprovalId;
}

export type AskedCall =
  /** May start. `use`: the op that uses the yes up, for the commit in which it starts. Absent: it has been used for this call. */
  | { readonly is: "allowed"; readonly approval: ApprovalId; readonly use?: Op }
  | { readonly is: "refused"; readonly text: string; readonly ops: readonly Op[] }
  | { readonly is: "held"; readonly held: HeldCall };

/**
 * `waitEnds`: something came that must not wait for a person, so a call that still waits is not made now. `taken`: the approvals of
 * other calls of the same answer.
 */
export async function settleAsked(
  ports: AskPorts,
  agent: AgentRecord,
  run: JudgedRun,
  judged: JudgedCall,
  waitEnds: boolean,
  taken: ReadonlySet<string> = new Set(),
): Promise<AskedCall> {
  const { call } = judged;
  const behalf = run.body.behalf ?? { person: judged.person as PersonId };
  const surroundings = (await ports.approvals?.surroundingsOf(agent, call, judged.effects, run.id)) ?? {};
  const digest = digestOf(call, surroundings);
  // Questions of earlier versions do not cover the tool's definition.
  const before = digestOf(call, { ...surroundings, definition: undefined });
  const digestFor = ({ version }: Approval): string => (version === undefined ? before : digest);
  const known =
    call.approval === undefined
      ? await sameOpen(ports, agent, behalf, digestFor, taken)
      : await ports.store.approval(call.approval as ApprovalId);
  const { files = {}, preview, directory, made } = surroundings;
  const held = { judged, digest, files: Object.keys(files), preview, directory, behalf, approval: known?.id };
  const as = { runId: run.id, callId: call.callId };
  const settled = known ? settledBy(known, call, { digest: digestFor(known), made, as }, ports.clock.now()) : undefined;
  if (settled) return settled;
  if (call.approval !== undefined && !known) {
    return { is: "refused", text: `Not executed: there is no approval ${call.approval}.`, ops: [] };
  }
  if (!waitEnds || !known) return { is: "held", held };
  return { is: "refused", text: `Not executed; approval ${known.id} is still open.`, ops: [] };
}

/**
 * An open question about the same call, or its unused yes. Whoever may answer it must be able to answer for everyone involved in this
 * call too.
 */
async function sameOpen(
  { store, clock }: AskPorts,
  { id: agentId }: AgentRecord,
  behalf: Behalf,
  digestFor: (approval: Approval) => string,
  taken: ReadonlySet<string>,
): Promise<Approval | undefined> {
  const now = clock.now();
  const open = await store.openApprovals(agentId);
  return open.find((one) => {
    if (one.dueAt <= now || taken.has(one.id) || one.behalf.person !== behalf.person) return false;
    const asked = everyone(one.behalf);
    return one.digest === digestFor(one) && everyone(behalf).every((person) => asked.includes(person));
  });
}

/** Undefined while the question is open. */
function settledBy(
  approval: Approval,
  call: CallRecord,
  {
    digest,
    made,
    as,
  }: {
    readonly digest: string;
    readonly made?: boolean;
    readonly as: NonNullable<Approval["used"]> & { runId: RunId };
  },
  now: number,
): AskedCall | undefined {
  const { id, state, reason, decidedBy, used } = approval;
  const because = reason === undefined ? "" : `: ${reason}`;
  const refused = (text: string, ops: readonly Op[] = []): AskedCall => ({ is: "refused", text, ops });
  switch (state) {
    case "pending":
      return undefined;
    case "approved":
      if (approval.digest !== digest) return refused(changedText(call, id), [outdated(approval)]);
      if (approval.dueAt <= now) return refused(`Not executed: approval ${id} was given too long ago.`);
      if (call.approval === undefined && approval.version !== undefined) {
        return refused(
          `Not executed again: approval ${id} was given for the same call, which is executed after this run.`,
        );
      }
      return { is: "allowed", approval: id, use: { op: "approval.use", id, digest, by: as } };
    case "used":
      if (used && (used.runId !== as.runId || used.callId !== as.callId)) {
        return refused(`Not executed: approval ${id} was used by another call.`);
      }
      // A crash interrupted this very call, or a late yes began its run. Its own changes do not void the yes.
      if (approval.digest !== digest && !made) return refused(changedText(call, id));
      return { is: "allowed", approval: id };
    case "denied":
      return refused(`Not executed: ${decidedBy} denied approval ${id}${because}.`);
    case "expired":
      return refused(`Not executed: no one answered approval ${id} in time.`);
    case "withdrawn":
      return refused(`Not executed: approval ${id} was withdrawn${because}.`);
  }
}

const changedText = ({ name }: CallRecord, id: ApprovalId): string =>
  `Not executed: what approval ${id} was given for has changed since. Call ${name} again to ask again.`;

const outdated = ({ id, agentId, digest }: Approval): Op => ({
  op: "approval.decide",
  ...{ id, agentId, digest, from: "approved", to: "withdrawn" },
  ...{ by: "system", surface: "run", reason: "what it was given for has changed" },
});

/** The ops that end the question of a call which needs none any more. A yes that it got counts as used. */
export async function endNeedless({ store, clock }: AskPorts, runId: RunId, call: CallRecord): Promise<readonly Op[]> {
  if (call.approval === undefined) return [];
  const known = await store.approval(call.approval as ApprovalId);
  if (!known) return [];
  const { id, agentId, digest, state, dueAt } = known;
  const as = { runId, callId: call.callId };
  if (state === "approved") return dueAt > clock.now() ? [{ op: "approval.use", id, digest, by: as }] : [];
  if (state !== "pending") return [];
  const by = { by: "system", surface: "run", reason: "the call needs no approval any more" };
  return [{ op: "approval.decide", id, agentId, digest, from: "pending", to: "withdrawn", ...by }];
}

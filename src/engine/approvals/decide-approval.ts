/**
 * Answers a question about a call (M31). Only the owner, or a person who was granted `approve`, says yes; everyone on the way of
 * the call may say no. The answer, its rule, its row of the audit log and the message that wakes the agent are one commit.
 */
import { cutText } from "../../core/cut-text.ts";
import { ConflictError, DeniedError, InvalidInputError, NotFoundError } from "../../core/errors.ts";
import type { AuditEntry } from "../../core/people/audit.ts";
import { everyone } from "../../core/people/behalf.ts";
import { OWNER, type PersonId } from "../../core/people/person.ts";
import type { Approval } from "../../core/rights/approval.ts";
import { GRANT_MS, isOnTheWay } from "../../core/rights/approval.ts";
import { type Effect, judge } from "../../core/rights/decide.ts";
import type { AlwaysScope } from "../../core/rights/standing-yes.ts";
import { type Op, RIGHTS_REVISION } from "../../core/store/change.ts";
import type { PeopleNow } from "../people/directory.ts";
import { type AskedUnder, alwaysRecords } from "./always-rules.ts";
import { lateEndText, lateYesText } from "./question.ts";

/** Who answers, and where. */
export interface Decider {
  readonly person: PersonId;
  /** `cli`, `api`, `control`, a channel. */
  readonly surface: string;
  readonly token?: string;
}

export interface Answer {
  readonly approve: boolean;
  /** Also lets the same happen from now on, by a rule on the person's record: exactly this call, or its pattern. */
  readonly always?: AlwaysScope;
  readonly reason?: string;
  /** The digest that the person was shown. Absent: the question as it is stored. */
  readonly digest?: string;
}

const MAX_REASON = 500;

/** Whether this person may see the question at all. */
export const maySee = (people: PeopleNow, approval: Approval, person: PersonId): boolean =>
  onTheWay(people, approval, person) || mayApprove(people, approval, person);

const onTheWay = ({ personOf }: PeopleNow, { behalf }: Approval, person: PersonId): boolean =>
  isOnTheWay(behalf, person) || everyone(behalf).some((one) => personOf(one) === person);

/** The owner may. Anyone else needs the grant `approve` for each person on the way: `approve` for themselves, `approve(bob)`. */
function mayApprove({ standing, personOf }: PeopleNow, { behalf }: Approval, person: PersonId): boolean {
  const decider = standing(person);
  return everyone(behalf).every((one) => {
    const target = personOf(one);
    const effect: Effect = { action: "approve", rights: [], target, of: target };
    return judge(effect, decider).verdict === "allow";
  });
}

/** The ops of an answer. Throws a typed error that says what to do if it is not possible. */
export function answerOps(
  people: PeopleNow,
  approval: Approval,
  { approve, always, reason, digest = approval.digest }: Answer,
  { person, surface, token }: Decider,
  at: number,
  under: AskedUnder = { rules: [], untrusted: false },
): readonly Op[] {
  const { id, agentId } = approval;
  const can = mayApprove(people, approval, person);
  if (!can && !onTheWay(people, approval, person)) throw unknownApproval(id);
  if (approve && !can) {
    throw new DeniedError(`Only the owner, or a person with the grant approve, can say yes to ${id}.`, {
      hint: `Ask the owner (\`rookery approvals yes ${id}\`).`,
    });
  }
  if (approval.state !== "pending") throw alreadyEnded(approval);
  if (approval.dueAt <= at)
    throw new ConflictError(`Approval ${id} has expired.`, { hint: "The agent can ask again." });
  if (always && !approve) throw new InvalidInputError("Only a yes can be for always.");
  if (reason !== undefined && reason.length > MAX_REASON) {
    throw new InvalidInputError(`A reason has at most ${MAX_REASON} characters.`);
  }
  const until = at + GRANT_MS;
  const to = approve ? "approved" : "denied";
  const why = reason === undefined ? "" : ` (${reason})`;
  const decided = { by: person, surface, reason, until: approve ? until : undefined };
  return [
    ...(person === OWNER || always ? [] : [unchangedRights(people)]),
    { op: "approval.decide", id, agentId, digest, from: "pending", to, ...decided },
    ...(always ? ruleOps(people, approval, under, { scope: always, by: person, at }) : []),
    { op: "audit.add", entry: auditOf(approval, approve ? "allow" : "deny", { person, surface, token }, at, reason) },
    wakingPost(approval, { approved: approve, by: person, how: `denied by ${person}${why}` }, at),
  ];
}

/** The question as it is after this answer. */
export const decidedBy = (
  approval: Approval,
  { approve, reason }: Answer,
  { person, surface }: Decider,
  at: number,
): Approval => ({
  ...approval,
  state: approve ? "approved" : "denied",
  dueAt: approve ? at + GRANT_MS : approval.dueAt,
  ...{ decidedAt: at, decidedBy: person, surface, reason },
});

export const unknownApproval = (id: string): NotFoundError =>
  new NotFoundError(`There is no approval ${id}.`, { hint: "Run `rookery approvals` to see the open ones." });

export const alreadyEnded = ({ id, state, decidedBy }: Approval): ConflictError =>
  new ConflictError(
    `Approval ${id} is already ${state === "used" ? "approved" : state}${decidedBy === undefined ? "" : ` by ${decidedBy}`}.`,
    {
      hint: "Nothing was changed.",
    },
  );

/** The right of the person who answers was read before this commit: it must still hold (L13). */
const unchangedRights = ({ revision }: PeopleNow): Op => ({
  op: "fact.put",
  ...{ key: RIGHTS_REVISION, value: String(revision), expect: String(revision) },
});

export function auditOf(
  { id, agentId, runId, callId, tool, digest }: Approval,
  decision: AuditEntry["decision"],
  { person, surface, token }: Decider,
  at: number,
  reason?: string,
): AuditEntry {
  const short = (text: string): string => cutText(text, 512);
  const about = { agentId, runId, callId: short(callId), target: short(`${id} ${tool}`), digest };
  const because = reason === undefined ? undefined : short(reason);
  return { at, person, surface, token, action: "approval.decide", decision, reason: because, ...about };
}

/** The urgent message that wakes the agent, also if its run no longer waits for the answer. `how`: what a no is called. */
export function wakingPost(
  { id, agentId, runId, callId, tool, behalf, delivery }: Approval,
  { approved, by, how }: { approved: boolean; by: string; how: string },
  at: number,
): Op {
  const text = approved ? lateYesText(id, tool, by) : lateEndText(id, tool, how);
  const body = { kind: "permission", runId, callId, approved, by, approval: id, text } as const;
  return { op: "message.post", to: { agentId }, message: { body, behalf, delivery, acceptedAt: at } };
}

/** The ops that store the rules of a yes for always. */
function ruleOps(
  people: PeopleNow,
  approval: Approval,
  under: AskedUnder,
  storing: Parameters<typeof alwaysRecords>[3],
) {
  const { records } = alwaysRecords(people, approval, under, storing);
  return records.map(
    (person, at): Op => ({ op: "person.put", person, expect: at === 0 ? people.revision : undefined }),
  );
}

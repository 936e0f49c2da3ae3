/**
 * The one place where rights are inherited: what a run commits (messages, children, jobs, agents) carries its behalf, in that
 * same commit (M30). No tool decides who it acts for, and none can forget to say it.
 */
import type { AgentRecord, AgentSeed } from "../../core/agent/agent.ts";
import { type Behalf, isUntrusted, joined } from "../../core/people/behalf.ts";
import { OWNER, type PersonId } from "../../core/people/person.ts";
import type { CronJob } from "../../core/schedule/job.ts";
import type { Op } from "../../core/store/change.ts";
import { noOne } from "./run-behalf.ts";

interface Acting {
  /** The agent whose run it is. */
  readonly agent: Pick<AgentRecord, "id" | "person">;
  /** Absent: an earlier version began the run. Then no one is named, and no one has rights. */
  readonly behalf: Behalf | undefined;
}

/** These ops, on behalf of the run that commits them. What names its people itself keeps them, and gets the run's in addition. */
export const onBehalf = (acting: Acting, ops: readonly Op[]): readonly Op[] => {
  const behalf = acting.behalf ?? { person: noOne(acting.agent) };
  return ops.map((op): Op => {
    switch (op.op) {
      case "message.post": {
        const to = "create" in op.to && op.to.create ? { ...op.to, create: belonging(acting, op.to.create) } : op.to;
        return { ...op, to, message: { ...op.message, behalf: inherited(behalf, op.message.behalf) } };
      }
      case "agent.create":
        return { ...op, seed: belonging(acting, op.seed) };
      case "job.put":
        return { ...op, job: ofJob(op.job, behalf, op.expect === 0) };
      case "delivery.add": {
        const { delivery } = op;
        const payload = { ...delivery.payload, person: delivery.payload.person ?? behalf.person };
        return { ...op, delivery: { ...delivery, payload } };
      }
      case "subagent.put":
        return op.expect === undefined ? { ...op, record: { behalf, ...op.record } } : op;
      default:
        return op;
    }
  });
};

/** What is made on a way inherits the whole way: its people and the mark of untrusted text. */
export const inherited = (from: Behalf, own?: Behalf): Behalf => (own ? joined(own.person, [own, from]) : from);

/**
 * A new job is its maker's. A person who changes it is on its way from then on; it stays the job of its person. It lasts longer than
 * the task that made it.
 */
export const ofJob = (job: CronJob, { roots: _, ...by }: Behalf, isNew: boolean): CronJob => ({
  ...job,
  behalf: isNew && !job.behalf ? by : inherited(by, job.behalf ?? { person: OWNER }),
});

/** A new agent that names no person belongs to the person of the run that makes it; a child to that of its parent. */
function belonging({ agent, behalf }: Acting, made: AgentSeed): AgentSeed {
  // Its prompt may follow untrusted text (M32).
  const isMarked = behalf !== undefined && isUntrusted(behalf);
  const seed: AgentSeed = isMarked ? { ...made, state: { ...made.state, madeUntrusted: true } } : made;
  if (seed.person !== undefined) return seed;
  return { ...seed, person: personOfNew(seed.descriptor.type, behalf?.person, agent.person) };
}

export function personOfNew(
  kind: AgentSeed["descriptor"]["type"],
  acting: PersonId | undefined,
  parent: PersonId | undefined,
): PersonId | undefined {
  switch (kind) {
    case "subagent":
    case "swarm":
      // The parent; the contact, who is the one that writes.
      return parent ?? acting;
    case "system":
    case "heartbeat":
      return OWNER;
    default:
      return acting;
  }
}

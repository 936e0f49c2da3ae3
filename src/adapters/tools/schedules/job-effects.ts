/** What a tool that names a job reaches: someone else's job (L13). */
import { OWNER, type PersonId } from "../../../core/people/person.ts";
import type { EffectContext } from "../../../core/ports/tool.ts";
import type { Effect } from "../../../core/rights/decide.ts";
import type { CronJob } from "../../../core/schedule/job.ts";

/** Someone else's job. One that the agent's own conversation made is its own. */
export function effectOnJob(action: string, job: CronJob, { agent }: Pick<EffectContext, "agent">): readonly Effect[] {
  const isOwn =
    job.sessionKey === agent.sessionKey || (agent.descriptor.type === "cron" && agent.descriptor.id === job.id);
  const of: PersonId = job.behalf?.person ?? OWNER;
  return isOwn && job.behalf === undefined ? [] : [{ action, rights: ["schedule"], target: `job:${job.id}`, of }];
}

/** What a job reaches: a check on the owner's machine, an address, another profile, someone else's job (L13). */
import { accountOf, OWNER, type PersonId } from "../../../core/people/person.ts";
import type { EffectContext } from "../../../core/ports/tool.ts";
import type { Effect } from "../../../core/rights/decide.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import { addressFrom } from "../../../engine/triggers/cron/job-message.ts";

/** What a new or changed job will do besides running an agent for its person. */
export function effectsOfJob(action: string, { gate, payload }: Pick<CronJob, "gate" | "payload">): readonly Effect[] {
  const effects: Effect[] = [];
  if (gate) effects.push({ action: "gate", rights: [gate.kind === "command" ? "exec" : "network"] });
  if (payload.kind !== "agentTurn") return effects;
  const { channel, to } = payload;
  const address = channel === undefined || channel === "last" ? to && addressFrom(to) : { channel, to };
  if (address) effects.push({ action, rights: ["send"], ...reached(address) });
  return effects;
}

/** An address belongs to the person who writes from there. One without a channel belongs to no one. */
function reached({
  channel,
  to = "",
}: {
  readonly channel?: string;
  readonly to?: string;
}): Pick<Effect, "target" | "of"> {
  if (channel === undefined) return { target: to };
  return { target: `${channel}:${to}`, of: to === "" ? undefined : accountOf(channel, to) };
}

/** Someone else's job. One that the agent's own conversation made is its own. */
export function effectOnJob(action: string, job: CronJob, { agent }: Pick<EffectContext, "agent">): readonly Effect[] {
  const isOwn =
    job.sessionKey === agent.sessionKey || (agent.descriptor.type === "cron" && agent.descriptor.id === job.id);
  const of: PersonId = job.behalf?.person ?? OWNER;
  return isOwn && job.behalf === undefined ? [] : [{ action, rights: ["schedule"], target: `job:${job.id}`, of }];
}

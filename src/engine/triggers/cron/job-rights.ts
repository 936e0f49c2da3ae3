/**
 * Whether a job may do what it does, now: everyone it acts for must still be known here, and be allowed its gate and its address
 * (L13, M30). A right that was taken away ends what a job was made with.
 */
import { everyone } from "../../../core/people/behalf.ts";
import { accountOf, OWNER } from "../../../core/people/person.ts";
import { decide, type Effect } from "../../../core/rights/decide.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import { behalfOfJob, type JobPorts, ownAddress } from "./job-message.ts";

/** The effects of a job besides running an agent for its person. `action`: the tool that makes it. */
export function effectsOfJob(action: string, { gate, payload }: Pick<CronJob, "gate" | "payload">): readonly Effect[] {
  const effects: Effect[] = [];
  if (gate) effects.push({ action: "gate", rights: [gate.kind === "command" ? "exec" : "network"] });
  const address = ownAddress(payload);
  if (address) effects.push({ action, rights: ["send"], ...reached(address) });
  return effects;
}

type Address = { readonly channel?: string; readonly to?: string };

/** An address belongs to the person who writes from there. One without a channel belongs to no one. */
function reached({ channel, to = "" }: Address): Pick<Effect, "target" | "of"> {
  if (channel === undefined) return { target: to };
  return { target: `${channel}:${to}`, of: to === "" ? undefined : accountOf(channel, to) };
}

/** Why a job does not run now; undefined if it may. A job of the owner alone costs no read. */
export async function jobDenial(ports: JobPorts, job: CronJob): Promise<string | undefined> {
  if (job.system) return undefined;
  const people = everyone(await behalfOfJob(ports, job));
  if (people.every((one) => one === OWNER)) return undefined;
  const { standing, personOf } = await ports.people.directory.now();
  const standings = people.map(standing);
  const gone = standings.find(({ role }) => role === "stranger");
  if (gone) return `${gone.person} is not known here any more`;
  for (const effect of effectsOfJob("cron", job)) {
    const of = effect.of && personOf(effect.of);
    const { verdict, reason } = decide({ ...effect, of }, { people: standings, kind: "cron", headless: true });
    if (verdict !== "allow") return `${effect.target ?? effect.action} is denied: ${reason}`;
  }
  return undefined;
}

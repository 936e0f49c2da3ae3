/**
 * The message of a due job: its text, its agent, and where the answer goes. The recipient is resolved when the job fires and
 * stored with the message; an address is taken as a whole, from the job or from its main conversation.
 */

import { type AgentRecord, type AgentSeed, DEFAULT_PROFILE } from "../../../core/agent/agent.ts";
import { buildAgentMainSessionKey } from "../../../core/agent/session-key.ts";
import { defined } from "../../../core/defined.ts";
import type { DeliveryContext } from "../../../core/delivery/delivery.ts";
import type { AgentId, Ids, SessionKey } from "../../../core/ids.ts";
import type { MessageBody } from "../../../core/message/message.ts";
import type { RunOverrides } from "../../../core/message/run-overrides.ts";
import type { Behalf } from "../../../core/people/behalf.ts";
import { accountOf, OWNER } from "../../../core/people/person.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import type { Address } from "../../agents/message-ingress.ts";
import { seedAgent } from "../../context/seed-agent.ts";
import type { People } from "../../runtime/people.ts";
import { wallTime } from "./describe-schedule.ts";
import { DEFAULT_GRACE_MS } from "./plan-due.ts";

export interface JobMessage {
  readonly to: Address;
  readonly body: MessageBody;
  readonly delivery?: DeliveryContext;
  /** Of the job. */
  readonly behalf?: Behalf;
}

export interface Firing {
  readonly slot: string;
  readonly dueAt: number;
  readonly lateMs: number;
  /** Up to this lateness the run counts as on time. */
  readonly graceMs?: number;
  readonly now: number;
  readonly zone: string;
  readonly mainKey?: string;
  readonly gateOutput?: string;
}

/** Finds the person a job is for. */
export interface JobPorts {
  readonly people: Pick<People, "addressOfConversation" | "personOf" | "personOfNew" | "directory">;
}

export async function jobMessage(
  ports: JobPorts & { readonly store: Pick<StoreReader, "agentByKey"> },
  job: CronJob,
  firing: Firing,
): Promise<JobMessage> {
  const behalf = await behalfOfJob(ports, job);
  // What a gate reads from the network is part of the text (M32).
  const isMarked = firing.gateOutput !== undefined && job.gate?.kind === "http";
  return { ...(await messageOf(ports, job, firing)), behalf: isMarked ? { ...behalf, untrusted: true } : behalf };
}

/**
 * Who a job runs for. One that an earlier version stored names no one: it is for the person of the conversation it was made
 * in, and without a conversation for the owner.
 */
export async function behalfOfJob(
  { people, store }: JobPorts & { readonly store: Pick<StoreReader, "agentByKey"> },
  job: Pick<CronJob, "behalf" | "sessionKey" | "id">,
): Promise<Behalf> {
  if (job.behalf) return job.behalf;
  if (job.sessionKey === undefined) return { person: OWNER };
  const agent = await store.agentByKey(job.sessionKey as SessionKey);
  return { person: (agent && (await people.personOf(agent))) ?? accountOf("job", job.id) };
}

async function messageOf({ people }: JobPorts, job: CronJob, firing: Firing): Promise<JobMessage> {
  const trigger = { type: "cron", id: job.id, slot: firing.slot } as const;
  const { payload } = job;
  if (payload.kind === "systemEvent") {
    const to = mainAddress(job, firing.mainKey);
    const text = `${payload.text}${gateText(firing)}`;
    if (job.wakeMode === "next-heartbeat") {
      return { to, body: { kind: "system", text, origin: `cron:${job.id}`, silent: true } };
    }
    const delivery = await people.addressOfConversation(mainKeyOf(job, firing.mainKey));
    return { to, body: { kind: "trigger", text, trigger }, delivery };
  }
  const delivery = wantsDelivery(job) ? await deliveryOf(people, job, firing.mainKey) : undefined;
  return {
    to: isolatedAddress(job),
    body: { kind: "trigger", text: turnText(job, payload.message, firing), trigger, wishes: overridesIn(payload) },
    delivery,
  };
}

/** The run's own settings; undefined if there are none. */
export function overridesIn({ model, thinking, timeoutSeconds }: RunOverrides): RunOverrides | undefined {
  const overrides = defined({ model, thinking, timeoutSeconds });
  return Object.keys(overrides).length > 0 ? overrides : undefined;
}

function turnText(job: CronJob, message: string, firing: Firing): string {
  const zone = job.schedule.kind === "cron" && job.schedule.tz ? job.schedule.tz : firing.zone;
  const { lateMs, graceMs = DEFAULT_GRACE_MS } = firing;
  const late = lateMs > graceMs ? `\nThis run is late: it was due at ${wallTime(firing.dueAt, zone)}.` : "";
  return `[cron:${job.id} ${job.name}] ${message}\nCurrent time: ${wallTime(firing.now, zone)}${late}${gateText(firing)}`;
}

const gateText = ({ gateOutput }: Firing): string => (gateOutput ? `\n\n[Gate output]\n${gateOutput}` : "");

/** A job's profile, and the conversation it was created in. */
export interface JobScope {
  readonly agentId?: string | undefined;
  readonly sessionKey?: string | undefined;
}

export const profileOf = (job: JobScope): string => job.agentId ?? DEFAULT_PROFILE;

/** The conversation that is "main" for a job. */
export const mainKeyOf = (job: JobScope, mainKey?: string): SessionKey =>
  (job.sessionKey ?? buildAgentMainSessionKey({ agentId: profileOf(job), mainKey })) as SessionKey;

/** The first contact of a main conversation that has no message yet. */
const AT_THE_TERMINAL = { type: "user", connector: "terminal", userId: "owner", channelId: "owner" } as const;

/**
 * The main conversation of a job, if it exists. If the one the job was created in was removed, the profile's main
 * conversation takes its place.
 */
export async function mainOf(
  store: Pick<StoreReader, "agentByKey">,
  job: JobScope,
  mainKey?: string,
): Promise<AgentRecord | undefined> {
  const own = await store.agentByKey(mainKeyOf(job, mainKey));
  return own || job.sessionKey === undefined ? own : store.agentByKey(mainKeyOf({ agentId: job.agentId }, mainKey));
}

/** The profile's main conversation before anyone has written to it. */
export const seedMain = (ids: Ids, { agentId }: JobScope, at: number, mainKey?: string): AgentSeed => ({
  ...seedAgent(ids, AT_THE_TERMINAL, at, profileOf({ agentId }), mainKeyOf({ agentId }, mainKey)),
  person: OWNER,
});

export const mainAddress = (job: JobScope, mainKey?: string): Address => ({
  descriptor: AT_THE_TERMINAL,
  profile: profileOf(job),
  sessionKey: mainKeyOf(job, mainKey),
});

export const isolatedAddress = (job: CronJob): Address =>
  job.targetAgentId
    ? { agentId: job.targetAgentId as AgentId }
    : { descriptor: { type: "cron", id: job.id, name: job.name }, profile: profileOf(job) };

/** `deliver` decides; without it, a named recipient means yes. */
export const wantsDelivery = ({ payload }: CronJob): boolean =>
  payload.kind === "agentTurn" && (payload.deliver ?? payload.to !== undefined);

const LAST = "last";

/** An address as text, "channel:id". Another text is no recipient: its delivery is unroutable, and listed with it (M26). */
export function addressFrom(text: string): DeliveryContext {
  const at = text.indexOf(":");
  return at > 0 ? { channel: text.slice(0, at), to: text.slice(at + 1) } : { to: text };
}

/** Where a job's answer goes. A partial address is never completed from another one. */
async function deliveryOf(people: JobPorts["people"], job: CronJob, mainKey?: string): Promise<DeliveryContext> {
  const { channel, to } = job.payload.kind === "agentTurn" ? job.payload : {};
  if (channel !== undefined && channel !== LAST) return { channel, to };
  // A job of a conversation goes only there. A job without one goes to the owner.
  return to === undefined ? people.addressOfConversation(mainKeyOf(job, mainKey)) : addressFrom(to);
}

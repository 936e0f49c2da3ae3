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
import { accountOf, OWNER, type PersonId } from "../../../core/people/person.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import type { Address } from "../../agents/message-ingress.ts";
import { seedAgent } from "../../context/seed-agent.ts";
import type { People } from "../../runtime/people.ts";
import { wallTime } from "./describe-schedule.ts";
import { DEFAULT_GRACE_MS } from "./plan-due.ts";
import { namesHour } from "./schedule.ts";

export interface JobMessage {
  readonly to: Address;
  readonly body: MessageBody;
  readonly delivery?: DeliveryContext;
  /** The people of the job. */
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
  readonly people: Pick<People, "addressOf" | "addressOfConversation" | "personOf" | "personOfNew" | "directory">;
  readonly store: Pick<StoreReader, "agentByKey">;
}

export async function jobMessage(ports: JobPorts, job: CronJob, firing: Firing): Promise<JobMessage> {
  const behalf = await behalfOfJob(ports, job);
  // The text contains the output of a gate, which may come from the network (M32).
  const isMarked = firing.gateOutput !== undefined && job.gate?.kind === "http";
  return { ...(await messageOf(ports, job, firing)), behalf: isMarked ? { ...behalf, untrusted: true } : behalf };
}

/**
 * Who a job runs for. One that an earlier version stored names no one: it is for the person of the conversation it was made
 * in, and without a conversation for the owner.
 */
export async function behalfOfJob(
  { people, store }: JobPorts,
  job: Pick<CronJob, "behalf" | "sessionKey" | "id">,
): Promise<Behalf> {
  if (job.behalf) return job.behalf;
  if (job.sessionKey === undefined) return { person: OWNER };
  const agent = await store.agentByKey(job.sessionKey as SessionKey);
  return { person: (agent && (await people.personOf(agent))) ?? accountOf("job", job.id) };
}

async function messageOf(ports: JobPorts, job: CronJob, firing: Firing): Promise<JobMessage> {
  const onNamedTime = (namesHour(job.schedule) && !isLate(firing)) || undefined;
  const trigger = { type: "cron", id: job.id, slot: firing.slot, onNamedTime } as const;
  const { payload } = job;
  if (payload.kind === "systemEvent") {
    const to = mainAddress(job, firing.mainKey);
    const text = `${payload.text}${gateText(firing)}`;
    if (job.wakeMode === "next-heartbeat") {
      return { to, body: { kind: "system", text, origin: `cron:${job.id}`, silent: true } };
    }
    return { to, body: { kind: "trigger", text, trigger }, delivery: await makerAddress(ports, job) };
  }
  // Silence must be asked for (M46).
  const delivery = payload.deliver === false ? undefined : (ownAddress(payload) ?? (await makerAddress(ports, job)));
  return {
    to: isolatedAddress(job),
    body: { kind: "trigger", text: turnText(job, payload.message, firing), trigger, wishes: overridesIn(payload) },
    delivery,
  };
}

/** The run's own settings; undefined if there are none. */
function overridesIn({ model, thinking, timeoutSeconds }: RunOverrides): RunOverrides | undefined {
  const overrides = defined({ model, thinking, timeoutSeconds });
  return Object.keys(overrides).length > 0 ? overrides : undefined;
}

function turnText(job: CronJob, message: string, firing: Firing): string {
  const zone = job.schedule.kind === "cron" && job.schedule.tz ? job.schedule.tz : firing.zone;
  const late = isLate(firing) ? `\nThis run is late: it was due at ${wallTime(firing.dueAt, zone)}.` : "";
  return `[cron:${job.id} ${job.name}] ${message}\nCurrent time: ${wallTime(firing.now, zone)}${late}${gateText(firing)}`;
}

const isLate = ({ lateMs, graceMs = DEFAULT_GRACE_MS }: Firing): boolean => lateMs > graceMs;

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

const isolatedAddress = (job: CronJob): Address =>
  job.targetAgentId
    ? { agentId: job.targetAgentId as AgentId }
    : { descriptor: { type: "cron", id: job.id, name: job.name }, profile: profileOf(job) };

const LAST = "last";

/** An address as text, "channel:id". Another text is not a recipient: its delivery is unroutable, and listed with it (M26). */
export function addressFrom(text: string): DeliveryContext {
  const at = text.indexOf(":");
  const [channel, to] = [text.slice(0, Math.max(0, at)).trim(), text.slice(at + 1).trim()];
  return channel === "" || to === "" ? { to: text } : { channel, to };
}

/** The address that a job names; undefined if it names none. A partial address is never completed from another one. */
export function ownAddress(payload: CronJob["payload"]): DeliveryContext | undefined {
  const { channel, to } = payload.kind === "agentTurn" ? payload : {};
  if (channel !== undefined && channel !== LAST) return { channel, to };
  return to ? addressFrom(to) : undefined;
}

/** The address of the person who made a job: the conversation it was made in, or the place where that person wrote last. */
export async function makerAddress(ports: JobPorts, job: CronJob): Promise<DeliveryContext> {
  const { people, store } = ports;
  const key = job.sessionKey as SessionKey | undefined;
  const made = key === undefined ? undefined : await store.agentByKey(key);
  if (key !== undefined && made?.descriptor.type === "user") return people.addressOfConversation(key);
  return people.addressOf(made ? (await behalfOfJob(ports, job)).person : (job.behalf?.person ?? OWNER));
}

const isStranger = async ({ people }: JobPorts, person: PersonId): Promise<boolean> =>
  (await people.directory.now()).standing(person).role === "stranger";

/**
 * Tells a job's person that something is wrong with it. The words are recorded in the job's conversation and sent as they are: no
 * model is called, and none can be silent about them (M46).
 */
export async function jobNotice(ports: JobPorts, job: CronJob, text: string, mainKey?: string): Promise<JobMessage> {
  const behalf = await behalfOfJob(ports, job);
  // A notice about the job of a person who is gone is for the owner.
  const isGone = behalf.person !== OWNER && (await isStranger(ports, behalf.person));
  const scope = isGone ? { agentId: job.agentId } : job;
  const main = await mainOf(ports.store, scope, mainKey);
  return {
    to: main ? { agentId: main.id } : mainAddress({ agentId: job.agentId }, mainKey),
    body: { kind: "system", text, origin: `cron:${job.id}`, silent: true, said: "notice" },
    delivery: isGone ? await ports.people.addressOf(OWNER) : await makerAddress(ports, job),
    // The job's name and text are somebody else's words (M32).
    behalf: isGone ? { person: OWNER, untrusted: true } : behalf,
  };
}

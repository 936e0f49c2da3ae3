/**
 * Decides one tick of the heartbeat without calling a model: skip it with a reason, or post a message, with its text, its
 * agent and its recipient.
 */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { buildAgentMainSessionKey, sessionKeyOf } from "../../../core/agent/session-key.ts";
import type { DeliveryContext } from "../../../core/delivery/delivery.ts";
import type { SessionKey } from "../../../core/ids.ts";
import type { Trigger } from "../../../core/message/trigger.ts";
import type { Behalf } from "../../../core/people/behalf.ts";
import { OWNER } from "../../../core/people/person.ts";
import type { GateRunner } from "../../../core/ports/gate-runner.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import { spentOn } from "../../../core/schedule/job-slot.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import type { People } from "../../runtime/people.ts";
import { wallTime } from "../cron/describe-schedule.ts";
import { addressFrom, type JobMessage, mainAddress } from "../cron/job-message.ts";
import { isWithinActiveHours, type Zones } from "./active-hours.ts";
import type { HeartbeatConfig, HeartbeatSummary } from "./heartbeat-config.ts";
import { heartbeatJobId } from "./heartbeat-job.ts";
import { batchPrompt, type HeartbeatTask, isHeartbeatContentEffectivelyEmpty } from "./heartbeat-tasks.ts";
import { eventsText, unseenEvents } from "./system-events.ts";

export interface TickPorts {
  readonly store: StoreReader;
  readonly people: Pick<People, "addressOf">;
  readonly gates?: GateRunner;
  /** HEARTBEAT.md of a profile's workspace; undefined if there is none. */
  heartbeatFile?(profile: string): Promise<string | undefined>;
  tasks?(profile: string): Promise<readonly HeartbeatTask[]>;
  /** Why no model can be called for a profile now (its key was rejected); undefined if one can. */
  modelProblem?(profile: string, model?: string): string | undefined;
}

interface TickRequest {
  readonly profile: string;
  readonly heartbeat: HeartbeatConfig;
  readonly summary: HeartbeatSummary;
  readonly job: CronJob | undefined;
  readonly slot: string;
  readonly now: number;
  /** Why there is a tick: `interval`, or what woke it. */
  readonly reason: string;
  readonly zones: Zones;
  readonly mainKey?: string;
}

export type TickDecision =
  | { readonly kind: "skip"; readonly reason: string }
  /** `events`: a second message, for the main agent. */
  | { readonly kind: "post"; readonly message: JobMessage; readonly events?: JobMessage };

/** A tick with this reason runs even if HEARTBEAT.md is empty: a program waits for it. */
const EXEC_EVENT = "exec-event";

export async function decideTick(ports: TickPorts, request: TickRequest): Promise<TickDecision> {
  const { heartbeat, summary, now, profile, zones } = request;
  const skip = (reason: string): TickDecision => ({ kind: "skip", reason });
  // 1. Enabled.
  if (!summary.enabled) return skip("disabled");
  // 2. Active hours.
  if (!isWithinActiveHours(heartbeat.activeHours, now, zones)) return skip("quiet-hours");
  // 3. The agent is idle, the model is usable, the budget is not spent.
  const key = sessionKeyFor(request);
  const agent = await ports.store.agentByKey(key);
  if (isBusy(agent)) return skip("requests-in-flight");
  const problem = ports.modelProblem?.(profile, summary.model);
  if (problem !== undefined) return skip(`model: ${problem}`);
  const { dollarsPerDay } = heartbeat;
  if (dollarsPerDay !== undefined && spentOn(request.job?.state.spent, now) >= dollarsPerDay) return skip("budget");
  // 4. The text, the agent, the recipient.
  const mainKey = mainKeyFor(request);
  const main = key === mainKey ? agent : await ports.store.agentByKey(mainKey);
  const waiting = main ? await unseenEvents(ports.store, main) : [];
  const delivery = await resolveTarget(ports.people, summary.target);
  const about = await promptOf(ports, request);
  const events = waiting.length > 0 && !isBusy(main) ? eventsText(waiting, zones.user ?? zones.host) : undefined;
  if (about === undefined && events === undefined) return skip("empty-heartbeat-file");
  const post = (text: string, sessionKey: SessionKey, isMarked?: boolean): JobMessage =>
    message(request, text, sessionKey, delivery, isMarked);
  const mainMessage = events === undefined ? undefined : post(events, mainKey);
  if (about === undefined) return { kind: "post", message: mainMessage as JobMessage };
  const { text, untrusted } = about;
  if (key === mainKey) {
    return { kind: "post", message: post([text, events].filter(Boolean).join("\n\n"), key, untrusted) };
  }
  return { kind: "post", message: post(text, key, untrusted), events: mainMessage };
}

const isBusy = (agent: AgentRecord | undefined): boolean =>
  agent !== undefined && (agent.runId !== undefined || agent.waiting > 0);

/** The prompt of the tick; undefined if there is nothing to do, so that no model is called. */
async function promptOf(
  ports: TickPorts,
  { profile, summary, now, reason, zones, job }: TickRequest,
): Promise<{ readonly text: string; readonly untrusted: boolean } | undefined> {
  const tasks = await withPassingGates(ports, [...(job?.tasks ?? []), ...((await ports.tasks?.(profile)) ?? [])]);
  const file = await ports.heartbeatFile?.(profile);
  const empty = file !== undefined && isHeartbeatContentEffectivelyEmpty(file);
  const alone = file === undefined && tasks.length > 0;
  const prompt = (empty && reason !== EXEC_EVENT) || alone ? undefined : summary.prompt;
  const parts = [prompt, batchPrompt(tasks)].filter((part) => part);
  if (parts.length === 0) return undefined;
  const text = `${parts.join("\n\n")}\n\nCurrent time: ${wallTime(now, zones.user ?? zones.host)}`;
  return { text, untrusted: tasks.some(({ untrusted }) => untrusted) };
}

/** Leaves out tasks whose gate does not pass. The output of a gate that passes goes into the task's prompt. */
async function withPassingGates(
  { gates }: TickPorts,
  tasks: readonly HeartbeatTask[],
): Promise<readonly HeartbeatTask[]> {
  const checked = await Promise.all(
    tasks.map(async (task) => {
      if (!task.gate) return task;
      const verdict = await gates?.check(task.gate, new AbortController().signal);
      if (!verdict?.pass) return undefined;
      if (!verdict.output) return task;
      // What it reads from the network is untrusted (M32).
      const untrusted = task.gate.kind === "http" ? true : task.untrusted;
      return { ...task, prompt: `${task.prompt}\n\n[Gate output]\n${verdict.output}`, untrusted };
    }),
  );
  return checked.filter((task) => task !== undefined);
}

const mainKeyFor = ({ profile, mainKey }: TickRequest): SessionKey =>
  buildAgentMainSessionKey({ agentId: profile, mainKey }) as SessionKey;

function sessionKeyFor(request: TickRequest): SessionKey {
  const { session } = request.heartbeat;
  if (session === undefined) return sessionKeyOf({ type: "heartbeat" }, request.profile);
  return session === "main" ? mainKeyFor(request) : (session as SessionKey);
}

function message(
  request: TickRequest,
  text: string,
  sessionKey: SessionKey,
  delivery: DeliveryContext | undefined,
  isMarked: boolean | undefined,
): JobMessage {
  const { profile, heartbeat, slot, job, summary } = request;
  const behalf: Behalf = job?.behalf ?? { person: OWNER };
  const trigger: Trigger = { type: "heartbeat", id: job?.id ?? heartbeatJobId(profile), slot };
  const own = heartbeat.session === undefined && sessionKey !== mainKeyFor(request);
  const to: JobMessage["to"] = own
    ? { descriptor: { type: "heartbeat" }, profile }
    : mainAddress({ agentId: profile, sessionKey });
  return {
    to,
    body: {
      kind: "trigger",
      text,
      trigger,
      wishes: summary.model === undefined ? undefined : { model: summary.model },
    },
    delivery,
    // The person who gave the heartbeat a task is on its way.
    behalf: isMarked ? { ...behalf, untrusted: true } : behalf,
  };
}

/** `last` is where the owner wrote last. It is read once and stored with the tick's message. */
async function resolveTarget(people: TickPorts["people"], target: string): Promise<DeliveryContext | undefined> {
  if (target === "none") return undefined;
  return target === "last" ? people.addressOf(OWNER) : addressFrom(target);
}

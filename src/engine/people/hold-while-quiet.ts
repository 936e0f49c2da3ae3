/**
 * Holds what a person did not ask for while the person is not to be disturbed: reports and heartbeats. An answer is never held, nor a job
 * of the person at an hour that the person named (M46), and nothing is held from someone who has just written.
 */
import type { Settings } from "../../config/settings.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { Current } from "../../core/current.ts";
import type { Delivery } from "../../core/delivery/delivery.ts";
import { OWNER } from "../../core/people/person.ts";
import { isQuiet } from "../../core/people/quiet-hours.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { StoreReader } from "../../core/store/store.ts";
import type { Directory, PeopleNow } from "./directory.ts";

/** Someone who wrote this recently is awake. */
const AWAKE_MS = 15 * 60_000;
/** The hours may be changed while something waits. */
const LOOK_AGAIN_MS = 60_000;

interface QuietDeps {
  readonly store: Pick<StoreReader, "run" | "agent">;
  readonly people: {
    readonly directory: Pick<Directory, "recent">;
    foregroundOf(person: string): Promise<Pick<AgentRecord, "lastHumanAt"> | undefined>;
  };
  readonly clock: Pick<Clock, "now">;
  readonly settings: Current<Pick<Settings, "zone">>;
}

/** How long the delivery is held; 0: it may be sent. */
export const holdWhileQuiet =
  ({ store, people, clock, settings }: QuietDeps) =>
  async (delivery: Pick<Delivery, "payload" | "agentId" | "runId" | "target">): Promise<number> => {
    const { agentId, runId } = delivery;
    if (runId === undefined) return 0;
    const now = await people.directory.recent();
    const person = recipientOf(now, delivery);
    const record = person && now.record(person);
    const hours = record?.limits?.quietHours;
    if (hours === undefined || !isQuiet(hours, clock.now(), record?.timeZone ?? settings.current.zone)) return 0;
    const run = await store.run(runId);
    if (run?.body.humanAt !== undefined) return 0;
    const maker = run?.body.behalf?.person;
    if (run?.body.trigger?.onNamedTime && maker && now.personOf(maker) === person) return 0;
    const wrote = await Promise.all([people.foregroundOf(record?.id ?? ""), store.agent(agentId)]);
    return wrote.some((agent) => clock.now() - (agent?.lastHumanAt ?? 0) < AWAKE_MS) ? 0 : LOOK_AGAIN_MS;
  };

/** The person whose account it goes to; if the address belongs to no one, such as a group's, the person of the run. */
function recipientOf(now: PeopleNow, { payload, target: { channel, to } }: Pick<Delivery, "payload" | "target">) {
  const named = channel && to ? now.sender(channel, to) : undefined;
  if (named === OWNER || (named && now.record(named))) return named;
  return payload.person && now.personOf(payload.person);
}

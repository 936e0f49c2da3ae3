/**
 * Holds what a person did not ask for while the person is not to be disturbed: reports, reminders, heartbeats. An answer is never held, and
 * nothing is held from someone who has just written there.
 */
import type { Delivery } from "../../core/delivery/delivery.ts";
import { isQuiet } from "../../core/people/quiet-hours.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { StoreReader } from "../../core/store/store.ts";
import type { Directory } from "./directory.ts";

/** Someone who wrote this recently is awake. */
const AWAKE_MS = 15 * 60_000;
/** The hours may be changed while something waits. */
const LOOK_AGAIN_MS = 60_000;

interface QuietDeps {
  readonly store: Pick<StoreReader, "run" | "agent">;
  readonly directory: Pick<Directory, "recent">;
  readonly clock: Pick<Clock, "now">;
  /** Of people whose record names no zone. */
  zone(): string;
}

/** How long the delivery is held; 0: it may be sent. */
export const holdWhileQuiet =
  ({ store, directory, clock, zone }: QuietDeps) =>
  async ({ payload, agentId, runId }: Pick<Delivery, "payload" | "agentId" | "runId">): Promise<number> => {
    if (payload.person === undefined || runId === undefined) return 0;
    const people = await directory.recent();
    const record = people.record(people.personOf(payload.person));
    const hours = record?.limits?.quietHours;
    if (hours === undefined || !isQuiet(hours, clock.now(), record?.timeZone ?? zone())) return 0;
    const run = await store.run(runId);
    if (run?.body.humanAt !== undefined) return 0;
    const last = (await store.agent(agentId))?.state.lastInteractionAt;
    return last !== undefined && clock.now() - last < AWAKE_MS ? 0 : LOOK_AGAIN_MS;
  };

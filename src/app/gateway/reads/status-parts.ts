/** Parts of the status that features add: each reads one value. A part that cannot be read is null, and the others are shown. */

import { namerOf } from "../../../core/store/agent-names.ts";
import { CONVERSATIONS_FACT } from "../../../core/store/change.ts";
import { failingMessages } from "../../../core/store/failing-messages.ts";
import type { WorkCounts } from "../../../core/store/work-counts.ts";
import { channelStatuses } from "./channel-statuses.ts";
import type { StatusSources } from "./status.ts";

type PartSources = Pick<StatusSources, "store" | "now" | "config" | "connectors">;

/** How many agents with work are looked at. */
const LOOKED_AT = 50;
const SHOWN = 3;
/** More than are shown: the heartbeat's jobs stand among them. */
const READ = 20;
const COUNTED = 1_000;

const PARTS = {
  /** Messages that failed within a day. */
  failed: async (_: PartSources, { failed }: WorkCounts) => failed,

  /** Messages whose handling keeps failing. */
  failing: async ({ store }: PartSources) =>
    failingMessages(store, await store.busyAgents({ limit: LOOKED_AT }), namerOf(store).name),

  /** How many runs wait for their trial after repeated crashes (M13). */
  heldBack: async ({ store }: PartSources) => (await store.heldBackRuns({ limit: COUNTED })).length,

  /** The next schedules. */
  schedules: async ({ store }: PartSources) =>
    (await store.nextJobs({ limit: READ }))
      .flatMap(({ id, name, system, enabled, state: { nextRunAtMs } }) =>
        system || !enabled || nextRunAtMs === undefined ? [] : [{ id, name, at: nextRunAtMs }],
      )
      .sort((a, b) => a.at - b.at)
      .slice(0, SHOWN),

  channels: async ({ connectors, config }: PartSources) =>
    channelStatuses(connectors, config.connectors).map(({ channel, name, state, detail }) => ({
      ...{ channel, name, state, detail },
    })),

  /** The conversations that a change of `session.dmScope` leaves behind, as a sentence. */
  async leftBehind({ store, config }: PartSources) {
    const { DEFAULT_DM_SCOPE } = await import("../../../core/agent/session-key.ts");
    const isDefault = (config.session.dmScope ?? DEFAULT_DM_SCOPE) === DEFAULT_DM_SCOPE;
    // Nothing was written down, and nothing has changed: there is no other scope.
    if (isDefault && (await store.fact(CONVERSATIONS_FACT)) === undefined) return null;
    const { carryPlan, carryWarning } = await import("../../../engine/people/carry-over.ts");
    return carryWarning(await carryPlan({ store }, config), true) ?? null;
  },
};

export type StatusParts = {
  readonly [Name in keyof typeof PARTS]: Awaited<ReturnType<(typeof PARTS)[Name]>> | null;
};

export async function readStatusParts(sources: PartSources, counts: WorkCounts): Promise<StatusParts> {
  const read = Object.entries(PARTS).map(async ([name, part]) => [name, await part(sources, counts).catch(() => null)]);
  return Object.fromEntries(await Promise.all(read)) as StatusParts;
}

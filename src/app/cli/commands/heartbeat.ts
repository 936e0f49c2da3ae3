/** `rookery heartbeat`: shows the heartbeat settings, when it is due next, and its last ticks. */
import type { Store } from "../../../core/store/store.ts";
import { defineAction } from "../command.ts";
import { readHome } from "../read-home.ts";

export const heartbeatCommand = defineAction({
  summary: "show the heartbeat settings and its last ticks",
  options: { limit: { type: "string", value: "N", description: "how many ticks to show (default: 10)" } },
  async run({ flags, paths, json, stdout, loadConfig }) {
    const { config } = await loadConfig();
    const { HeartbeatRunner } = await import("../../../engine/triggers/heartbeat/heartbeat-runner.ts");
    const { peopleOf } = await import("../../../engine/runtime/people.ts");
    const { silentLog } = await import("../../../core/ports/log.ts");
    const { systemClock } = await import("../../../adapters/system/system-clock.ts");
    const { systemIds } = await import("../../../adapters/system/system-ids.ts");
    const status = await readHome(paths, (store) =>
      new HeartbeatRunner(
        { store: store as Store, clock: systemClock, ids: systemIds(), log: silentLog, people: peopleOf(store) },
        config,
      ).status(Number(flags.limit ?? 10) || 10),
    );
    if (json) {
      stdout.write(`${JSON.stringify(status)}\n`);
      return undefined;
    }
    for (const { profile, enabled, every, target, nextDueMs, ticks } of status) {
      const next = nextDueMs === undefined ? "" : `, next ${new Date(nextDueMs).toISOString()}`;
      stdout.write(enabled ? `${profile}: every ${every}, delivers to ${target}${next}\n` : `${profile}: off\n`);
      for (const { dueAt, status: what, reason, end } of ticks) {
        stdout.write(
          `  ${new Date(dueAt).toISOString()}  ${what}${reason ? `: ${reason}` : ""}${end ? `  run ${end.status}` : ""}\n`,
        );
      }
    }
    return undefined;
  },
});

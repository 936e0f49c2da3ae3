/** `rookery heartbeat`: shows the heartbeat settings, when it is due next, and its last ticks. */
import type { Store } from "../../../core/store/store.ts";
import type { HeartbeatStatus } from "../../../engine/triggers/heartbeat/heartbeat-runner.ts";
import { defineAction } from "../command.ts";
import { limitFlag } from "../number-flag.ts";
import { oneLine, timeText } from "../plain-text.ts";
import { printList } from "../print.ts";
import { readHome } from "../read-home.ts";

export const heartbeatCommand = defineAction({
  summary: "show the heartbeat settings and its last ticks",
  options: { limit: { type: "string", value: "N", description: "how many ticks to show (default: 10)" } },
  async run(context) {
    const { flags, paths } = context;
    const limit = limitFlag(flags.limit, 10, 1_000);
    const { config } = await context.loadConfig();
    const { HeartbeatRunner } = await import("../../../engine/triggers/heartbeat/heartbeat-runner.ts");
    const { peopleOf } = await import("../../../engine/runtime/people.ts");
    const { silentLog } = await import("../../../core/ports/log.ts");
    const { systemClock } = await import("../../../adapters/system/system-clock.ts");
    const { systemIds } = await import("../../../adapters/system/system-ids.ts");
    const status = await readHome(paths, (store) =>
      new HeartbeatRunner(
        { store: store as Store, clock: systemClock, ids: systemIds(), log: silentLog, people: peopleOf(store) },
        config,
      ).status(limit),
    );
    return printList(context, { items: status, line, empty: "No profiles." });
  },
});

function line({ profile, enabled, every, target, nextDueMs, ticks }: HeartbeatStatus): string {
  const next = nextDueMs === undefined ? "" : `, next ${timeText(nextDueMs)}`;
  const head = enabled ? `${profile}: every ${every}, delivers to ${target}${next}` : `${profile}: off`;
  const past = ticks.map(
    ({ dueAt, status, reason, end }) =>
      `  ${timeText(dueAt)}  ${status}${reason ? `: ${oneLine(reason, 200)}` : ""}${end ? `  run ${end.status}` : ""}`,
  );
  return [head, ...past].join("\n");
}

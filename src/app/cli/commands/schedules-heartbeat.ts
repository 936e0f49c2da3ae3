/** `rookery schedules heartbeat`: shows the heartbeat settings, when it is due next, and its last ticks. */
import type { Heartbeat } from "../../client/spending-resources.ts";
import { reading } from "../client/with-api.ts";
import { defineAction } from "../command.ts";
import { limitFlag } from "../number-flag.ts";
import { oneLine, timeText } from "../plain-text.ts";
import { printList } from "../print.ts";

export const showHeartbeat = defineAction({
  summary: "show the heartbeat settings and its last ticks",
  options: { limit: { type: "string", value: "N", description: "how many ticks to show (default: 10)" } },
  async run(context) {
    const limit = limitFlag(context.flags.limit, 10, 1_000);
    const { items } = await reading(context, ({ schedule }) => schedule.heartbeats({ limit }));
    return printList(context, { items, line, empty: "No profiles." });
  },
});

function line({ profile, enabled, every, target, nextDueMs, ticks }: Heartbeat): string {
  const next = nextDueMs === undefined ? "" : `, next ${timeText(nextDueMs)}`;
  const head = enabled ? `${profile}: every ${every}, delivers to ${target}${next}` : `${profile}: off`;
  const past = ticks.map(
    ({ dueAt, status, reason, end }) =>
      `  ${timeText(dueAt)}  ${status}${reason ? `: ${oneLine(reason, 200)}` : ""}${end ? `  run ${end.status}` : ""}`,
  );
  return [head, ...past].join("\n");
}

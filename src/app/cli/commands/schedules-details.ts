/** One job as lines of text. */
import type { JobView } from "../../../engine/triggers/cron/cron-service.ts";
import { oneLine } from "../plain-text.ts";
import { relativeTime } from "../relative-time.ts";

export function details(job: JobView, now = Date.now()): string {
  const { id, name, enabled, when, nextTimes, payload, sessionTarget, state } = job;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["name", oneLine(name, 200)],
    ["id", id],
    ["state", enabled ? "on" : `off${state.disabledReason ? ` (${state.disabledReason})` : ""}`],
    ["due", when],
    ...nextTimes.map(({ text, atMs }, n) => [n === 0 ? "next" : "", `${relativeTime(atMs, now)}  (${text})`] as const),
    ["target", sessionTarget],
    ["says", oneLine(payload.kind === "agentTurn" ? payload.message : payload.text, 400)],
    ["last", state.lastStatus && `${state.lastStatus}${state.lastError ? `: ${oneLine(state.lastError, 400)}` : ""}`],
  ];
  return rows.flatMap(([key, value]) => (value === undefined ? [] : [`${key.padEnd(8)}${value}`])).join("\n");
}

/** What a process that is about to exit says about schedules that wait, and whether another process may fire them after it. */

import type { Config } from "../../config/config-schema.ts";
import { shortened } from "../../core/cut-text.ts";
import { hostZone } from "../../core/zoned-time.ts";
import { wallTime } from "../../engine/triggers/cron/describe-schedule.ts";
import { findEngine } from "../gateway/control/find-engine.ts";
import type { RookeryNode } from "../node/open-node.ts";
import type { CommandContext } from "./command.ts";
import { sharedStoreOf } from "./read-home.ts";

const LISTED = 100;
const NAME_CHARS = 60;

/** Undefined if no job waits, or if another process fires the jobs of this store. */
export async function scheduleNotice(
  { ports: { store, clock }, remoteNodes }: Pick<RookeryNode, "ports" | "remoteNodes">,
  { cron, session }: Pick<Config, "cron" | "session">,
): Promise<string | undefined> {
  if (!cron.enabled) return undefined;
  const jobs = (await store.nextJobs({ limit: LISTED })).filter(({ system }) => !system);
  const [next] = jobs;
  if (next?.state.nextRunAtMs === undefined) return undefined;
  // On a shared store this process is one of the living nodes itself.
  const living =
    remoteNodes && (await store.nodes()).filter(({ left, leaseUntil }) => !left && leaseUntil > clock.now());
  if (living && living.length > 1) return undefined;
  const count = jobs.length < LISTED ? String(jobs.length) : `${LISTED} or more`;
  const waits = jobs.length === 1 ? "1 scheduled job waits" : `${count} scheduled jobs wait`;
  const name = shortened(next.name, NAME_CHARS);
  const time = wallTime(next.state.nextRunAtMs, session.timeZone ?? hostZone());
  return `${waits}; the next, ${JSON.stringify(name)}, is due at ${time}. Keep \`rookery serve\` running to have it on time; otherwise a later \`rookery send\` fires what is due by then.`;
}

/** Whether an engine fires the jobs of this home. On a shared store another node may. */
export const mayBeFired = async ({
  home,
  paths,
  env,
}: Pick<CommandContext, "home" | "paths" | "env">): Promise<boolean> =>
  (await sharedStoreOf(paths, env)) !== undefined || (await findEngine(home)) !== undefined;

/** The morning briefing: an ordinary cron job with a name, so that setup finds it again. */
import { type EngineApi, pathOf } from "../../client/engine-api.ts";

export const BRIEFING_NAME = "morning briefing";
const MESSAGE =
  "Write my morning briefing in at most eight lines: what is scheduled today, what is unfinished, what waits for my answer. If there is nothing, say so in one line.";

interface Job {
  readonly id: string;
  readonly name?: string;
}

export async function findBriefing(api: EngineApi): Promise<Job | undefined> {
  const { items } = await api.get<{ items: readonly Job[] }>("/api/cron", { all: true, limit: 1_000 });
  return items.find(({ name }) => name === BRIEFING_NAME);
}

/** One job, however often setup runs: a new time changes it. Durable when it resolves. */
export async function addBriefing(api: EngineApi, time: string, timeZone: string | undefined): Promise<Job> {
  const [hour, minute] = time.split(":").map(Number);
  const schedule = { kind: "cron", expr: `${minute} ${hour} * * *`, tz: timeZone };
  const known = await findBriefing(api);
  if (known) return api.patch<Job>(pathOf("api", "cron", known.id), { schedule });
  const payload = { kind: "agentTurn", message: MESSAGE, deliver: true };
  return api.post<Job>("/api/cron", { name: BRIEFING_NAME, schedule, payload, enabled: true });
}

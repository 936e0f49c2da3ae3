/**
 * Jobs over HTTP: which of them a request reaches, and what it may change in them. For a person's token the rules are those of the
 * tools `cron` and `cron_add` in the hands of that person's agent (L13).
 */
import { makerOf, notAFile, ofThisProfile, withoutCommands } from "../../../adapters/tools/schedules/cron-access.ts";
import { NotFoundError } from "../../../core/errors.ts";
import { type List, listOf } from "../../../core/list.ts";
import { OWNER } from "../../../core/people/person.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import { itemsNamed, severalNamed } from "../../../core/typed-name.ts";
import type { JobView } from "../../../engine/triggers/cron/cron-service.ts";
import type { JobMaker } from "../../../engine/triggers/cron/job-changes.ts";
import { effectsOfJob } from "../../../engine/triggers/cron/job-rights.ts";
import { assertMay, reaches } from "../auth/judge-request.ts";
import { isConfined, type Principal } from "../auth/principal.ts";
import { HttpError } from "../http/http-error.ts";
import { limitedBehalf } from "../messages/accept-once.ts";
import type { Call } from "../routing/route.ts";

type Asking = Pick<Call, "context" | "principal">;

const PAGE = 1_000;
const MOST = 10_000;

/** Jobs of the owner's that no one wrote down a person for are the owner's. */
const seesJob = (principal: Principal, { id, behalf }: CronJob): boolean =>
  reaches(principal, `job:${id}`, behalf?.person ?? OWNER);

/** By its id, or by its name or the beginning of it. Throws a 404, including for a job that the request may not reach. Throws if several have the name. */
export async function requireJob(call: Asking, named: string): Promise<JobView> {
  const { context, principal } = call;
  const job = await context.triggers.cron.get(await jobId(call, named));
  if (seesJob(principal, job)) return job;
  throw new NotFoundError(`There is no job ${named.slice(0, 100)}.`);
}

/** The id of the job with this name, among those that the request reaches; any other text as it is. */
export async function jobId(call: Asking, named: string): Promise<string> {
  if (await call.context.ports.store.job(named)) return named;
  const { items } = await listJobs(call, { includeDisabled: true, limit: MOST });
  const [one, ...others] = itemsNamed(items, named);
  if (one && others.length > 0) throw severalNamed(named, [one, ...others]);
  return one?.id ?? named;
}

interface Wanted {
  readonly includeDisabled: boolean;
  readonly after?: string;
  readonly limit: number;
}

/** The jobs that the request reaches, in the order of their ids. */
export async function listJobs({ context, principal }: Asking, wanted: Wanted): Promise<List<JobView, string>> {
  const { cron } = context.triggers;
  const { includeDisabled, limit } = wanted;
  const isSeen = (job: JobView): boolean =>
    (includeDisabled || job.enabled) && (!isConfined(principal) || seesJob(principal, job));
  const seen: JobView[] = [];
  let { after } = wanted;
  for (let read = 0; read < MOST; read += PAGE) {
    const page = await cron.list({ includeDisabled: true, limit: PAGE, after });
    seen.push(...page.filter(isSeen));
    if (seen.length > limit) return listOf(seen.slice(0, limit), seen[limit - 1]?.id ?? null);
    if (page.length === 0) return listOf(seen);
    after = page.at(-1)?.id;
  }
  return listOf(seen, after ?? null);
}

/** Who makes a job. A person's job belongs to the conversation that the person wrote to last, as if its agent had made it. */
export async function makerFor(call: Asking, body: unknown): Promise<JobMaker> {
  const { context, principal } = call;
  const behalf = limitedBehalf(call);
  if (!isConfined(principal)) return { behalf };
  const { cron } = context.triggers;
  assertMay(principal, effectsOfJob("cron_add", cron.addOps(withoutCommands(body)).job));
  const agent = principal.person && (await context.agents.people.foregroundOf(principal.person));
  if (!agent) {
    throw new HttpError(409, "no_conversation", "A job belongs to a conversation, and this token has none yet.", {
      hint: "Use a token of one person, who has written to an agent before.",
    });
  }
  return { ...(await makerOf(cron, agent)), behalf };
}

/** Throws unless the request may change the job like this. `patch` absent: it is removed. */
export async function assertMayChange(call: Asking, id: string, patch?: unknown): Promise<void> {
  if (!isConfined(call.principal)) return;
  const before = notAFile(await requireJob(call, id));
  if (patch === undefined) return;
  const { job } = await call.context.triggers.cron.updateOps(id, withoutCommands(patch));
  ofThisProfile(before, job);
  assertMay(call.principal, effectsOfJob("cron", job));
}

/** Throws a 404 if the request may not reach the job. */
export async function assertReachesJob(call: Asking, id: string): Promise<void> {
  if (isConfined(call.principal)) await requireJob(call, id);
}

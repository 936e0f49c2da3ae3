/** Which jobs an agent may see and change, and to which conversation its new jobs belong. */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { DeniedError, InvalidInputError } from "../../../core/errors.ts";
import type { CronApi, JobMaker, ShownJob } from "./cron-api.ts";

/** A new job belongs to the agent's conversation; if a job's own agent creates it, to that job's conversation. */
export async function makerOf(
  api: CronApi,
  { profile, sessionKey, descriptor, state }: AgentRecord,
): Promise<JobMaker> {
  const delivery = state.deliveryContext;
  if (descriptor.type === "heartbeat") return { profile, delivery };
  if (descriptor.type !== "cron") return { profile, sessionKey, delivery };
  const own = await api.get(descriptor.id).catch(() => undefined);
  return { profile, sessionKey: own?.sessionKey ?? sessionKey, delivery };
}

export async function touchable(api: CronApi, id: unknown, agent: AgentRecord): Promise<ShownJob> {
  const job = await api.get(idOf(id, agent));
  if (api.mayTouch(job, agent)) return job;
  throw new DeniedError("This job belongs to another conversation.");
}

/** A job's own agent may leave the id out. */
function idOf(id: unknown, { descriptor }: AgentRecord): string {
  if (typeof id === "string" && id.trim() !== "") return id.trim();
  if (descriptor.type === "cron") return descriptor.id;
  throw new InvalidInputError("Cron task id is required.");
}

/** A model must not schedule a command: it would run without a person's approval. */
export function withoutCommands(raw: unknown): unknown {
  const { gate, job, data } = (raw ?? {}) as {
    gate?: { kind?: string; command?: unknown };
    job?: unknown;
    data?: unknown;
  };
  if (gate && (gate.kind === "command" || gate.command !== undefined)) {
    throw new DeniedError("A gate that runs a command can only be written into a TASK.md by the owner.", {
      hint: "Use a gate of kind http, or none.",
    });
  }
  if (job) withoutCommands(job);
  if (data) withoutCommands(data);
  return raw;
}

/** A job's runs have the tools of its profile, so a model must not move it to another one. */
export function ofThisProfile(before: ShownJob, after: Pick<ShownJob, "agentId">): void {
  if (after.agentId !== before.agentId) throw new DeniedError("A job keeps the profile it was made in.");
}

/** A job that comes from a file can only be changed in the file. */
export function notAFile(job: ShownJob): ShownJob {
  if (!job.file) return job;
  throw new DeniedError(`This job is the file ${job.file}.`, {
    hint: "Change or remove the file; it is read on change.",
  });
}

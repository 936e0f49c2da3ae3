/** Daycare's schedule tools, over the same jobs. Memory is only for a job's own agent. */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { DeniedError } from "../../../core/errors.ts";
import type { EffectContext, Tool } from "../../../core/ports/tool.ts";
import type { Effect } from "../../../core/rights/decide.ts";
import { effectsOfJob } from "../../../engine/triggers/cron/job-rights.ts";
import { checkAllowed } from "../allowed-effects.ts";
import { makerOf, notAFile, touchable, withoutCommands } from "./cron-access.ts";
import type { CronApi } from "./cron-api.ts";
import { notYetKnown, toolOutput } from "./cron-tool.ts";
import { effectOnJob } from "./job-effects.ts";

const NO_MEMORY = "No memory";
const common = { rights: ["schedule"], replay: "safe", parallel: false, maxOutput: 8_000 } as const;
const taskId = z.string().optional().describe("the task; a task's own agent may leave it out");

const addInput = z.strictObject({
  name: z.string().min(1),
  schedule: z
    .string()
    .min(1)
    .describe('five fields: minute, hour, day of month, month, day of week, such as "0 9 * * 1-5"'),
  prompt: z.string().min(1).describe("the prompt of each run"),
  description: z.string().optional(),
  enabled: z.boolean().optional(),
  timeZone: z.string().optional(),
  deleteAfterRun: z.boolean().optional(),
  gate: z.looseObject({}).optional(),
});

const jobOf = ({ schedule, prompt, timeZone, ...rest }: z.infer<typeof addInput>) => ({
  ...rest,
  schedule: { kind: "cron", expr: schedule, tz: timeZone || undefined },
  payload: { kind: "agentTurn", message: prompt },
});

/** What a tool that names a task reaches. */
const onTask =
  (api: CronApi, action: string) =>
  async (given: { readonly taskId?: string | undefined }, context: EffectContext): Promise<readonly Effect[]> => {
    const job = await touchable(api, given.taskId, context.agent).catch(notYetKnown);
    return "id" in job ? effectOnJob(action, job, context) : [];
  };

const cronAdd = (api: CronApi): Tool<z.infer<typeof addInput>> => ({
  ...common,
  name: "cron_add",
  description: "Adds a scheduled task that runs on its own.",
  input: addInput,
  effects: async (given) => {
    try {
      return effectsOfJob("cron_add", api.addOps(jobOf(given)).job);
    } catch (error) {
      return notYetKnown(error);
    }
  },
  async execute(given, context) {
    const { job, ops } = api.addOps(withoutCommands(jobOf(given)), await makerOf(api, context.agent));
    checkAllowed(context, effectsOfJob("cron_add", job));
    const { when, nextTimes } = api.view(job);
    return { ...toolOutput({ taskId: job.id, name: job.name, when, next: nextTimes.map(({ text }) => text) }), ops };
  },
});

const idInput = z.strictObject({ taskId });

const cronReadTask = (api: CronApi): Tool<z.infer<typeof idInput>> => ({
  ...common,
  name: "cron_read_task",
  description: "Reads what a scheduled task says and when it is due.",
  input: idInput,
  parallel: true,
  effects: onTask(api, "cron_read_task"),
  async execute(given, context) {
    const job = await touchable(api, given.taskId, context.agent);
    checkAllowed(context, effectOnJob("cron_read_task", job, context));
    const { id, name, description, when, enabled, payload, nextTimes } = job;
    const prompt = payload.kind === "agentTurn" ? payload.message : payload.text;
    return toolOutput({
      taskId: id,
      name,
      description,
      when,
      enabled,
      next: nextTimes.map(({ text }) => text),
      prompt,
    });
  },
});

const cronReadMemory = (api: CronApi): Tool<z.infer<typeof idInput>> => ({
  ...common,
  name: "cron_read_memory",
  description: "Reads the notes of this task for its next runs.",
  input: idInput,
  parallel: true,
  async execute(given, { agent }) {
    const job = await touchable(api, ownTask(given.taskId, agent), agent);
    return toolOutput(typeof job.memory === "string" ? job.memory : NO_MEMORY);
  },
});

const memoryInput = z.strictObject({ taskId, content: z.string().max(32_000), append: z.boolean().optional() });

const cronWriteMemory = (api: CronApi): Tool<z.infer<typeof memoryInput>> => ({
  ...common,
  name: "cron_write_memory",
  description: "Writes notes for this task's next runs: replaces the old notes, or appends to them.",
  input: memoryInput,
  async execute({ content, append, ...given }, { agent }) {
    const job = await touchable(api, ownTask(given.taskId, agent), agent);
    const before = append && typeof job.memory === "string" ? `${job.memory}\n` : "";
    return { ...toolOutput("Memory written."), ops: await api.memoryOps(job.id, `${before}${content}`) };
  },
});

const deleteInput = z.strictObject({ taskId: z.string().min(1) });

const cronDeleteTask = (api: CronApi): Tool<z.infer<typeof deleteInput>> => ({
  ...common,
  name: "cron_delete_task",
  description: "Deletes a scheduled task.",
  input: deleteInput,
  effects: onTask(api, "cron_delete_task"),
  async execute(given, context) {
    const job = notAFile(await touchable(api, given.taskId, context.agent));
    checkAllowed(context, effectOnJob("cron_delete_task", job, context));
    return { ...toolOutput({ deleted: job.id }), ops: await api.removeOps(job.id) };
  },
});

/** Throws unless the agent is the task's own. */
function ownTask(id: string | undefined, { descriptor }: AgentRecord): string {
  if (descriptor.type !== "cron") throw new DeniedError("Only a scheduled task has a memory of its own.");
  if (id !== undefined && id !== descriptor.id) throw new DeniedError("A task reads and writes its own memory only.");
  return descriptor.id;
}

export const cronTaskTools = (api: CronApi): readonly Tool[] => [
  cronAdd(api),
  cronReadTask(api),
  cronReadMemory(api),
  cronWriteMemory(api),
  cronDeleteTask(api),
];

/** `cron`: clawdbot's one tool for schedules, with the actions add, list, update, remove, run, runs and wake. */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { InvalidInputError, RookeryError, unreachable } from "../../../core/errors.ts";
import type { EffectContext, Tool, ToolOutput } from "../../../core/ports/tool.ts";
import type { Effect } from "../../../core/rights/decide.ts";
import { effectsOfJob } from "../../../engine/triggers/cron/job-rights.ts";
import { checkAllowed } from "../allowed-effects.ts";
import { makerOf, notAFile, ofThisProfile, touchable, withoutCommands } from "./cron-access.ts";
import type { CronApi, ShownJob } from "./cron-api.ts";
import { effectOnJob } from "./job-effects.ts";

const input = z.strictObject({
  action: z.enum(["list", "add", "update", "remove", "run", "runs", "wake"]),
  includeDisabled: z.boolean().optional().describe("list: also jobs that are turned off"),
  job: z
    .looseObject({})
    .optional()
    .describe(
      'add: { name, schedule, payload, … }. schedule: { kind: "at", at: "2026-01-31T09:00:00Z" } | { kind: "at", inMs } | { kind: "every", everyMs } | { kind: "cron", expr: "0 9 * * 1-5", tz? }. ' +
        'payload: { kind: "systemEvent", text } speaks to this conversation, { kind: "agentTurn", message, deliver?, channel?, to?, model?, thinking?, timeoutSeconds? } runs apart from it. ' +
        'wakeMode: "now" | "next-heartbeat"; deleteAfterRun; missed: "skip" | "once" | "all"',
    ),
  jobId: z.string().optional().describe("update, remove, run, runs: the job"),
  id: z.string().optional().describe("the same as jobId"),
  patch: z.looseObject({}).optional().describe("update: what changes"),
  text: z.string().optional().describe("wake: the text for this conversation"),
  mode: z.enum(["now", "next-heartbeat"]).optional().describe("wake: when"),
  limit: z.number().int().positive().optional().describe("runs: how many"),
});

export const cronTool = (api: CronApi): Tool<z.infer<typeof input>> => ({
  name: "cron",
  description:
    "Schedules: reminders and repeated work. Actions: list, add (job), update (jobId, patch), remove (jobId), run (jobId, now), runs (jobId, what became of its due times), wake (text).",
  input,
  rights: ["schedule"],
  replay: "safe",
  parallel: false,
  maxOutput: 8_000,
  effects: (given, context) => effectsOf(api, given, context).catch(notYetKnown),
  async execute(given, context) {
    checkAllowed(context, await effectsOf(api, given, context));
    return act(api, given, context.agent);
  },
});

/** A job that does not exist, or input that is refused, has no effect: the tool reports it. */
export function notYetKnown(error: unknown): readonly Effect[] {
  if (error instanceof RookeryError) return [];
  throw error;
}

async function effectsOf(
  api: CronApi,
  { action, job, patch, jobId, id = jobId }: z.infer<typeof input>,
  context: EffectContext,
): Promise<readonly Effect[]> {
  if (action === "list" || action === "wake") return [];
  if (action === "add") return job ? effectsOfJob("cron", api.addOps(withoutCommands(job)).job) : [];
  const found = await touchable(api, id, context.agent);
  const on = effectOnJob("cron", found, context);
  if (action !== "update") return on;
  return [...on, ...effectsOfJob("cron", (await api.updateOps(found.id, withoutCommands(patch))).job)];
}

const LISTED = 200;
const RUNS = 20;

async function act(api: CronApi, given: z.infer<typeof input>, agent: AgentRecord): Promise<ToolOutput> {
  const id = given.jobId ?? given.id;
  switch (given.action) {
    case "list": {
      const jobs = await api.list({ includeDisabled: given.includeDisabled ?? false, limit: 10_000 });
      return toolOutput(
        jobs
          .filter((job) => api.mayTouch(job, agent))
          .slice(0, LISTED)
          .map(brief),
      );
    }
    case "add": {
      if (!given.job) throw new InvalidInputError("job required");
      const { job, ops } = api.addOps(withoutCommands(given.job), await makerOf(api, agent));
      return { ...toolOutput(brief(api.view(job))), ops };
    }
    case "update": {
      if (!given.patch) throw new InvalidInputError("patch required");
      const before = notAFile(await touchable(api, id, agent));
      const { job, ops } = await api.updateOps(before.id, withoutCommands(given.patch));
      ofThisProfile(before, job);
      return { ...toolOutput(brief(api.view(job))), ops };
    }
    case "remove": {
      const job = notAFile(await touchable(api, id, agent));
      return { ...toolOutput({ removed: job.id }), ops: await api.removeOps(job.id) };
    }
    case "run": {
      const job = await touchable(api, id, agent);
      const { slot, ops } = await api.runOps(job.id);
      return { ...toolOutput({ started: job.id, slot }), ops };
    }
    case "runs": {
      const job = await touchable(api, id, agent);
      return toolOutput(await api.runs(job.id, { limit: given.limit ?? RUNS }));
    }
    case "wake":
      if (!given.text?.trim()) throw new InvalidInputError("text required");
      return { ...toolOutput({ ok: true }), ops: await api.wakeOps(given.text, given.mode, await makerOf(api, agent)) };
    default:
      return unreachable(given.action, "action");
  }
}

/** The fields of a job that a model needs. */
const brief = ({ id, name, enabled, when, nextTimes, payload, sessionTarget, state }: ShownJob) => ({
  id,
  name,
  enabled,
  when,
  next: nextTimes.map(({ text }) => text),
  sessionTarget,
  payload,
  lastStatus: state.lastStatus || undefined,
  lastError: state.lastError || undefined,
  disabledReason: state.disabledReason || undefined,
});

export const toolOutput = (value: unknown): ToolOutput => ({
  content: [{ type: "text", text: typeof value === "string" ? value : JSON.stringify(value, null, 2) }],
});

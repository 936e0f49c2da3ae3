/** What commands in chats show and change of a node: its models, schedules and memory files. */
import { CHOICE_FIELDS, choiceProblem, thinkingLevelsOf } from "../../adapters/models/check-choice.ts";
import { AUTO } from "../../adapters/models/choose-model.ts";
import { describeLogins } from "../../adapters/models/logins/describe-logins.ts";
import type { OpenModels } from "../../adapters/models/open-models.ts";
import { nearestThinking } from "../../adapters/models/thinking.ts";
import type { FileChanges } from "../../adapters/workspace/changes/file-changes.ts";
import { memoryChanges } from "../../adapters/workspace/changes/memory-changes.ts";
import { readMemory } from "../../adapters/workspace/read-memory.ts";
import { workspaceReaders } from "../../adapters/workspace/read-workspace-file.ts";
import { workspacesOf } from "../../adapters/workspace/workspaces.ts";
import type { Config } from "../../config/config-schema.ts";
import type { HomePaths } from "../../config/paths.ts";
import type { Settings } from "../../config/settings.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { Current } from "../../core/current.ts";
import { DeniedError } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/clock.ts";
import { startOfDay } from "../../core/zoned-time.ts";
import type { CommandParts } from "../../engine/commands/chat-command.ts";
import type { CronService } from "../../engine/triggers/cron/cron-service.ts";

interface CommandPartsDeps {
  readonly settings: Current<Settings>;
  readonly paths: HomePaths;
  readonly clock: Clock;
  readonly models: OpenModels;
  readonly cron: CronService;
  /** The caller of `openNode` provides the model: none is detected. */
  readonly modelGiven: boolean;
  /** Absent: no changes are kept. */
  readonly changes?: FileChanges;
}

export function commandParts({ settings, paths, clock, cron, changes, ...rest }: CommandPartsDeps): CommandParts {
  const workspaceOf = workspacesOf(settings, paths, async ({ person }) => person);
  const readerOf = workspaceReaders(() => clock.now(), changes?.guard);
  return {
    models: {
      describe: (agent) => describe(settings.current, { ...rest, clock }, agent),
      async problem({ profile, state }, patch) {
        const isChoice = CHOICE_FIELDS.some((field) => patch[field] !== undefined && patch[field] !== null);
        if (!isChoice) return undefined;
        const onlyNames = rest.modelGiven;
        const setsThinking = typeof patch.thinkingLevel === "string";
        return choiceProblem(settings.current, rest.models, { profile, state: { ...state }, onlyNames, setsThinking });
      },
    },
    jobs: jobsOf(cron),
    async memory(agent, name) {
      const { own } = await workspaceOf(agent);
      return own === undefined ? undefined : readMemory(own, name, readerOf(own), changes?.guard);
    },
    memoryChanges: changes && memoryChanges(changes, paths, async (agent) => (await workspaceOf(agent)).own),
    dayStart: (now) => startOfDay(now, settings.current.zone),
  };
}

async function describe(
  config: Config,
  { models, modelGiven, clock }: Pick<CommandPartsDeps, "models" | "modelGiven" | "clock">,
  agent: AgentRecord,
) {
  const { describeModels } = await import("../../adapters/models/describe-models.ts");
  const { model, thinking } = models.choose(agent);
  if (modelGiven && model === AUTO) return { model: "given by the program", thinking, choices: [] };
  const detected = model === AUTO ? await models.detect() : undefined;
  const { providers } = await describeModels(config, models);
  const choices = providers.flatMap((provider) => provider.models.map(({ provider: of, id }) => `${of}/${id}`));
  const why = agent.state.modelOverride === undefined ? detected?.why : "this conversation says so";
  const logins = describeLogins(models.providers.logins, clock.now());
  const used = detected?.model ?? model;
  const levels = thinking === undefined ? undefined : await thinkingLevelsOf(models, used);
  return {
    ...{ model: used, why, choices, logins },
    thinking: thinking && levels ? nearestThinking(levels, thinking) : thinking,
    refusedKeys: models.providers.refusedKeys(),
  };
}

function jobsOf(cron: CronService): NonNullable<CommandParts["jobs"]> {
  return {
    async list(agent) {
      const jobs = await cron.list({ includeDisabled: true });
      // A one-time job that has ended has no other time.
      const open = jobs.filter((job) => cron.mayTouch(job, agent) && (job.enabled || job.schedule.kind !== "at"));
      return open.map((job) => ({ ...job, next: job.nextTimes[0]?.text }));
    },
    async get(agent, id) {
      const job = await cron.get(id);
      if (cron.mayTouch(job, agent)) return job;
      throw new DeniedError("This job belongs to another conversation.");
    },
    runOps: async (id) => (await cron.runOps(id)).ops,
    removeOps: (id) => cron.removeOps(id),
    remind({ profile, sessionKey }, text) {
      const made = cron.reminderOps(text, { profile, sessionKey });
      return made && { name: made.job.name, at: made.at, ops: made.ops };
    },
    enableOps: async (id, enabled) => (await cron.updateOps(id, { enabled })).ops,
  };
}

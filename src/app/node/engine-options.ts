/** Puts the options of the engine together: the settings in force, and what this program provides. */
import { join } from "node:path";
import { thinkingLevelsOf } from "../../adapters/models/check-choice.ts";
import { chooseModel } from "../../adapters/models/choose-model.ts";
import { contextLimitsOf } from "../../adapters/models/context-limits.ts";
import type { OpenModels } from "../../adapters/models/open-models.ts";
import type { Config } from "../../config/config-schema.ts";
import type { HomePaths } from "../../config/paths.ts";
import type { Settings } from "../../config/settings.ts";
import { THINKING_LEVELS } from "../../core/agent/patch-state.ts";
import type { Current } from "../../core/current.ts";
import type { Connector } from "../../core/ports/connector.ts";
import type { AgentSystemOptions } from "../../engine/agents/agent-system-options.ts";
import type { RetentionLimits } from "../../engine/agents/retention.ts";
import { channelPrompt } from "../../engine/context/prompt/channel-prompt.ts";
import { FINAL_TAG_PROMPT } from "../../engine/runs/reply-texts.ts";
import type { SubagentParts } from "../../engine/subagents/settings.ts";
import type { Toolkit } from "./create-toolkit.ts";

const HOUR_MS = 3600_000;
const DAY_MS = 24 * HOUR_MS;

interface EngineParts extends Omit<AgentSystemOptions, "resolveModel" | "contextLimits" | "rights" | "subagents"> {
  readonly paths: Pick<HomePaths, "home">;
  readonly toolkit: Pick<Toolkit, "promptOf" | "surroundingsOf" | "placeOf">;
  readonly models: OpenModels;
  /** The connectors of the moment. */
  readonly connectors: ReadonlyMap<string, Connector>;
  /** The caller of `openNode` provides the model: none is detected. */
  readonly modelGiven: boolean;
}

export function engineOptions({
  paths,
  toolkit,
  models,
  modelGiven,
  connectors,
  ...rest
}: EngineParts): AgentSystemOptions {
  const contextLimits = contextLimitsOf(modelGiven ? withoutDetection(models) : models);
  return {
    ...rest,
    // The toolkit loads with the first run, and has other functions then.
    rights: {
      placeOf: (agent) => toolkit.placeOf(agent),
      surroundingsOf: (agent, call, effects, runId) => toolkit.surroundingsOf(agent, call, effects, runId),
    },
    subagents: subagentParts(rest.settings, paths, modelGiven ? undefined : models),
    resolveModel: async (agent, overrides, settings) => {
      const choice = models.choose(agent, overrides, settings);
      const { contextWindow } = await contextLimits(agent, overrides, choice, settings);
      const { text, report, skillsSnapshot } = await toolkit.promptOf(agent, contextWindow, settings);
      const channel = channelPrompt(agent, connectors, settings.owner.accounts);
      const final = settings.runs.enforceFinalTag ? FINAL_TAG_PROMPT : [];
      const system = [text, channel === "" ? [] : channel, final, overrides?.extraSystemPrompt ?? []]
        .flat()
        .join("\n\n");
      return { ...choice, system, report, skillsSnapshot };
    },
    contextLimits,
  };
}

function subagentParts(
  settings: Current<Settings>,
  { home }: Pick<HomePaths, "home">,
  /** Absent: the program provides the model, and knows what it can do. */
  models: OpenModels | undefined,
): SubagentParts {
  return {
    checkModel: (model, profile) =>
      chooseModel(settings.current, profile, { modelOverride: model }).warnings.length > 0
        ? `invalid model: ${model}`
        : undefined,
    async thinkingLevels(model, profile) {
      if (!models) return THINKING_LEVELS;
      const chosen = chooseModel(settings.current, profile, { modelOverride: model }).model;
      return (await thinkingLevelsOf(models, chosen)) ?? THINKING_LEVELS;
    },
    transcriptOf: (agentId) => join(home, "agents", agentId, "history.jsonl"),
  };
}

/** Ended runs explain what an agent did and spent, so they are kept longer than the rest. */
const RUNS_TIMES = 3;

export const retentionLimits = ({ retention }: Config): RetentionLimits => ({
  messagesMs: retention.recordsDays * DAY_MS,
  deliveriesMs: retention.recordsDays * DAY_MS,
  runsMs: RUNS_TIMES * retention.recordsDays * DAY_MS,
  changesMs: DAY_MS,
  auditMs: retention.auditDays * DAY_MS,
});

const withoutDetection = (models: OpenModels): OpenModels => ({
  ...models,
  get providers() {
    return models.providers;
  },
  detect: async () => ({ model: "offline", why: "the caller provides the model" }),
});

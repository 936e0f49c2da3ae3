/**
 * Turns the sections of the configuration into the options of the engine. The configuration is a live view: a section may
 * be passed on as it is, and a value is read by a function or a getter at its use.
 */

import { join } from "node:path";
import { thinkingLevelsOf } from "../../adapters/models/check-choice.ts";
import { chooseModel } from "../../adapters/models/choose-model.ts";
import { contextLimitsOf } from "../../adapters/models/context-limits.ts";
import type { OpenModels } from "../../adapters/models/open-models.ts";
import type { Config } from "../../config/config-schema.ts";
import type { HomePaths } from "../../config/paths.ts";
import { addressFor } from "../../core/agent/address.ts";
import { THINKING_LEVELS } from "../../core/agent/patch-state.ts";
import { isStale, resetPolicyFor } from "../../core/agent/session-freshness.ts";
import { isOwner } from "../../core/agent/session-key.ts";
import { inheritsParent } from "../../core/agent/thread-settings.ts";
import { OWNER } from "../../core/people/person.ts";
import type { Connector } from "../../core/ports/connector.ts";
import { hostZone } from "../../core/zoned-time.ts";
import type { AgentSystemOptions } from "../../engine/agents/agent-system-options.ts";
import type { RetentionLimits } from "../../engine/agents/retention.ts";
import { systemAgentsOf } from "../../engine/agents/system-agents.ts";
import { budgetsOf } from "../../engine/budgets/budget-settings.ts";
import { channelPrompt } from "../../engine/context/prompt/channel-prompt.ts";
import { configuredRules } from "../../engine/rights/configured-rules.ts";
import { FINAL_TAG_PROMPT } from "../../engine/runs/reply-texts.ts";
import { peopleSettings } from "../../engine/runtime/people-settings.ts";
import type { RunLimits } from "../../engine/runtime/run-ports.ts";
import { type SubagentSettings, subagentSettings } from "../../engine/subagents/settings.ts";
import type { Toolkit } from "./create-toolkit.ts";

const HOUR_MS = 3600_000;
const DAY_MS = 24 * HOUR_MS;

export type OutboxTimes = Pick<NonNullable<AgentSystemOptions["outbox"]>, "retryMinMs" | "retryMaxMs">;

interface EngineParts
  extends Pick<
    AgentSystemOptions,
    "nodeName" | "leaseMs" | "watchdog" | "remoteNodes" | "hooks" | "commands" | "accountsChanged" | "files"
  > {
  readonly config: Config;
  readonly subagents: SubagentSettings;
  readonly toolkit: Pick<Toolkit, "promptOf" | "surroundingsOf" | "placeOf">;
  readonly models: OpenModels;
  /** The connectors of the moment. */
  readonly connectors: ReadonlyMap<string, Connector>;
  /** The caller of `openNode` provides the model: none is detected. */
  readonly modelGiven: boolean;
  /** For tests. */
  readonly outboxTimes?: OutboxTimes | undefined;
}

export function engineOptions({
  config,
  toolkit,
  models,
  modelGiven,
  connectors,
  outboxTimes,
  ...rest
}: EngineParts): AgentSystemOptions {
  const contextLimits = contextLimitsOf(config, modelGiven ? withoutDetection(models) : models);
  return {
    ...rest,
    restore: config.runs.restore,
    lanes: laneSizes(config),
    runs: runSettings(config),
    outbox: outboxSettings(config, outboxTimes),
    ...sessionOptions(config),
    people: peopleSettings(config),
    rights: {
      policyOf: (profile) => config.profiles[profile]?.tools,
      nesting: () => config.subagents.maxDepth > 1,
      rules: configuredRules(config),
      placeOf: (agent) => toolkit.placeOf(agent),
    },
    approvals: {
      get expiryMs() {
        return config.approvals.expiryMinutes * 60_000;
      },
      surroundingsOf: (agent, call, effects, runId) => toolkit.surroundingsOf(agent, call, effects, runId),
    },
    queue: config.queue,
    get budgets() {
      return budgetsOf(config);
    },
    get systemTags() {
      return [...systemAgentsOf(config).keys()];
    },
    resolveModel: async (agent, overrides) => {
      const choice = models.choose(agent, overrides);
      const { contextWindow } = await contextLimits(agent, overrides, choice);
      const { text, report, skillsSnapshot } = await toolkit.promptOf(agent, contextWindow);
      const channel = channelPrompt(agent, connectors, config.owner.accounts);
      const final = config.runs.enforceFinalTag ? FINAL_TAG_PROMPT : [];
      const system = [text, channel === "" ? [] : channel, final, overrides?.extraSystemPrompt ?? []]
        .flat()
        .join("\n\n");
      return { ...choice, system, report, skillsSnapshot };
    },
    limits: ({ profile }) => runLimits(config, profile),
    contextLimits,
  };
}

const runSettings = ({ runs }: Config): AgentSystemOptions["runs"] => ({
  get timeoutMs() {
    return runs.timeoutSeconds * 1000;
  },
  get maxIterations() {
    return runs.maxIterations;
  },
  get blockReplyBreak() {
    return runs.blockReplyBreak;
  },
  get enforceFinalTag() {
    return runs.enforceFinalTag;
  },
});

/** The limits of a profile. An absent one falls back to those of the node. */
function runLimits({ profiles }: Config, profile: string): RunLimits {
  const { timeoutSeconds, maxIterations } = profiles[profile]?.limits ?? {};
  return { timeoutMs: timeoutSeconds === undefined ? undefined : timeoutSeconds * 1000, maxIterations };
}

const outboxSettings = ({ outbox }: Config, times: OutboxTimes | undefined): AgentSystemOptions["outbox"] => ({
  ...times,
  get maxAgeMs() {
    return outbox.maxAgeHours * HOUR_MS;
  },
});

/** Children and answers to other runs take half as many places as conversations, cron jobs an eighth. */
const laneSizes = ({ runs }: Config): NonNullable<AgentSystemOptions["lanes"]> => ({
  get main() {
    return runs.maxConcurrent;
  },
  get subagent() {
    return Math.ceil(runs.maxConcurrent / 2);
  },
  get nested() {
    return Math.ceil(runs.maxConcurrent / 2);
  },
  get cron() {
    return Math.ceil(runs.maxConcurrent / 8);
  },
});

let host: string | undefined;

/** The zone of the machine does not change while the process runs. */
function zoneOf({ session }: Config): string {
  host ??= hostZone();
  return session.timeZone ?? host;
}

const sessionOptions = (config: Config) =>
  ({
    zone: () => zoneOf(config),
    address: (incoming) => addressFor(incoming, config),
    isOwner: (sender) => isOwner(sender, config.owner.accounts),
    inheritsParent: (descriptor) => inheritsParent(config.session.thread, descriptor),
    sendPolicy: config.session.sendPolicy,
    isStale: (agent, last, now) => isStale(resetPolicyFor(agent, config.session.reset), last, now, zoneOf(config)),
  }) satisfies Partial<AgentSystemOptions>;

export function subagentOptions(
  config: Config,
  paths: Pick<HomePaths, "home">,
  /** Absent: the program provides the model, and knows what it can do. */
  models: OpenModels | undefined,
): SubagentSettings {
  const rules = configuredRules(config);
  return subagentSettings(config, {
    checkModel: (model, profile) =>
      chooseModel(config, profile, { modelOverride: model }).warnings.length > 0
        ? `invalid model: ${model}`
        : undefined,
    async thinkingLevels(model, profile) {
      if (!models) return THINKING_LEVELS;
      const chosen = chooseModel(config, profile, { modelOverride: model }).model;
      return (await thinkingLevelsOf(models, chosen)) ?? THINKING_LEVELS;
    },
    execOf: (agent) => rules.execPolicyOf(agent, [OWNER]),
    transcriptOf: (agentId) => join(paths.home, "agents", agentId, "history.jsonl"),
  });
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

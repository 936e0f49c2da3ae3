/** Checks the names in a cron job when it is added or changed: profile, model, thinking level, channel. */
import { chooseModel } from "../../adapters/models/choose-model.ts";
import type { Config } from "../../config/config-schema.ts";
import { KNOWN_CHANNELS } from "../../config/references.ts";
import { DEFAULT_PROFILE } from "../../core/agent/agent.ts";
import { THINKING_LEVELS } from "../../core/agent/patch-state.ts";
import { normalizeAgentId } from "../../core/agent/session-key.ts";
import { unknownName } from "../../core/known-name.ts";
import type { CronJob } from "../../core/schedule/job.ts";

/** What is wrong, in whole sentences; undefined if nothing is. `channels`: those that the node has now. */
export function jobProblem(config: Config, channels: Iterable<string>, job: CronJob): string | undefined {
  const { agentId = DEFAULT_PROFILE, payload } = job;
  const profiles = [...new Set([DEFAULT_PROFILE, ...Object.keys(config.profiles)])];
  const profile = profiles.find((name) => normalizeAgentId(name) === normalizeAgentId(agentId));
  if (profile === undefined) return unknownName("profile", agentId, profiles);
  if (payload.kind !== "agentTurn") return undefined;
  const { channel, model, thinking } = payload;
  const known = [...new Set([...KNOWN_CHANNELS, ...Object.keys(config.connectors), ...channels])];
  if (channel !== undefined && channel !== "last" && !known.includes(channel)) {
    return unknownName("channel", channel, known);
  }
  if (model !== undefined && chooseModel(config, profile, { modelOverride: model }).warnings.length > 0) {
    const listed = Object.entries(config.models.providers).flatMap(([provider, { models }]) =>
      models.map(({ id }) => `${provider}/${id}`),
    );
    return unknownName("model", model, listed);
  }
  if (thinking === undefined || THINKING_LEVELS.some((level) => level === thinking)) return undefined;
  return unknownName("thinking level", thinking, THINKING_LEVELS);
}

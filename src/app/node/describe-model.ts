/**
 * The model that a conversation would use, and why, while no engine runs. Opens no provider and calls no model; the files of keys and
 * logins are read only if they are there.
 */
import { existsSync } from "node:fs";
import { AUTO, chooseModel } from "../../adapters/models/choose-model.ts";
import type { Detected } from "../../adapters/models/detect.ts";
import type { LoginsByProvider } from "../../adapters/models/logins/login-file.ts";
import type { Config } from "../../config/config-schema.ts";
import type { HomePaths } from "../../config/paths.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { RefusedKey } from "../../core/refused-key.ts";
import type { ModelLogin } from "../../engine/commands/chat-command.ts";

export interface ModelSources {
  readonly config: Config;
  readonly paths: HomePaths;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

export interface DescribedModel {
  readonly model: string | null;
  /** Why it is this model. */
  readonly why: string | null;
  readonly logins: readonly ModelLogin[];
  /** Keys that model providers refused. Only a running engine knows. */
  readonly refusedKeys: readonly RefusedKey[];
}

export async function describeModel(
  sources: ModelSources,
  { profile, state }: { readonly profile: string; readonly state: Partial<AgentRecord["state"]> },
): Promise<DescribedModel> {
  const { config, paths, clock } = sources;
  const { model } = chooseModel(config, profile, state);
  const logins = await loginsOf(paths);
  const detected = model === AUTO ? await detect(sources, logins) : undefined;
  const why = state.modelOverride === undefined ? detected?.why : "this conversation says so";
  return {
    model: detected?.model ?? model,
    why: why ?? null,
    logins: await described(logins, clock.now()),
    refusedKeys: [],
  };
}

async function loginsOf({ logins }: HomePaths): Promise<LoginsByProvider> {
  if (!existsSync(logins)) return {};
  const { loginsIn } = await import("../../adapters/models/logins/login-file.ts");
  return loginsIn(logins, () => {})();
}

async function described(logins: LoginsByProvider, now: number): Promise<readonly ModelLogin[]> {
  if (Object.keys(logins).length === 0) return [];
  const { describeLogins } = await import("../../adapters/models/logins/describe-logins.ts");
  return describeLogins(logins, now);
}

async function detect({ paths, env, clock }: ModelSources, logins: LoginsByProvider): Promise<Detected> {
  const keys = existsSync(paths.auth)
    ? (await import("../../adapters/models/auth-file.ts")).storedKeysIn(paths.auth, () => {})()
    : {};
  const hasKey = (provider: string): boolean => Object.hasOwn(keys, provider) || Object.hasOwn(logins, provider);
  const { detectModel, listensOn } = await import("../../adapters/models/detect.ts");
  return detectModel({ clock, fetch, env, listens: listensOn, hasKey });
}

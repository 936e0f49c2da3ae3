/** Reads the configuration anew while we run: says what changed, what of it holds now, and what needs a restart. */
import type { Config } from "../../config/config-schema.ts";

/** Keys that hold as soon as they are read; those under them too. All others are read once, at the start. */
export const LIVE_KEYS: readonly string[] = [
  "gateway.allowedHosts",
  "gateway.allowedOrigins",
  "gateway.trustedProxies",
  "gateway.limits",
  "gateway.tls.cert",
  "gateway.tls.key",
  "models",
  "profiles",
  "bindings",
  "owner",
  "queue",
  "compaction",
  "heartbeat",
  "hooks",
  "session.dmScope",
  "session.mainKey",
  "session.identityLinks",
  "session.reset",
  "log.level",
];

export interface Reloaded {
  readonly changed: readonly string[];
  readonly reloaded: readonly string[];
  readonly needsRestart: readonly string[];
}

export function compareConfigs(before: Config, after: Config): Reloaded {
  const old = new Map(leavesOf(before));
  const fresh = new Map(leavesOf(after));
  const changed = [...new Set([...old.keys(), ...fresh.keys()])]
    .filter((key) => old.get(key) !== fresh.get(key))
    .sort();
  const reloaded = changed.filter(isLive);
  return { changed, reloaded, needsRestart: changed.filter((key) => !isLive(key)) };
}

export const isLive = (key: string): boolean => LIVE_KEYS.some((live) => key === live || key.startsWith(`${live}.`));

/** The new configuration as far as it may hold now; the rest stays as it was at the start. */
export function liveConfig(before: Config, after: Config): Config {
  const take = (old: unknown, fresh: unknown, path: string): unknown => {
    if (isLive(path)) return fresh;
    if (!isRecord(old) || !isRecord(fresh)) return old;
    const keys = [...new Set([...Object.keys(old), ...Object.keys(fresh)])];
    const entries = keys.map((key) => [key, take(old[key], fresh[key], path === "" ? key : `${path}.${key}`)] as const);
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  };
  return take(before, after, "") as Config;
}

/** Secrets are references: compared by where they point to, never by what they hold. */
function leavesOf(value: unknown, path = ""): readonly (readonly [string, string])[] {
  if (isRecord(value)) {
    return Object.entries(value).flatMap(([key, child]) => leavesOf(child, path === "" ? key : `${path}.${key}`));
  }
  if (value === undefined) return [];
  const secret = value as { describe?: () => string };
  return [[path, typeof secret?.describe === "function" ? secret.describe() : JSON.stringify(value)]];
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  Object.getPrototypeOf(value) === Object.prototype;

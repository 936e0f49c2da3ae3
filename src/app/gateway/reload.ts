/** Reloading the configuration: which keys changed, which take effect at once, and which need a restart. */
import type { Config } from "../../config/config-schema.ts";
import { isLive, isUnder } from "../../config/live-keys.ts";
import type { ReloadReport } from "./routing/gateway-context.ts";

export function compareConfigs(before: Config, after: Config): ReloadReport {
  const oldValues = new Map(leavesOf(before));
  const newValues = new Map(leavesOf(after));
  const changed = [...new Set([...oldValues.keys(), ...newValues.keys()])]
    .filter((key) => oldValues.get(key) !== newValues.get(key))
    .sort();
  const applies = applier(before, after);
  return { changed, reloaded: changed.filter(applies), needsRestart: changed.filter((key) => !applies(key)) };
}

/** A server that speaks TLS takes another certificate, but no server begins or stops to speak it. */
function applier(before: Config, after: Config): (key: string) => boolean {
  const sameProtocol = (before.gateway.tls === undefined) === (after.gateway.tls === undefined);
  return (key) => isLive(key) && (sameProtocol || !isUnder(key, "gateway.tls"));
}

/** The live keys of the new configuration; every other key keeps its old value. */
export function liveConfig(before: Config, after: Config): Config {
  const applies = applier(before, after);
  const merge = (oldValue: unknown, newValue: unknown, path: string): unknown => {
    if (applies(path)) return newValue;
    if (!isRecord(oldValue) || !isRecord(newValue)) return oldValue;
    const keys = [...new Set([...Object.keys(oldValue), ...Object.keys(newValue)])];
    const entries = keys.map((key) => [key, merge(oldValue[key], newValue[key], childPath(path, key))] as const);
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  };
  return merge(before, after, "") as Config;
}

const childPath = (path: string, key: string): string => (path === "" ? key : `${path}.${key}`);

/** The path and value of every leaf. Secrets are references: compared by what they refer to, never by their value. */
function leavesOf(value: unknown, path = ""): readonly (readonly [string, string])[] {
  if (isRecord(value)) {
    return Object.entries(value).flatMap(([key, child]) => leavesOf(child, childPath(path, key)));
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

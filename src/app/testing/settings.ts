/** The settings of a test engine: every default of the program, except that nothing happens by time and everyone who writes is let in. */
import { configSchema } from "../../config/config-schema.ts";
import { CurrentSettings, type Settings } from "../../config/settings.ts";
import { defined } from "../../core/defined.ts";
import { UNCAPPED } from "../../core/message/queue.ts";

type Part<Value> = Value extends readonly unknown[] | ((...given: never) => unknown)
  ? Value
  : Value extends object
    ? { readonly [Key in keyof Value]?: Part<Value[Key]> | undefined }
    : Value;

/** Values that differ from the settings of a test engine. They are not checked: a time may be a fraction of a second. */
export type SettingsPart = Part<Omit<Settings, "generation" | "zone" | "identity">>;

export const testSettings = (...parts: readonly (SettingsPart | undefined)[]): CurrentSettings =>
  new CurrentSettings(testConfig(...parts));

/** The configuration of `testSettings`. */
export function testConfig(...parts: readonly (SettingsPart | undefined)[]): Settings {
  const defaults = configSchema.parse({
    // Every message gets a run of its own, at once and in order.
    queue: { mode: "queue", debounceMs: 0, drop: "old" },
    people: { unknown: "guest" },
    session: { reset: { mode: "off" }, timeZone: "UTC" },
    heartbeat: { every: "0" },
  });
  const base = { ...defaults, queue: { ...defaults.queue, cap: UNCAPPED } };
  return parts.reduce<unknown>((whole, part) => merged(whole, defined({ ...part })), base) as Settings;
}

/** Sections are merged; every other value is replaced, or removed if it is undefined. */
function merged(whole: unknown, part: unknown): unknown {
  if (!isSection(part)) return part ?? whole;
  if (!isSection(whole)) return part;
  const result: Record<string, unknown> = { ...whole };
  for (const [key, value] of Object.entries(part)) {
    result[key] = isSection(value) ? merged(whole[key], value) : value;
  }
  return result;
}

const isSection = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/**
 * The settings of a running engine: one frozen value per load of the configuration (M37). A message takes the value in force when
 * it is accepted and when it is taken, and passes it on. Rights, rules, budgets, credentials, the sandbox, trust and disabled
 * connectors are read from the newest value at each effect.
 */
import { DEFAULT_PROFILE } from "../core/agent/agent.ts";
import type { PeopleSettings } from "../core/agent/person.ts";
import type { Current } from "../core/current.ts";
import type { Lane } from "../core/run/run.ts";
import { DEFAULT_TEXT_LIMITS, type TextLimits } from "../core/text-limits.ts";
import { hostZone } from "../core/zoned-time.ts";
import type { Config } from "./config-schema.ts";

export interface Settings extends Omit<Config, keyof Fixed>, Fixed {
  /** Counts the values of one process. A value computed from settings is true for their generation. */
  readonly generation: number;
  /** The configuration as it was loaded. */
  readonly config: Config;
  /** The time zone of people whose record names none. */
  readonly zone: string;
  /** Tells people apart. */
  readonly identity: PeopleSettings;
  /** How many runs of each kind one node has active at a time. */
  readonly lanes: Readonly<Record<Lane, number>>;
}

/** Values that no key changes, beside the sections they belong to. Tests change them. */
interface Fixed {
  readonly limits: TextLimits;
  readonly outbox: Config["outbox"] & typeof FIXED.outbox;
  readonly mailbox: Config["mailbox"] & typeof FIXED.mailbox;
  readonly subagents: Config["subagents"] & typeof FIXED.subagents;
  readonly cron: Config["cron"] & typeof FIXED.cron;
}

const FIXED = {
  /** A delivery without a route fails after this time; one send counts as unknown after this time. */
  outbox: { retryMinMs: 1_000, retryMaxMs: 300_000, sendTimeoutSeconds: 60, maxUnroutableAgeHours: 168 },
  /** The most deliveries that wait in one mailbox, and how long. */
  mailbox: { maxWaiting: 1_000, retentionDays: 30 },
  /** How many children of one agent may be at work at once, and after how much rest one is archived; 0: never. */
  subagents: { maxChildren: 100, archiveAfterMinutes: 60 },
  /** A due time that is handled this late still counts as on time. */
  cron: { missedGraceSeconds: 60, maxLatenessMinutes: undefined as number | undefined },
};

/** The settings of a configuration. A value beside the keys of the schema replaces the fixed one. */
function settingsFrom(config: Config & Partial<Pick<Settings, "limits" | "lanes">>, generation = 0): Settings {
  const { people, profiles, session, owner, outbox, mailbox, subagents, cron, limits, lanes } = config;
  return frozen({
    ...config,
    config,
    generation,
    limits: limits ?? DEFAULT_TEXT_LIMITS,
    lanes: lanes ?? lanesOf(config),
    outbox: { ...FIXED.outbox, ...outbox },
    mailbox: { ...FIXED.mailbox, ...mailbox },
    subagents: { ...FIXED.subagents, ...subagents },
    cron: { ...FIXED.cron, ...cron },
    zone: session.timeZone ?? hostZone(),
    identity: {
      unknown: people.unknown,
      profiles: [...new Set([DEFAULT_PROFILE, ...Object.keys(profiles)])],
      dmScope: session.dmScope,
      mainKey: session.mainKey,
      identityLinks: session.identityLinks,
      carried: session.carried?.keys,
      ownerAccounts: owner.accounts,
    },
  });
}

/** Children and answers to other runs take half as many places as conversations, cron jobs an eighth. */
const lanesOf = ({ runs: { maxConcurrent } }: Config): Settings["lanes"] => ({
  main: maxConcurrent,
  subagent: Math.ceil(maxConcurrent / 2),
  nested: Math.ceil(maxConcurrent / 2),
  cron: Math.ceil(maxConcurrent / 8),
});

/** A reload of the configuration. `changed`: the keys that differ. */
export interface Reloaded {
  readonly settings: Settings;
  readonly changed: readonly string[];
}

type ReloadListener = (reloaded: Reloaded) => void | Promise<void>;

/** The settings in force. */
export class CurrentSettings implements Current<Settings> {
  current: Settings;
  readonly #listeners = new Set<ReloadListener>();

  constructor(config: Config) {
    this.current = settingsFrom(config);
  }

  /** Puts a configuration in force that differs in what people have linked themselves. Nothing has to follow that. */
  replace(config: Config): void {
    this.current = settingsFrom(config, this.current.generation + 1);
  }

  /** Puts a loaded configuration in force. Resolves when every part has followed it. */
  async reload(config: Config, changed: readonly string[]): Promise<void> {
    this.replace(config);
    for (const listener of this.#listeners) await listener({ settings: this.current, changed });
  }

  /** Called after each reload, in the order of registration. */
  onReload(listener: ReloadListener): void {
    this.#listeners.add(listener);
  }
}

/** Freezes plain data. Secrets and other instances stay as they are. */
function frozen<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  const isPlain = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
  if (!isPlain) return value;
  for (const child of Object.values(value)) frozen(child);
  return Object.freeze(value);
}

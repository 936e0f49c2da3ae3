/** The questions of `rookery setup`. Each has a flag; what a flag answers is not asked. Without a terminal nothing is asked. */
import { KNOWN_PROVIDERS } from "../../../config/known-providers.ts";
import { InvalidInputError, UsageError } from "../../../core/errors.ts";
import type { Flags, Options } from "../command.ts";

export const SETUP_OPTIONS = {
  provider: { type: "string", value: "NAME", description: "the provider whose key you give: it is typed or piped in" },
  model: { type: "string", value: "MODEL", description: "provider/id, or offline; default: what is found" },
  name: { type: "string", value: "NAME", description: "what to call you" },
  tz: { type: "string", value: "ZONE", description: "your time zone, such as Europe/Berlin" },
  "daily-limit": {
    type: "string",
    value: "DOLLARS",
    description: "the most that models may cost per day; 0: no limit",
  },
  briefing: { type: "string", value: "HH:MM", description: "a briefing every morning at this time; none: no briefing" },
  yes: { type: "boolean", description: "ask nothing: keep what is there, and take the flags" },
} as const satisfies Options;

export type SetupFlags = Flags<typeof SETUP_OPTIONS>;

/** Undefined: keep what is there. */
export interface SetupAnswers {
  readonly provider?: string;
  readonly key?: string;
  readonly model?: string;
  readonly name?: string;
  readonly timeZone?: string;
  readonly dailyLimit?: number;
  /** `HH:MM`, or `none`. */
  readonly briefing?: string;
}

/** What is there already: the answers to choose if the person presses Enter. */
export interface SetupDefaults {
  readonly model: string;
  readonly name: string | undefined;
  readonly timeZone: string;
  readonly dailyLimit: number | undefined;
  readonly hasBriefing: boolean;
}

const TIME = /^([01]\d|2[0-3]):([0-5]\d)$/u;

export function answersOf(flags: SetupFlags): SetupAnswers {
  const { provider, model, name, tz, briefing } = flags;
  return {
    ...{ provider, model, name: name === undefined ? undefined : nameOf(name) },
    timeZone: tz === undefined ? undefined : zoneOf(tz),
    dailyLimit: flags["daily-limit"] === undefined ? undefined : limitOf(flags["daily-limit"]),
    briefing: briefing === undefined ? undefined : timeOf(briefing),
  };
}

export function nameOf(text: string): string {
  const name = text.trim();
  if (name.length > 80 || /\p{Cc}/u.test(name))
    throw new InvalidInputError("A name has at most 80 characters in one line.");
  return name;
}

export function zoneOf(text: string): string {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: text.trim() }).resolvedOptions().timeZone;
  } catch {
    throw new InvalidInputError(`"${text.slice(0, 60)}" is no time zone.`, {
      hint: "Write it as Europe/Berlin or UTC.",
    });
  }
}

export function limitOf(text: string): number {
  const limit = Number(text.replace(/^\$/u, ""));
  if (!Number.isFinite(limit) || limit < 0 || limit >= 1e6) {
    throw new InvalidInputError(`"${text.slice(0, 40)}" is no amount.`, { hint: "Write dollars, such as 5 or 0.50." });
  }
  return limit;
}

export function timeOf(text: string): string {
  if (text === "none" || TIME.test(text)) return text;
  throw new InvalidInputError(`"${text.slice(0, 40)}" is no time.`, { hint: "Write it as 07:30, or none." });
}

/** Asks what the flags leave open. Throws a `UsageError` if the person cancels: nothing is changed then. */
export async function askQuestions(given: SetupAnswers, defaults: SetupDefaults): Promise<SetupAnswers> {
  const prompts = await import("@clack/prompts");
  const checked = <T>(value: T): Exclude<T, symbol> => {
    if (prompts.isCancel(value)) throw new UsageError("Cancelled. Nothing was changed.");
    return value as Exclude<T, symbol>;
  };
  const valid = (read: (text: string) => unknown) => (text: string | undefined) => {
    try {
      read(text ?? "");
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  };
  const text = async (message: string, initialValue: string, read: (text: string) => unknown): Promise<string> =>
    checked(await prompts.text({ message, initialValue, validate: valid(read) }));

  const model = await askModel();
  const name = given.name ?? nameOf(await text("What shall it call you?", defaults.name ?? "", nameOf));
  const timeZone = given.timeZone ?? zoneOf(await text("Your time zone?", defaults.timeZone, zoneOf));
  const limit = String(defaults.dailyLimit ?? 0);
  const dailyLimit =
    given.dailyLimit ??
    limitOf(await text("The most that models may cost per day, in dollars? (0: no limit)", limit, limitOf));
  const briefing = given.briefing ?? (await askBriefing());
  return { ...given, ...model, name, timeZone, dailyLimit, briefing };

  async function askModel(): Promise<Pick<SetupAnswers, "provider" | "key" | "model">> {
    if (given.model !== undefined || given.provider !== undefined) return keyOf(given.provider);
    const keep = { value: "keep", label: `keep ${defaults.model}` };
    const providers = Object.keys(KNOWN_PROVIDERS).map((value) => ({ value, label: `a key of ${value}` }));
    const chosen = checked(await prompts.select({ message: "Which model answers?", options: [keep, ...providers] }));
    return chosen === "keep" ? {} : keyOf(chosen);
  }

  async function keyOf(provider: string | undefined): Promise<Pick<SetupAnswers, "provider" | "key" | "model">> {
    if (provider === undefined) return { model: given.model };
    const key = checked(
      await prompts.password({ message: `Key of ${provider} (not shown; empty keeps the stored one)` }),
    );
    return { provider, key: key?.trim() || undefined, model: given.model };
  }

  async function askBriefing(): Promise<string | undefined> {
    if (defaults.hasBriefing) return undefined;
    const wants = checked(
      await prompts.confirm({
        message: "A short briefing every morning at 08:00? It is an ordinary job.",
        initialValue: false,
      }),
    );
    return wants ? "08:00" : "none";
  }
}

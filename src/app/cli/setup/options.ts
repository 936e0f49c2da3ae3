/** The flags of `rookery setup`: one for every question, and what they may say. */
import { InvalidInputError } from "../../../core/errors.ts";
import { assertZone } from "../../../core/zoned-time.ts";
import type { Flags, Options } from "../command.ts";

export const SETUP_OPTIONS = {
  provider: { type: "string", value: "NAME", description: "the provider whose key you give: it is typed or piped in" },
  login: {
    type: "string",
    value: "PROVIDER",
    description: "log in to this provider with your account instead of a key",
  },
  "accept-login": { type: "boolean", description: "you know what the provider says about other programs" },
  model: { type: "string", value: "MODEL", description: "provider/id, or offline; default: what is found" },
  name: { type: "string", value: "NAME", description: "what to call you" },
  tz: { type: "string", value: "ZONE", description: "your time zone, such as Europe/Berlin" },
  "daily-limit": {
    type: "string",
    value: "DOLLARS",
    description: "the most that models may cost per day; 0: no limit",
  },
  briefing: { type: "string", value: "HH:MM", description: "a briefing every morning at this time; none: no briefing" },
  channel: { type: "string", value: "NAME", description: "a channel to connect: telegram, or none" },
  "telegram-token-env": {
    type: "string",
    value: "VARIABLE",
    description: "the environment variable with the bot's token",
  },
  "telegram-token-file": { type: "string", value: "FILE", description: "the file with the bot's token" },
  "telegram-owner": { type: "string", value: "ID", description: "your own numeric id at Telegram" },
  "telegram-api-root": { type: "string", value: "URL", description: "the address of a Bot API server of your own" },
  service: { type: "string", value: "yes|no", description: "whether it keeps running after you leave, as a service" },
  yes: { type: "boolean", description: "ask nothing: keep what is there, and take the flags" },
} as const satisfies Options;

export type SetupFlags = Flags<typeof SETUP_OPTIONS>;

/** Undefined: keep what is there. */
export interface SetupAnswers {
  readonly provider?: string;
  readonly key?: string;
  /** The provider to log in to. */
  readonly login?: string;
  readonly model?: string;
  readonly name?: string;
  readonly timeZone?: string;
  readonly dailyLimit?: number;
  /** `HH:MM`, or `none`. */
  readonly briefing?: string;
  readonly channel?: Channel;
  readonly service?: boolean;
}

const CHANNELS = ["none", "telegram"] as const;
export type Channel = (typeof CHANNELS)[number];

const TIME = /^([01]\d|2[0-3]):([0-5]\d)$/u;

export function answersOf(flags: SetupFlags): SetupAnswers {
  const { provider, login, model, name, tz, briefing, channel, service } = flags;
  return {
    ...{ provider, login, model, name: name === undefined ? undefined : nameOf(name) },
    timeZone: tz === undefined ? undefined : zoneOf(tz),
    dailyLimit: flags["daily-limit"] === undefined ? undefined : limitOf(flags["daily-limit"]),
    briefing: briefing === undefined ? undefined : timeOf(briefing),
    channel: channel === undefined ? undefined : channelOf(channel),
    service: service === undefined ? undefined : yesOrNo(service),
  };
}

export function nameOf(text: string): string {
  const name = text.trim();
  if (name.length > 80 || /\p{Cc}/u.test(name))
    throw new InvalidInputError("A name has at most 80 characters in one line.");
  return name;
}

export function zoneOf(text: string): string {
  const zone = text.trim();
  assertZone(zone);
  return new Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions().timeZone;
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

function channelOf(text: string): Channel {
  const found = CHANNELS.find((one) => one === text);
  if (found) return found;
  throw new InvalidInputError(`"${text.slice(0, 40)}" is no channel.`, {
    hint: `Write one of ${CHANNELS.join(", ")}.`,
  });
}

function yesOrNo(text: string): boolean {
  if (text === "yes" || text === "no") return text === "yes";
  throw new InvalidInputError(`"${text.slice(0, 40)}" is no answer.`, { hint: "Write --service yes or --service no." });
}

/**
 * Names in a configuration that stand for something else in it: profiles, providers and their models, time zones, and addresses. A
 * name that stands for nothing is an error with the closest one, so that a typo does not show only when it is used.
 */
import { normalizeAgentId } from "../core/agent/session-key.ts";
import { closestWord } from "../core/closest-word.ts";
import { RookeryError } from "../core/errors.ts";
import { unknownName } from "../core/known-name.ts";
import { assertZone } from "../core/zoned-time.ts";
import type { Config } from "./config-schema.ts";
import { CONNECTOR_KINDS, kindOfAccount } from "./connector-kinds.ts";
import { KNOWN_PROVIDERS } from "./known-providers.ts";
import type { Path } from "./locate.ts";

export interface Misnamed {
  readonly path: Path;
  readonly message: string;
}

type Found = readonly [path: Path, value: string | undefined];

/** Every name that stands for nothing, with where it is written. */
export function misnamed(config: Config): readonly Misnamed[] {
  return [
    ...wrong(profileNames(config), (name) => profileProblem(config, name)),
    ...wrong(modelNames(config), (name) => modelProblem(config, name)),
    ...wrong(zoneNames(config), zoneProblem),
    ...wrong(addresses(config), (address) => addressProblem(config, address)),
    ...thinkingLevels(config),
    ...takenNames(config),
  ];
}

const wrong = (found: readonly Found[], problemOf: (value: string) => string | undefined): readonly Misnamed[] =>
  found.flatMap(([path, value]) => {
    const message = value === undefined ? undefined : problemOf(value);
    return message === undefined ? [] : [{ path, message }];
  });

const eachOf = (path: Path, values: readonly string[] = []): readonly Found[] =>
  values.map((value, index) => [[...path, index], value] as const);

function profileNames({ bindings, hooks, mailbox, subagents, profiles }: Config): readonly Found[] {
  return [
    ...bindings.map(({ profile }, index) => [["bindings", index, "profile"], profile] as const),
    ...Object.entries(hooks).map(([name, { profile }]) => [["hooks", name, "profile"], profile] as const),
    ...Object.entries(mailbox.webhooks).flatMap(([name, webhook]) =>
      eachOf(["mailbox", "webhooks", name, "profiles"], webhook.profiles),
    ),
    ...eachOf(["subagents", "allowAgents"], subagents.allowAgents),
    ...Object.entries(profiles).flatMap(([name, profile]) =>
      eachOf(["profiles", name, "subagents", "allowAgents"], profile.subagents?.allowAgents),
    ),
  ];
}

function profileProblem({ profiles }: Config, name: string): string | undefined {
  const known = [...new Set(["main", ...Object.keys(profiles)])];
  if (name === "*" || known.some((one) => normalizeAgentId(one) === normalizeAgentId(name))) return undefined;
  return unknownName("profile", name, known);
}

/** The names of models in a configuration, with where each is written. */
export function modelNames(config: Config): readonly Found[] {
  const { profiles, heartbeat, subagents } = config;
  return [
    ...Object.entries(profiles).flatMap(([name, profile]): readonly Found[] => [
      [["profiles", name, "model"], profile.model],
      ...eachOf(["profiles", name, "fallbacks"], profile.fallbacks),
      [["profiles", name, "heartbeat", "model"], profile.heartbeat?.model],
      [["profiles", name, "subagents", "model"], primary(profile.subagents?.model)],
    ]),
    [["heartbeat", "model"], heartbeat.model],
    [["subagents", "model"], primary(subagents.model)],
    [["models", "default"], config.models.default],
    ...eachOf(["models", "fallbacks"], config.models.fallbacks),
  ];
}

const primary = (model: string | { readonly primary: string } | undefined): string | undefined =>
  typeof model === "object" ? model.primary : model;

/** A provider that lists models has no others. Whether another one has a model is checked where a home is at hand. */
function modelProblem({ models: { providers } }: Config, name: string): string | undefined {
  const at = name.indexOf("/");
  if (at <= 0) return undefined;
  const provider = name.slice(0, at);
  const own = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  if (!own && !Object.hasOwn(KNOWN_PROVIDERS, provider)) {
    // A default is checked by its own section.
    return unknownName("provider", provider, [...Object.keys(providers), ...Object.keys(KNOWN_PROVIDERS)]);
  }
  if (!own || own.models.length === 0 || own.models.some(({ id }) => id === name.slice(at + 1))) return undefined;
  return unknownName(
    "model",
    name,
    own.models.map(({ id }) => `${provider}/${id}`),
  );
}

/** Only of models that the configuration describes. */
function thinkingLevels({ models, profiles }: Config): readonly Misnamed[] {
  const check = (path: Path, level: string | undefined, name: string | undefined): readonly Misnamed[] => {
    const at = name?.indexOf("/") ?? -1;
    const provider = name?.slice(0, at) ?? "";
    const own = at > 0 && Object.hasOwn(models.providers, provider) ? models.providers[provider] : undefined;
    const levels = own?.models.find(({ id }) => id === name?.slice(at + 1))?.thinking;
    if (level === undefined || levels === undefined || levels.some((one) => one === level)) return [];
    const possible = `Possible are: ${levels.join(", ")}.`;
    return [{ path, message: `The model ${name} cannot think at the level "${level}". ${possible}` }];
  };
  return [
    ...check(["models", "thinking"], models.thinking, models.default),
    ...Object.entries(profiles).flatMap(([name, { model, thinking }]) =>
      check(["profiles", name, "thinking"], thinking, model ?? models.default),
    ),
  ];
}

function zoneNames({ session, heartbeat, profiles, people }: Config): readonly Found[] {
  return [
    [["session", "timeZone"], session.timeZone],
    [["heartbeat", "activeHours", "timezone"], heartbeat.activeHours?.timezone],
    ...Object.entries(profiles).map(
      ([name, profile]) =>
        [["profiles", name, "heartbeat", "activeHours", "timezone"], profile.heartbeat?.activeHours?.timezone] as const,
    ),
    ...Object.entries(people.records).map(
      ([id, { timeZone }]) => [["people", "records", id, "timeZone"], timeZone] as const,
    ),
  ];
}

function zoneProblem(zone: string): string | undefined {
  if (zone === "user" || zone === "local") return undefined;
  try {
    assertZone(zone);
    return undefined;
  } catch (error) {
    return error instanceof RookeryError ? [error.message, error.hint].filter(Boolean).join(" ") : String(error);
  }
}

function addresses({ heartbeat, profiles, hooks }: Config): readonly Found[] {
  return [
    [["heartbeat", "target"], heartbeat.target],
    ...Object.entries(profiles).map(
      ([name, profile]) => [["profiles", name, "heartbeat", "target"], profile.heartbeat?.target] as const,
    ),
    ...Object.entries(hooks).map(([name, { deliver }]) => [["hooks", name, "deliver"], deliver] as const),
  ];
}

/** Programs that are channels and the webhooks of mailboxes share one channel: an address must name one of them. */
const takenNames = ({ connectors, mailbox }: Config): readonly Misnamed[] =>
  Object.entries(connectors).flatMap(([name, account]) =>
    kindOfAccount(name, account) === "webhook" && Object.hasOwn(mailbox.webhooks, name)
      ? [{ path: ["connectors", name], message: "expected another name: mailbox.webhooks has one of this name" }]
      : [],
  );

/** Channels that every engine has. A program may have more, so a channel with a name of its own is not refused here. */
export const KNOWN_CHANNELS: readonly string[] = ["terminal", "api", ...CONNECTOR_KINDS];

function addressProblem({ connectors }: Config, address: string): string | undefined {
  if (address === "last" || address === "none") return undefined;
  const at = address.indexOf(":");
  if (at <= 0 || at === address.length - 1) {
    const near = closestWord(address, ["last", "none"]);
    return near === undefined
      ? `"${address.slice(0, 64)}" is not an address. Write "last", "none" or "channel:id", such as "telegram:42".`
      : unknownName("address", address, ["last", "none"]);
  }
  const channel = address.slice(0, at);
  const known = [...KNOWN_CHANNELS, ...Object.keys(connectors)];
  if (known.includes(channel) || closestWord(channel, known) === undefined) return undefined;
  return unknownName("channel", channel, known);
}

import { describe, expect, it } from "vitest";
import { resolveSendPolicy } from "../core/agent/send-policy.ts";
import { checkConfig } from "./parse-config.ts";

const PROVIDERS = `models: { providers: {
  local: { api: "openai-completions", baseUrl: "http://h/v1", models: [
    { id: "qwen", thinking: ["off", "low"] }, { id: "plain" } ] } } }`;

const errorsOf = (text: string): readonly string[] =>
  checkConfig({ text, file: "rookery.json5", env: {} }).errors.map(({ key, message }) => `${key}: ${message}`);

/** A configuration, and what it says; undefined: nothing. */
const TABLE: readonly (readonly [what: string, text: string, error: string | undefined])[] = [
  [
    "a profile of a binding",
    `{ profiles: { work: {} }, bindings: [{ profile: "wrok", match: { channel: "x" } }] }`,
    'bindings[0].profile: There is no profile "wrok". Did you mean "work"?',
  ],
  [
    "a profile in other letters",
    `{ profiles: { Work: {} }, bindings: [{ profile: "work", match: { channel: "x" } }] }`,
    undefined,
  ],
  [
    "a profile of a hook",
    `{ hooks: { h: { token: { env: "T" }, profile: "mian" } } }`,
    'hooks.h.profile: There is no profile "mian". Did you mean "main"?',
  ],
  [
    "a profile of a webhook",
    `{ mailbox: { webhooks: { w: { url: "http://h", secret: { env: "S" }, profiles: ["nobody-has-this"] } } } }`,
    'mailbox.webhooks.w.profiles[0]: There is no profile "nobody-has-this". Known: main.',
  ],
  [
    "a program with the name of a mailbox's webhook",
    `{ mailbox: { webhooks: { w: { url: "http://h", secret: { env: "S" }, owner: true } } },
       connectors: { w: { kind: "webhook", sendUrl: "http://h", webhook: { secret: { env: "S" } } } } }`,
    "connectors.w: expected another name: mailbox.webhooks has one of this name",
  ],
  [
    "a profile of subagents",
    `{ profiles: { work: {} }, subagents: { allowAgents: ["works", "*"] } }`,
    'subagents.allowAgents[0]: There is no profile "works". Did you mean "work"?',
  ],
  [
    "a profile of a profile's subagents",
    `{ profiles: { work: { subagents: { allowAgents: ["wok"] } } } }`,
    'profiles.work.subagents.allowAgents[0]: There is no profile "wok". Did you mean "work"?',
  ],
  [
    "the provider of the default",
    `{ models: { default: "antropic/claude" } }`,
    'models.default: There is no provider "antropic". Did you mean "anthropic"?',
  ],
  [
    "the provider of a fallback",
    `{ models: { fallbacks: ["ollma/x"] } }`,
    'models.fallbacks[0]: There is no provider "ollma". Did you mean "ollama"?',
  ],
  [
    "the model of a profile",
    `{ ${PROVIDERS}, profiles: { work: { model: "local/qwne" } } }`,
    'profiles.work.model: There is no model "local/qwne". Did you mean "local/qwen"?',
  ],
  [
    "the fallback of a profile",
    `{ ${PROVIDERS}, profiles: { work: { fallbacks: ["local/planr"] } } }`,
    'profiles.work.fallbacks[0]: There is no model "local/planr". Did you mean "local/plain"?',
  ],
  [
    "the model of the heartbeat",
    `{ heartbeat: { model: "opnai/x" } }`,
    'heartbeat.model: There is no provider "opnai". Did you mean "openai"?',
  ],
  [
    "the model of subagents",
    `{ subagents: { model: "opnai/x" } }`,
    'subagents.model: There is no provider "opnai". Did you mean "openai"?',
  ],
  [
    "the thinking level of a profile",
    `{ ${PROVIDERS}, profiles: { work: { model: "local/qwen", thinking: "high" } } }`,
    'profiles.work.thinking: The model local/qwen cannot think at the level "high". Possible are: off, low.',
  ],
  [
    "a possible thinking level",
    `{ ${PROVIDERS}, profiles: { work: { model: "local/qwen", thinking: "low" } } }`,
    undefined,
  ],
  [
    "a thinking level that does not exist",
    `{ profiles: { work: { thinking: "hihg" } } }`,
    'profiles.work.thinking: expected one of "off", "minimal", "low", "medium", "high", "xhigh"; did you mean "high"?',
  ],
  [
    "the time zone of sessions",
    `{ session: { timeZone: "Europe/Berln" } }`,
    'session.timeZone: Unknown time zone "Europe/Berln". Did you mean "Europe/Berlin"? Zones have names such as "Europe/Berlin" or "UTC".',
  ],
  [
    "the time zone of the heartbeat",
    `{ heartbeat: { activeHours: { timezone: "Berlin" } } }`,
    'heartbeat.activeHours.timezone: Unknown time zone "Berlin". Did you mean "Europe/Berlin"? Zones have names such as "Europe/Berlin" or "UTC".',
  ],
  ["the zone of the user", `{ heartbeat: { activeHours: { timezone: "user" } } }`, undefined],
  [
    "the time zone of a person",
    `{ people: { records: { ann: { timeZone: "Europe/Rom" } } } }`,
    'people.records.ann.timeZone: Unknown time zone "Europe/Rom". Did you mean "Europe/Rome"? Zones have names such as "Europe/Berlin" or "UTC".',
  ],
  [
    "the target of the heartbeat",
    `{ heartbeat: { target: "lats" } }`,
    'heartbeat.target: There is no address "lats". Did you mean "last"?',
  ],
  [
    "a target without an id",
    `{ heartbeat: { target: "telegram" } }`,
    'heartbeat.target: "telegram" is not an address. Write "last", "none" or "channel:id", such as "telegram:42".',
  ],
  [
    "the channel of a target",
    `{ heartbeat: { target: "telegam:42" } }`,
    'heartbeat.target: There is no channel "telegam". Did you mean "telegram"?',
  ],
  ["a channel of a program", `{ heartbeat: { target: "pager:42" } }`, undefined],
  [
    "the channel of a hook",
    `{ hooks: { h: { token: { env: "T" }, deliver: "telegrm:1" } } }`,
    'hooks.h.deliver: There is no channel "telegrm". Did you mean "telegram"?',
  ],
  [
    "the api of a provider",
    `{ models: { providers: { x: { api: "openai-completion", baseUrl: "http://h" } } } }`,
    'models.providers.x.api: expected one of "openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai", "ollama", "openai", "anthropic", "google", "cli"; did you mean "openai-completions"?',
  ],
];

describe("a name in the configuration that stands for nothing", () => {
  it.each(TABLE)("%s", (_, text, error) => {
    expect(errorsOf(text)).toEqual(error === undefined ? [] : [error]);
  });

  it("is located in its file", () => {
    const text = '{\n  heartbeat: {\n    target: "lats",\n  },\n}';
    expect(checkConfig({ text, file: "f", env: {} }).errors).toMatchObject([{ line: 3, column: 13 }]);
  });
});

describe("spaces around names", () => {
  it("are removed, in values and in keys", () => {
    const { config, errors } = checkConfig({
      text: `{ profiles: { " work ": { model: " ollama/llama3.2 ", tools: { allow: [" read "] } } },
        bindings: [{ profile: " work ", match: { channel: " telegram " } }],
        models: { default: " offline ", providers: { " local ": { api: "openai-completions", baseUrl: "http://h", apiKey: { env: "K" } } } },
        session: { timeZone: " Europe/Berlin ", identityLinks: { " ann ": [" telegram:42 "] } } }`,
      file: "f",
      env: {},
    });
    expect(errors).toEqual([]);
    expect(config).toMatchObject({
      profiles: { work: { model: "ollama/llama3.2", tools: { allow: ["read"] } } },
      bindings: [{ profile: "work", match: { channel: "telegram" } }],
      models: { default: "offline", providers: { local: {} } },
      session: { timeZone: "Europe/Berlin", identityLinks: { ann: ["telegram:42"] } },
    });
    expect(config?.models.providers.local?.apiKey?.describe()).toBe("the environment variable K");
  });

  it("alone are no name", () => {
    expect(errorsOf(`{ models: { default: "  " } }`)).toHaveLength(2);
  });
});

describe("the rules of the send policy", () => {
  it('with chatType: "channel" apply to channels, and to nothing else', () => {
    const text = `{ session: { sendPolicy: { rules: [{ action: "deny", match: { chatType: "channel" } }] } } }`;
    const policy = checkConfig({ text, file: "f", env: {} }).config?.session.sendPolicy;
    const decide = (sessionKey: string) => resolveSendPolicy({ policy, sessionKey });
    expect(decide("agent:main:slack:channel:1")).toBe("deny");
    expect(decide("agent:main:slack:group:1")).toBe("allow");
    expect(decide("agent:main:slack:dm:1")).toBe("allow");
  });

  it.each(["direct", "group", "channel"])("accept the chat type %s", (chatType) => {
    expect(
      errorsOf(`{ session: { sendPolicy: { rules: [{ action: "deny", match: { chatType: "${chatType}" } }] } } }`),
    ).toEqual([]);
  });
});

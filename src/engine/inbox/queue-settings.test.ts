import { describe, expect, test } from "vitest";
import { parseConfig } from "../../config/parse-config.ts";
import { freshState } from "../../core/agent/fresh-state.ts";
import type { AgentId, MessageId } from "../../core/ids.ts";
import type { MessageBody } from "../../core/message/message.ts";
import {
  maxWaiting,
  normalizeQueueDropPolicy,
  normalizeQueueMode,
  queueSettingsFor,
  resolveQueueSettings,
} from "./queue-settings.ts";

const cfg = (text: string) => parseConfig({ text, file: "rookery.json5", env: {} }).config;

describe("the settings of a message's queue", () => {
  test("are the defaults without any setting", () => {
    expect(resolveQueueSettings({ cfg: cfg("") })).toEqual({
      mode: "collect",
      debounceMs: 1000,
      cap: 20,
      dropPolicy: "summarize",
    });
  });

  test.each([
    ["inline", { inlineMode: "interrupt" as const }, "interrupt"],
    ["inline options", { inlineOptions: { mode: "steer" as const } }, "steer"],
    ["agent", {}, "followup"],
  ])("come from %s before everything below it", (_where, inline, mode) => {
    const config = cfg(`{ queue: { mode: "queue", byChannel: { telegram: { mode: "steer-backlog" } } } }`);
    const sessionEntry = { ...freshState(1), queueMode: "followup" as const };
    expect(resolveQueueSettings({ cfg: config, channel: "Telegram", sessionEntry, ...inline }).mode).toBe(mode);
    expect(resolveQueueSettings({ cfg: config, channel: "Telegram" }).mode).toBe("steer-backlog");
    expect(resolveQueueSettings({ cfg: config, channel: "slack" }).mode).toBe("queue");
  });

  test("are resolved one by one", () => {
    const config = cfg(`{ queue: { cap: 7, byChannel: { telegram: { debounceMs: 50 } } } }`);
    const sessionEntry = { ...freshState(1), queueDrop: "old" as const };
    expect(
      resolveQueueSettings({ cfg: config, channel: "telegram", sessionEntry, inlineOptions: { mode: "queue" } }),
    ).toEqual({
      mode: "queue",
      debounceMs: 50,
      cap: 7,
      dropPolicy: "old",
    });
  });

  test("are clamped to their bounds", () => {
    const inlineOptions = { debounceMs: -5, cap: 0.4 };
    expect(resolveQueueSettings({ cfg: cfg(""), inlineOptions })).toMatchObject({ debounceMs: 0, cap: 1 });
  });

  test("are not read from Object.prototype for a channel named like one of its properties", () => {
    expect(resolveQueueSettings({ cfg: cfg(""), channel: "constructor" }).mode).toBe("collect");
  });
});

describe("a message of a program", () => {
  const user: MessageBody = { kind: "user", text: "hi" };
  const hook: MessageBody = { kind: "trigger", text: "hi", trigger: { type: "webhook", id: "deploy" } };
  const cron: MessageBody = { kind: "trigger", text: "hi", trigger: { type: "cron", id: "job" } };
  const message = (connector: string | undefined, body: MessageBody = user) => ({
    ...{ id: "a-1" as MessageId, agentId: "a" as AgentId, seq: 1, state: "waiting" as const, acceptedAt: 0, body },
    source: connector === undefined ? undefined : { connector },
  });

  test.each([
    ["the API", "api", "", "queue", Number.MAX_SAFE_INTEGER],
    ["the channel of a program", "webhook", "", "queue", Number.MAX_SAFE_INTEGER],
    ["a messenger", "telegram", "", "collect", 20],
    ["the terminal", "terminal", "", "collect", 20],
    [
      "the API, with settings of chats",
      "api",
      "{ queue: { mode: 'steer', cap: 5 } }",
      "queue",
      Number.MAX_SAFE_INTEGER,
    ],
    [
      "the API, with settings of its own",
      "api",
      "{ queue: { byChannel: { api: { mode: 'collect', cap: 5 } } } }",
      "collect",
      Number.MAX_SAFE_INTEGER,
    ],
  ] as const)("has the default mode of its channel, and a cap in chats only: %s", (_, connector, text, mode, cap) => {
    expect(queueSettingsFor(cfg(text), message(connector), freshState(1))).toMatchObject({ mode, cap });
  });

  test("ignores the settings of its agent, which are for the chat", () => {
    const state = { ...freshState(1), queueMode: "interrupt" as const, queueCap: 3 };
    expect(queueSettingsFor(cfg(""), message("api"), state)).toMatchObject({
      mode: "queue",
      cap: Number.MAX_SAFE_INTEGER,
    });
    const own = { ...user, queue: { mode: "collect", cap: 2 } } as const;
    expect(queueSettingsFor(cfg(""), message("api", own), state)).toMatchObject({
      mode: "collect",
      cap: Number.MAX_SAFE_INTEGER,
    });
    const chat = { ...user, queueDefault: { mode: "collect", cap: 20 } } as const;
    expect(queueSettingsFor(cfg(""), message("api", chat), state)).toMatchObject({ mode: "interrupt", cap: 3 });
  });

  test.each<[string, string | undefined, MessageBody, number | undefined]>([
    ["a message over the API", "api", user, 9],
    ["a message of a program's channel", "webhook", user, 9],
    ["a call of a hook", undefined, hook, 9],
    ["a message of a messenger", "telegram", user, undefined],
    ["a schedule", undefined, cron, undefined],
    ["a stop over the API", "api", { kind: "stop" }, undefined],
    ["a reset over the API", "api", { kind: "reset", by: "person" }, undefined],
  ])("limits how many wait for %s", (_, connector, body, max) => {
    expect(maxWaiting(cfg("{ queue: { maxWaiting: 9 } }"), message(connector, body))).toBe(max);
  });
});

test.each([
  ["collect", "collect"],
  [" Coalesce ", "collect"],
  ["interrupts", "interrupt"],
  ["abort", "interrupt"],
  ["steering", "steer"],
  ["follow-ups", "followup"],
  ["steer+backlog", "steer-backlog"],
  ["steer_backlog", "steer-backlog"],
  ["queue", "queue"],
  ["toString", undefined],
  ["", undefined],
])("the mode %j is %j", (text, mode) => {
  expect(normalizeQueueMode(text)).toBe(mode);
});

test.each([
  ["old", "old"],
  ["oldest", "old"],
  ["newest", "new"],
  ["summary", "summarize"],
  ["all", undefined],
])("the drop policy %j is %j", (text, policy) => {
  expect(normalizeQueueDropPolicy(text)).toBe(policy);
});

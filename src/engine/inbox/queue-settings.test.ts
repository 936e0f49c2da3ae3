import { describe, expect, test } from "vitest";
import { parseConfig } from "../../config/parse-config.ts";
import { freshState } from "../../core/agent/fresh-state.ts";
import { normalizeQueueDropPolicy, normalizeQueueMode, resolveQueueSettings } from "./queue-settings.ts";

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

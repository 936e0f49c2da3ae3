import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CorruptDataError, InvalidInputError } from "../errors.ts";
import { freshState } from "./fresh-state.ts";
import { isSettable, patchState, SETTABLE } from "./patch-state.ts";
import { resolveSendPolicy, type SendPolicy, type SendQuestion } from "./send-policy.ts";
import { sessionEntryFields } from "./session-entry.ts";
import { type AgentState, parseState } from "./state.ts";
import { stateAfterReset } from "./state-after-reset.ts";

const fresh = freshState(1_000);

describe("a stored state", () => {
  it("keeps every field of a session entry, and unknown fields", () => {
    const entry = {
      ...{ chatType: "group", thinkingLevel: "high", verboseLevel: "on", reasoningLevel: "off", elevatedLevel: "ask" },
      ...{ execHost: "h", execSecurity: "s", execAsk: "a", execNode: "n", providerOverride: "p", modelOverride: "m" },
      ...{ authProfileOverride: "x", authProfileOverrideSource: "auto", authProfileOverrideCompactionCount: 2 },
      ...{ groupActivation: "mention", groupActivationNeedsSystemIntro: true, sendPolicy: "deny", queueMode: "steer" },
      ...{ queueDebounceMs: 5, queueCap: 3, queueDrop: "old", inputTokens: 1, outputTokens: 2, totalTokens: 3 },
      ...{ contextTokens: 4, modelProvider: "mp", model: "mo", compactionCount: 1, memoryFlushAt: 9 },
      ...{ memoryFlushCompactionCount: 1, label: "l", displayName: "d", channel: "c", groupId: "g", subject: "s" },
      ...{ groupChannel: "gc", space: "sp", origin: { label: "o" }, deliveryContext: { channel: "c", to: "t" } },
      ...{ lastChannel: "c", lastTo: "t", lastAccountId: "a", lastThreadId: 5, lastHeartbeatText: "hb" },
      ...{
        lastHeartbeatSentAt: 7,
        lastHeartbeatDeliveryId: "r.0",
        skillsSnapshot: { prompt: "p" },
        cliSessionIds: { a: "b" },
        responseUsage: "tokens",
      },
      ...{ systemPromptReport: { chars: 1, parts: [], missing: [] }, claudeCliSessionId: "z", sessionFile: "f" },
      ...{ spawnedBy: "agent:main:main", systemSent: true, abortedLastRun: false, extraSystemPrompt: "e" },
    };
    const stored = { ...fresh, ...entry, somethingNewer: { deep: [1] } };
    expect(parseState(structuredClone(stored), "a test")).toEqual(stored);
    expect(Object.keys(sessionEntryFields).filter((field) => !Object.hasOwn(entry, field))).toEqual([]);
  });

  it.each([
    ["channel", "room"],
    ["dm", "direct"],
    ["room", "room"],
  ])("reads the chat type %s as %s", (written, chatType) => {
    expect(parseState({ ...fresh, chatType: written }, "a test").chatType).toBe(chatType);
  });

  it("is refused if it has a newer version or a wrong shape", () => {
    expect(() => parseState({ ...fresh, version: 2 }, "a test")).toThrow(CorruptDataError);
    expect(() => parseState({ ...fresh, version: 2 }, "a test")).toThrow("has version 2; this program knows 1");
    for (const mark of ["untrusted", "madeUntrusted"]) {
      expect(parseState({ ...fresh, [mark]: true }, "a test")).toMatchObject({ [mark]: true });
      expect(() => parseState({ ...fresh, [mark]: false }, "a test")).toThrow(CorruptDataError);
    }
    expect(() => parseState({ ...fresh, stats: 1 }, "a test")).toThrow(CorruptDataError);
  });
});

describe("patchState", () => {
  const good: readonly [string, unknown, unknown][] = [
    ["thinkingLevel", "xhigh", "xhigh"],
    ["verboseLevel", "full", "full"],
    ["reasoningLevel", "reasoning", "reasoning"],
    ["elevatedLevel", "ask", "ask"],
    ["execHost", "gateway", "gateway"],
    ["execSecurity", "full", "full"],
    ["execAsk", "off", "off"],
    ["execNode", "x", "x"],
    ["providerOverride", "anthropic", "anthropic"],
    ["modelOverride", "local/llama", "local/llama"],
    ["authProfileOverride", "second", "second"],
    ["authProfileOverrideSource", "user", "user"],
    ["groupActivation", "always", "always"],
    ["sendPolicy", "deny", "deny"],
    ["queueMode", "steer-backlog", "steer-backlog"],
    ["queueDebounceMs", 0, 0],
    ["queueCap", 1, 1],
    ["queueDrop", "summarize", "summarize"],
    ["label", "the nest", "the nest"],
    ["displayName", "Nest", "Nest"],
    ["responseUsage", "tokens", "tokens"],
    ["rules", [{ deny: "exec" }], [{ deny: "exec" }]],
    ["extraSystemPrompt", "a\nb", "a\nb"],
  ];
  it.each(good)("sets %s to %j", (field, value, stored) => {
    const patched = patchState(fresh, { [field]: value }, 2_000);
    expect(patched).toEqual({ ...fresh, [field]: stored, updatedAt: 2_000 });
    expect(parseState(patched, "x")).toEqual(patched);
    expect(patchState(patched, { [field]: null }, 1_500)).toEqual({ ...fresh, updatedAt: 2_000 });
    expect(patchState(patched, { [field]: undefined }, 2_000)).toEqual(patched);
  });

  it("has a row above for every field", () => {
    expect(good.map(([field]) => field)).toEqual(Object.keys(SETTABLE));
  });

  const bad: readonly [Record<string, unknown>, string][] = [
    [{ thinkingLevel: "loud" }, 'thinkingLevel: expected one of "off", "minimal", "low", "medium", "high", "xhigh".'],
    [{ sendPolicy: true }, 'sendPolicy: expected one of "allow", "deny".'],
    [{ queueCap: 0 }, "queueCap: expected a whole number from 1 to 10000."],
    [{ queueDebounceMs: 1.5 }, "queueDebounceMs: expected a whole number from 0 to 3600000."],
    [{ label: " " }, "label: expected a name, in one line of at most 256 characters."],
    [{ label: "a\u001b[2Jb" }, "label: expected a name, in one line of at most 256 characters."],
    [{ modelOverride: "x".repeat(257) }, "modelOverride: expected a model, in one line of at most 256 characters."],
    [{ extraSystemPrompt: "x".repeat(100_001) }, "extraSystemPrompt: expected a text of up to 100000 characters."],
    [{ queueCap: 10_001 }, "queueCap: expected a whole number from 1 to 10000."],
    [{ queueDebounceMs: 3_600_001 }, "queueDebounceMs: expected a whole number from 0 to 3600000."],
    [{ queueDebounceMs: -1 }, "queueDebounceMs: expected a whole number from 0 to 3600000."],
    [{ tokens: null }, '"tokens" cannot be set.'],
    [{ updatedAt: 5 }, '"updatedAt" cannot be set.'],
    [{ compactionCount: 5 }, '"compactionCount" cannot be set.'],
    [{ somethingNewer: 5 }, '"somethingNewer" cannot be set.'],
    [{ constructor: 5 }, '"constructor" cannot be set.'],
  ];
  it.each(bad)("refuses %j", (patch, message) => {
    expect(() => patchState(fresh, patch, 2_000)).toThrow(expect.objectContaining({ code: "invalid_input", message }));
  });

  it.each<[string, unknown, unknown]>([
    ["modelOverride", "m", "m"],
    ["modelOverride", ` ${"x".repeat(256)} `, "x".repeat(256)],
    ["queueCap", 1, 1],
    ["queueCap", 10_000, 10_000],
    ["queueDebounceMs", 0, 0],
    ["queueDebounceMs", 3_600_000, 3_600_000],
    ["extraSystemPrompt", "", ""],
    ["extraSystemPrompt", "x".repeat(100_000), "x".repeat(100_000)],
  ])("takes the longest and the shortest %s: %#", (field, value, kept) => {
    expect(patchState(fresh, { [field]: value }, 2_000)).toMatchObject({ [field]: kept, updatedAt: 2_000 });
  });

  it("leaves the time of the last change without one of its own", () => {
    expect(patchState({ ...fresh, updatedAt: 0 }, { label: "x" }).updatedAt).toBe(0);
  });

  it("names the fields that can be set", () => {
    try {
      patchState(fresh, { nope: 1 }, 0);
    } catch (error) {
      expect((error as InvalidInputError).hint).toContain("thinkingLevel, verboseLevel");
    }
  });

  it("changes nothing if one of several fields is wrong", () => {
    const before = structuredClone(fresh);
    expect(() => patchState(fresh, { label: "x", queueCap: -1 }, 2_000)).toThrow(InvalidInputError);
    expect(fresh).toEqual(before);
  });

  it("keeps unknown fields in every state", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (extra) => {
        fc.pre(!Object.keys(extra).some((key) => isSettable(key) || key in fresh || key === "__proto__"));
        const state = { ...extra, ...fresh } as AgentState;
        expect(patchState(state, { label: "x" }, 2_000)).toEqual({ ...state, label: "x", updatedAt: 2_000 });
      }),
    );
  });
});

describe("stateAfterReset", () => {
  it("keeps the choices of a person and drops the counters of the old session", () => {
    const chosen = { thinkingLevel: "high", modelOverride: "m", label: "l", sendPolicy: "deny", contextTokens: 9 };
    const kept = { ...chosen, queueMode: "steer", lastChannel: "c", somethingNewer: 1 };
    const tokens = { provider: "p", model: "m", size: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, total: 2 } };
    const counted = {
      totalTokens: 5,
      inputTokens: 2,
      compactionCount: 3,
      memoryFlushAt: 4,
      systemSent: true,
      skillsSnapshot: {},
    };
    const state = { ...fresh, ...kept, ...counted, tokens } as AgentState;
    expect(stateAfterReset(state, 2_000)).toEqual({ ...fresh, ...kept, tokens: null, updatedAt: 2_000 });
  });

  it("drops an auth profile that was chosen automatically, and keeps one that a person chose", () => {
    const auto = { ...fresh, authProfileOverride: "k", authProfileOverrideSource: "auto" } as const;
    const user = { ...fresh, authProfileOverride: "k", authProfileOverrideSource: "user" } as const;
    expect(stateAfterReset(auto, 2_000).authProfileOverride).toBeUndefined();
    expect(stateAfterReset(user, 2_000).authProfileOverride).toBe("k");
  });
});

describe("resolveSendPolicy", () => {
  const deny = (match?: NonNullable<SendPolicy["rules"]>[number]["match"]): SendPolicy => ({
    rules: [{ action: "deny", ...(match ? { match } : {}) }],
  });
  const both: SendPolicy = {
    rules: [
      { action: "allow", match: { channel: "discord" } },
      { action: "deny", match: { chatType: "group" } },
      { action: "allow", match: { chatType: "group" } },
    ],
    default: "deny",
  };
  const group = "agent:main:discord:group:1";
  const table: readonly [string, SendQuestion, string][] = [
    ["no policy", {}, "allow"],
    ["the default", { policy: { default: "deny" } }, "deny"],
    ["the agent's own permission", { policy: deny(), state: { sendPolicy: "allow" } }, "allow"],
    ["the agent's own denial", { policy: { default: "allow" }, state: { sendPolicy: "deny" } }, "deny"],
    ["a rule for everything", { policy: deny() }, "deny"],
    ["deny wins in any order", { policy: both, sessionKey: group }, "deny"],
    ["an allowing rule before the default", { policy: both, sessionKey: "agent:main:discord:dm:1" }, "allow"],
    ["the default if no rule matches", { policy: both, sessionKey: "agent:main:telegram:dm:1" }, "deny"],
    [
      "channel from the argument",
      { policy: deny({ channel: "Slack" }), channel: " slack ", sessionKey: group },
      "deny",
    ],
    [
      "channel from the state",
      { policy: deny({ channel: "slack" }), state: { channel: "slack" }, sessionKey: group },
      "deny",
    ],
    [
      "last channel",
      { policy: deny({ channel: "slack" }), state: { lastChannel: "slack" }, sessionKey: group },
      "deny",
    ],
    [
      "the chat type of a channel",
      { policy: deny({ chatType: "room" }), sessionKey: "agent:main:slack:channel:1" },
      "deny",
    ],
    ["the chat type of a channel, in a group", { policy: deny({ chatType: "room" }), sessionKey: group }, "allow"],
    ["channel from the key", { policy: deny({ channel: "discord" }), sessionKey: group }, "deny"],
    ["another channel", { policy: deny({ channel: "slack" }), sessionKey: group }, "allow"],
    ["chat type from the key", { policy: deny({ chatType: "room" }), sessionKey: "agent:main:x:channel:1" }, "deny"],
    ["chat type of main", { policy: deny({ chatType: "direct" }), sessionKey: "agent:main:main" }, "deny"],
    ["chat type of a job", { policy: deny({ chatType: "direct" }), sessionKey: "cron:1" }, "allow"],
    ["a prefix of the whole key", { policy: deny({ keyPrefix: "agent:main:discord:" }), sessionKey: group }, "deny"],
    ["a prefix of the rest", { policy: deny({ keyPrefix: "Discord:Group:" }), sessionKey: group }, "deny"],
    [
      "a prefix in another case",
      { policy: deny({ keyPrefix: "api:dm:a" }), sessionKey: "agent:main:api:dm:Al" },
      "deny",
    ],
    [
      "a prefix of a key with blanks around it",
      { policy: deny({ keyPrefix: " cron:1" }), sessionKey: " cron:1 " },
      "deny",
    ],
    [
      "chat type from the argument",
      { policy: deny({ chatType: "room" }), chatType: "room", sessionKey: group },
      "deny",
    ],
    [
      "chat type from the argument before the state",
      { policy: deny({ chatType: "room" }), chatType: "room", state: { chatType: "direct" }, sessionKey: group },
      "deny",
    ],
    [
      "chat type from the state before the key",
      { policy: deny({ chatType: "room" }), state: { chatType: "room" }, sessionKey: group },
      "deny",
    ],
    ["chat type of a group", { policy: deny({ chatType: "group" }), sessionKey: group }, "deny"],
    [
      "chat type of a direct message",
      { policy: deny({ chatType: "direct" }), sessionKey: "agent:main:discord:dm:1" },
      "deny",
    ],
    ["a blank channel, where none is known", { policy: deny({ channel: " " }), sessionKey: "cron:1" }, "deny"],
    ["a blank channel, where one is known", { policy: deny({ channel: " " }), sessionKey: group }, "allow"],
    ["a prefix of cron", { policy: deny({ keyPrefix: "cron:" }), sessionKey: "cron:1" }, "deny"],
    ["a prefix of something else", { policy: deny({ keyPrefix: "slack:" }), sessionKey: group }, "allow"],
    [
      "every condition of a rule must match",
      { policy: deny({ channel: "discord", chatType: "direct" }), sessionKey: group },
      "allow",
    ],
  ];
  it.each(table)("%s", (_, question, expected) => {
    expect(resolveSendPolicy(question)).toBe(expected);
  });
});

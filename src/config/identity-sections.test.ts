import { describe, expect, it } from "vitest";
import { addressFor } from "../core/agent/address.ts";
import { resolveSendPolicy } from "../core/agent/send-policy.ts";
import { resetPolicyFor } from "../core/agent/session-freshness.ts";
import { ConfigError } from "../core/errors.ts";
import { parseConfig } from "./parse-config.ts";

const parse = (text: string) => parseConfig({ text, file: "rookery.json5", env: {} });
const written = parse(`{
  profiles: {
    main: { tools: { deny: ["write"], subagents: { allow: ["memory_*"] } }, limits: { timeoutSeconds: 60 } },
    Work: { prompt: "You work." },
  },
  bindings: [
    { profile: "Work", match: { channel: "slack", accountId: "*" } },
    { profile: "Work", match: { channel: "discord", peer: { kind: "channel", id: "C1" } } },
  ],
  owner: { accounts: ["telegram:1"] },
  session: {
    mainKey: "home",
    identityLinks: { tyler: ["telegram:9"] },
    reset: { idleMinutes: 30, byType: { group: { mode: "idle" } } },
    sendPolicy: { rules: [{ action: "deny", match: { channel: "irc" } }] },
  },
}`).config;

describe("the identity settings of the configuration", () => {
  it.each([
    [{ connector: "telegram", userId: "1" }, "main", "agent:main:home"],
    [{ connector: "telegram", userId: "9" }, "main", "agent:main:telegram:dm:tyler"],
    [{ connector: "slack", userId: "u", accountId: "a" }, "Work", "agent:work:slack:dm:u"],
    [
      { connector: "discord", userId: "u", channelId: "c1", peerKind: "channel" },
      "Work",
      "agent:work:discord:channel:c1",
    ],
    [{ connector: "irc", userId: "u" }, "main", "agent:main:irc:dm:u"],
  ] as const)("decide the address of %j", (about, profile, sessionKey) => {
    expect(addressFor({ channelId: "x", ...about }, written)).toMatchObject({ profile, sessionKey });
  });

  it.each([
    ["telegram", undefined, { daily: { atHour: 4 }, idle: { minutes: 30 } }],
    ["telegram", "group", { idle: { minutes: 30 } }],
    ["slack", "group", { idle: { minutes: 30 } }],
  ] as const)("decide when a conversation on %s (%s) begins a new session", (connector, peerKind, policy) => {
    const descriptor = { type: "user", connector, userId: "u", channelId: "c", peerKind } as const;
    expect(resetPolicyFor({ descriptor, sessionKey: "agent:main:x" }, written.session.reset)).toEqual(policy);
  });

  it("decide whether an agent may send", () => {
    const { sendPolicy: policy } = written.session;
    expect(resolveSendPolicy({ policy, sessionKey: "agent:main:irc:dm:u" })).toBe("deny");
    expect(resolveSendPolicy({ policy, sessionKey: "agent:main:slack:dm:u" })).toBe("allow");
  });

  it("join no two people by default", () => {
    const { config } = parse("");
    const from = (connector: string, userId: string) =>
      addressFor({ connector, userId, channelId: "c" }, config).sessionKey;
    expect(from("terminal", "owner")).toBe("agent:main:main");
    expect(new Set([from("telegram", "1"), from("telegram", "2"), from("discord", "1"), from("api", "1")]).size).toBe(
      4,
    );
    expect(
      resetPolicyFor(
        { descriptor: { type: "user", connector: "x", userId: "u", channelId: "c" }, sessionKey: "" },
        config.session.reset,
      ),
    ).toEqual({ daily: { atHour: 4 } });
  });

  it.each([
    [`{ session: { dmScope: "everybody" } }`, 'session.dmScope: expected one of "main", "per-peer"'],
    [`{ session: { mainKey: "a:b" } }`, "session.mainKey: expected a word of letters"],
    [`{ session: { timeZone: "Mars/Olympus" } }`, 'session.timeZone: Unknown time zone "Mars/Olympus"'],
    [`{ session: { reset: { atHour: 24 } } }`, "session.reset.atHour: expected a whole number from 0 to 23"],
    [`{ session: { reset: { idleMinutes: 0 } } }`, "session.reset.idleMinutes: expected a whole number from 1"],
    [`{ session: { sendPolicy: { rules: [{}] } } }`, 'session.sendPolicy.rules[0].action: expected one of "allow"'],
    [`{ owner: { accounts: ["me"] } }`, 'owner.accounts[0]: expected an account as "channel:id"'],
    [`{ bindings: [{ match: { channel: "x" } }] }`, "bindings[0].profile: expected the name of a profile"],
    [
      `{ bindings: [{ profile: "x", match: { channel: "x", peer: { kind: "user", id: "1" } } }] }`,
      "bindings[0].match.peer.kind",
    ],
    [`{ profiles: { "a.b": {}, "a-b": {} } }`, 'profiles.a-b: expected another name than "a.b"'],
    [`{ profiles: { main: { tools: { allow: "read" } } } }`, "profiles.main.tools.allow: expected a list"],
  ])("are refused: %s", (text, message) => {
    expect(() => parse(text)).toThrow(ConfigError);
    expect(() => parse(text)).toThrow(message);
  });

  it("cause a warning about a nested unknown key", () => {
    const { warnings } = parse(
      `{ session: { reset: { byType: { direct: {} } } }, bindings: [{ profile: "main", match: { channel: "y", peers: 1 } }] }`,
    );
    expect(warnings.map(({ key }) => key)).toEqual(["session.reset.byType.direct", "bindings[0].match.peers"]);
  });
});

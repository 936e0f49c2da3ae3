import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tries } from "../../../test/kit/share.ts";
import { foldedId } from "../same-id.ts";
import { AGENT_KINDS, type AgentDescriptor } from "./descriptor.ts";
import { readSessionKey, sessionKeyCandidates } from "./key-shape.ts";
import {
  buildAgentMainSessionKey,
  buildAgentPeerSessionKey,
  DM_SCOPES,
  exactPart,
  isOwner,
  isSubagentSessionKey,
  type KeyScoping,
  normalizeAccountId,
  normalizeAgentId,
  notReserved,
  type PeerSessionKeyParams,
  parseAgentSessionKey,
  permanentKey,
  readPart,
  resolveThreadParentSessionKey,
  sessionKeyOf,
  setApart,
} from "./session-key.ts";

describe("parseAgentSessionKey", () => {
  it.each([
    ["agent:main:main", { agentId: "main", rest: "main" }],
    ["agent:main:dm:tyler", { agentId: "main", rest: "dm:tyler" }],
    ["agent:main:telegram:group:123456:thread:789", { agentId: "main", rest: "telegram:group:123456:thread:789" }],
    ["  agent:main:main  ", { agentId: "main", rest: "main" }],
    ["agent::main::dm::X", { agentId: "main", rest: "dm:X" }],
    ["agent:Work:DM:Tyler", { agentId: "Work", rest: "DM:Tyler" }],
    ["Agent:main:main", null],
    ["AGENT:main:main", null],
    ["agent:main", null],
    ["agent:main:", null],
    ["agent", null],
    ["cron:job", null],
    ["subagent:1", null],
    ["", null],
    [" ", null],
    [undefined, null],
    [null, null],
  ])("reads %j as %j", (key, expected) => {
    expect(parseAgentSessionKey(key)).toEqual(expected);
  });

  it("reads a hundred thousand characters, and nothing longer", () => {
    const rest = "x".repeat(99_992);
    expect(parseAgentSessionKey(`agent:a:${rest}`)).toEqual({ agentId: "a", rest });
    expect(parseAgentSessionKey(`agent:a:${rest}x`)).toBeNull();
  });
});

describe("isSubagentSessionKey", () => {
  it.each([
    ["agent:main:subagent:uuid", true],
    ["agent:main:SubAgent:uuid", true],
    ["subagent:uuid", true],
    [" Subagent:uuid ", true],
    ["SUBAGENT:uuid", true],
    [" agent:main:subagent:uuid ", true],
    ["agent:main:subagents:uuid", false],
    ["agent:main:main", false],
    ["agent:subagent:main", false],
    ["agent:main:telegram:dm:subagent:1", false],
    ["agent:main:dm:subagent", false],
    ["", false],
    [undefined, false],
    [null, false],
  ])("of %j is %j", (key, expected) => {
    expect(isSubagentSessionKey(key)).toBe(expected);
  });
});

describe("buildAgentMainSessionKey", () => {
  it.each([
    [{ agentId: "main" }, "agent:main:main"],
    [{ agentId: "" }, "agent:main:main"],
    [{ agentId: "  " }, "agent:main:main"],
    [{ agentId: "Work" }, "agent:work:main"],
    [{ agentId: "My Agent!" }, "agent:my-agent:main"],
    [{ agentId: "--x--" }, "agent:x:main"],
    [{ agentId: "äöü" }, "agent:main:main"],
    [{ agentId: "a".repeat(70) }, `agent:${"a".repeat(64)}:main`],
    [{ agentId: "main", mainKey: " Work " }, "agent:main:work"],
    [{ agentId: "main", mainKey: "" }, "agent:main:main"],
    [{ agentId: "main", mainKey: "a:b" }, "agent:main:a%3ab"],
    [{ agentId: "main", mainKey: "heartbeat" }, "agent:main:heartbeat%"],
  ])("builds %j as %s", (params, expected) => {
    expect(buildAgentMainSessionKey(params)).toBe(expected);
  });
});

describe("buildAgentPeerSessionKey", () => {
  const links = { alice: ["telegram:111", "222"], "": ["333"], broken: "444" as unknown as string[], bob: ["111"] };
  const table: readonly [string, Partial<PeerSessionKeyParams>, string][] = [
    ["no scope is the main conversation", { peerId: "7" }, "agent:main:main"],
    ["scope main, for any person", { peerId: "7", dmScope: "main" }, "agent:main:main"],
    ["scope main with a main key", { peerId: "7", dmScope: "main", mainKey: "Work" }, "agent:main:work"],
    ["per peer", { peerId: " Tyler ", dmScope: "per-peer" }, "agent:main:dm:tyler"],
    ["per channel and peer", { peerId: "7", dmScope: "per-channel-peer" }, "agent:main:telegram:dm:7"],
    [
      "per account, channel and peer",
      { peerId: "7", accountId: "Bot2", dmScope: "per-account-channel-peer" },
      "agent:main:telegram:bot2:dm:7",
    ],
    [
      "per account without an account",
      { peerId: "7", dmScope: "per-account-channel-peer" },
      "agent:main:telegram:default:dm:7",
    ],
    ["an empty peer is the main conversation", { peerId: " ", dmScope: "per-peer" }, "agent:main:main"],
    ["no peer is the main conversation", { dmScope: "per-channel-peer" }, "agent:main:main"],
    [
      "an empty channel is unknown",
      { channel: "", peerId: "7", dmScope: "per-channel-peer" },
      "agent:main:unknown:dm:7",
    ],
    ["a group", { peerKind: "group", peerId: "123456" }, "agent:main:telegram:group:123456"],
    ["a group in any scope", { peerKind: "group", peerId: "1", dmScope: "main" }, "agent:main:telegram:group:1"],
    ["a channel, lower-case", { channel: "Slack", peerKind: "channel", peerId: "C0A" }, "agent:main:slack:channel:c0a"],
    ["a group without an id", { peerKind: "group" }, "agent:main:telegram:group:unknown"],
    ["a thread", { peerKind: "group", peerId: "1", threadId: 789 }, "agent:main:telegram:group:1:thread:789"],
    [
      "a topic",
      { peerKind: "group", peerId: "1", threadId: "5", threadWord: "topic" },
      "agent:main:telegram:group:1:topic:5",
    ],
    ["a thread of main", { peerId: "7", threadId: "T1" }, "agent:main:main:thread:t1"],
    ["a link by channel and id", { peerId: "111", dmScope: "per-peer", identityLinks: links }, "agent:main:dm:alice"],
    [
      "a link by id",
      { peerId: "222", dmScope: "per-channel-peer", identityLinks: links },
      "agent:main:telegram:dm:alice",
    ],
    [
      "a link of another channel is skipped for the next match",
      { channel: "discord", peerId: "111", dmScope: "per-peer", identityLinks: links },
      "agent:main:dm:bob",
    ],
    ["a blank name is skipped", { peerId: "333", dmScope: "per-peer", identityLinks: links }, "agent:main:dm:333"],
    [
      "a value that is not a list is skipped",
      { peerId: "444", dmScope: "per-peer", identityLinks: links },
      "agent:main:dm:444",
    ],
    ["links do not matter in scope main", { peerId: "111", identityLinks: links }, "agent:main:main"],
    [
      "a namesake of a linked person",
      { peerId: "Alice", dmScope: "per-peer", identityLinks: links },
      "agent:main:dm:alice%",
    ],
    ["a separator in an id", { peerId: "a:dm:b", dmScope: "per-channel-peer" }, "agent:main:telegram:dm:a%3adm%3ab"],
    ["an escape in an id", { peerId: "a%3ab", dmScope: "per-peer" }, "agent:main:dm:a%253ab"],
    ["a line end in an id", { peerId: "a\nb", dmScope: "per-peer" }, "agent:main:dm:a%0ab"],
    ["half a character in an id", { peerId: "a\ud800", dmScope: "per-peer" }, "agent:main:dm:a%ud800"],
    [
      "a channel named like a reserved word",
      { channel: "swarm", peerKind: "group", peerId: "1" },
      "agent:main:swarm%:group:1",
    ],
  ];
  it.each(table)("%s", (_, params, expected) => {
    expect(buildAgentPeerSessionKey({ agentId: "main", channel: "telegram", ...params })).toBe(expected);
  });
});

describe("resolveThreadParentSessionKey", () => {
  it.each([
    ["agent:main:telegram:group:123456:thread:789", "agent:main:telegram:group:123456"],
    ["agent:main:telegram:group:1:topic:5", "agent:main:telegram:group:1"],
    ["agent:main:slack:channel:c1:Thread:17.5", "agent:main:slack:channel:c1"],
    ["agent:main:x:group:1:topic:5:thread:9", "agent:main:x:group:1:topic:5"],
    ["agent:main:x:group:thread:thread:9", "agent:main:x:group:thread"],
    ["agent:main:main:thread:t1", "agent:main:main"],
    [" agent:main:main:thread:t1 ", "agent:main:main"],
    ["agent:main:main", null],
    ["agent:main:dm:thread", null],
    [":thread:9", null],
    ["", null],
    [null, null],
    [undefined, null],
  ])("of %j is %j", (key, expected) => {
    expect(resolveThreadParentSessionKey(key)).toBe(expected);
  });
});

const user = (about: Partial<Extract<AgentDescriptor, { type: "user" }>> = {}): AgentDescriptor => ({
  type: "user",
  connector: "telegram",
  userId: "7",
  channelId: "70",
  ...about,
});

describe("sessionKeyOf", () => {
  const owner: KeyScoping = { ownerAccounts: ["telegram:7", "api:Me"] };
  const table: readonly [AgentDescriptor, KeyScoping, string][] = [
    [user({ connector: "terminal", userId: "owner" }), {}, "agent:work:main"],
    [user({ connector: "terminal", userId: "somebody" }), { dmScope: "per-peer", mainKey: "home" }, "agent:work:home"],
    [user(), {}, "agent:work:telegram:dm:7"],
    [user(), owner, "agent:work:main"],
    [user({ connector: "Telegram" }), owner, "agent:work:main"],
    [user({ connector: "discord" }), owner, "agent:work:discord:dm:7"],
    [user({ userId: "8" }), owner, "agent:work:telegram:dm:8"],
    [user({ peerKind: "group" }), owner, "agent:work:telegram:group:70"],
    [user({ threadId: 3 }), owner, "agent:work:main:thread:3"],
    [user({ peerKind: "channel", threadId: "3" }), {}, "agent:work:telegram:channel:70:thread:3"],
    [user(), { dmScope: "per-peer" }, "agent:work:dm:7"],
    [user(), { dmScope: "main" }, "agent:work:main"],
    [user({ accountId: "b2" }), { dmScope: "per-account-channel-peer" }, "agent:work:telegram:b2:dm:7"],
    [user({ userId: " " }), { dmScope: "per-peer" }, "agent:work:dm:70"],
    [user({ userId: " 7 " }), { dmScope: "per-peer" }, "agent:work:dm:7"],
    [user({ userId: " ", channelId: " " }), { dmScope: "per-peer" }, "agent:work:dm:unknown"],
    [user(), { carried: new Map([["agent:work:telegram:dm:7", "agent:work:dm:ann"]]) }, "agent:work:dm:ann"],
    [user({ connector: " API ", userId: "Al" }), {}, "agent:work:api:dm:Al"],
    [user({ connector: "api", userId: "alice" }), { dmScope: "main" }, "agent:work:api:dm:alice"],
    [user({ connector: "api", userId: "Alice" }), {}, "agent:work:api:dm:Alice"],
    [user({ connector: "api", userId: "Me" }), owner, "agent:work:main"],
    [user({ connector: "api", userId: "me" }), owner, "agent:work:api:dm:me"],
    [user({ connector: "api", userId: "a1" }), { identityLinks: { tyler: ["api:a1"] } }, "agent:work:api:dm:tyler"],
    [user({ connector: "api", userId: "tyler" }), { identityLinks: { tyler: ["api:a1"] } }, "agent:work:api:dm:tyler%"],
    [{ type: "cron", id: "job-1" }, {}, "cron:job-1"],
    [{ type: "cron", id: "a:b" }, {}, "cron:a%3ab"],
    [{ type: "heartbeat" }, {}, "agent:work:heartbeat"],
    [{ type: "system", tag: "architect" }, {}, "agent:work:system:architect"],
    [{ type: "subagent", id: "0198", parentAgentId: "p", name: "n" }, {}, "agent:work:subagent:0198"],
    [{ type: "swarm", id: "s1", contact: "c1" }, {}, "agent:work:swarm:s1:c1"],
    [{ type: "swarm", id: "s1:c", contact: "1" }, {}, "agent:work:swarm:s1%3ac:1"],
    [
      { type: "permanent", id: "x", name: " My Helper ", description: "d", systemPrompt: "p" },
      {},
      "agent:work:permanent:my%20helper",
    ],
  ];
  it.each(table)("%j with %j", (descriptor, scoping, expected) => {
    expect(sessionKeyOf(descriptor, "Work", scoping)).toBe(expected);
  });

  it("has a row for every kind", () => {
    expect(new Set(table.map(([{ type }]) => type))).toEqual(new Set(AGENT_KINDS));
  });
});

describe("isOwner", () => {
  it.each([
    ["telegram", "7", ["telegram:7"], true],
    ["telegram", "7", [" Telegram : 7 "], true],
    [" Telegram ", " 7 ", ["telegram:7"], true],
    ["t", "7", ["t:7"], true],
    ["matrix", "@Me:home.org", ["matrix:@me:home.org"], true],
    ["telegram", "7", ["discord:7"], false],
    ["telegram", "7", ["7"], false],
    ["", "7", [":7"], false],
    ["", "7", ["7"], false],
    ["telegram", "Ann", ["telegram:ann"], true],
    ["api", "Ann", ["api:ann"], false],
    ["api", "Ann", ["api:Ann"], true],
    ["telegram", "7", ["telegram:"], false],
    ["telegram", "", ["telegram:"], false],
    ["telegram", "7", [], false],
    ["terminal", "anybody", [], true],
  ])("%s %s of %j: %j", (connector, userId, accounts, expected) => {
    expect(isOwner({ connector, userId }, accounts)).toBe(expected);
  });
});

/** Difficult ids as channels have them: separators, escapes, reserved words, blanks. */
const id = fc.oneof(
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }),
  fc.stringMatching(/^[a-c:%3]{1,6}$/),
  fc.constantFrom(
    "dm",
    "group",
    "thread",
    "topic",
    "main",
    "heartbeat",
    "swarm",
    "subagent",
    "a:dm:b",
    "%",
    "%25",
    "x%",
  ),
);
const notBlank = id.filter((text) => text.trim() !== "");
const folded = foldedId;

/** A conversation, independent of its spelling. */
const conversation = fc.record({
  connector: notBlank.filter((name) => !["terminal", "api"].includes(folded(name))),
  userId: notBlank,
  channelId: notBlank,
  peerKind: fc.constantFrom("dm", "group", "channel"),
  threadId: fc.option(notBlank, { nil: undefined }),
});
type Conversation = { connector: string; userId: string; channelId: string; peerKind: string; threadId?: string };
const same = (a: Conversation, b: Conversation): boolean =>
  folded(a.connector) === folded(b.connector) &&
  a.peerKind === b.peerKind &&
  folded(a.peerKind === "dm" ? a.userId : a.channelId) === folded(b.peerKind === "dm" ? b.userId : b.channelId) &&
  folded(a.threadId ?? "") === folded(b.threadId ?? "");

describe("session keys", () => {
  it("can be read back into their parts", () => {
    fc.assert(
      fc.property(conversation, (about) => {
        const key = sessionKeyOf({ type: "user", ...about }, "main");
        const { connector, peerKind, userId, channelId, threadId } = about;
        expect(parseAgentSessionKey(key)).toEqual({ agentId: "main", rest: key.slice("agent:main:".length) });
        expect(readSessionKey(key)).toEqual({
          kind: peerKind,
          profile: "main",
          channel: folded(connector),
          id: folded(peerKind === "dm" ? userId : channelId),
          ...(threadId === undefined ? {} : { threadId: folded(threadId) }),
        });
        const parent = resolveThreadParentSessionKey(key);
        const { threadId: _, ...without } = about;
        expect(parent).toBe(threadId === undefined ? null : sessionKeyOf({ type: "user", ...without }, "main"));
      }),
    );
  });

  it("are shared by two conversations only if they are the same one", () => {
    fc.assert(
      fc.property(conversation, conversation, (a, b) => {
        const keys = [a, b].map((one) => sessionKeyOf({ type: "user", ...one }, "main"));
        expect(keys[0] === keys[1]).toBe(same(a, b));
      }),
      { numRuns: tries(2_000) },
    );
  });

  it("separate two people in every scope except main, unless a link joins them", () => {
    const scopes = DM_SCOPES.filter((scope) => scope !== "main");
    const links = fc.dictionary(notBlank, fc.array(notBlank, { maxLength: 3 }), { maxKeys: 3 });
    fc.assert(
      fc.property(fc.constantFrom(...scopes), notBlank, notBlank, links, (dmScope, a, b, identityLinks) => {
        fc.pre(folded(a) !== folded(b));
        const build = (peerId: string): string =>
          buildAgentPeerSessionKey({ agentId: "main", channel: "telegram", peerId, dmScope, identityLinks });
        const linked = (peer: string): string | undefined => {
          const found = Object.entries(identityLinks).find(([, ids]) =>
            ids.some((one) => [folded(peer), `telegram:${folded(peer)}`].includes(folded(one))),
          );
          return found && folded(found[0]);
        };
        const joined = linked(a) !== undefined && linked(a) === linked(b);
        expect(build(a) === build(b)).toBe(joined);
      }),
      { numRuns: tries(2_000) },
    );
  });

  it("of different kinds are never equal", () => {
    const descriptor: fc.Arbitrary<AgentDescriptor> = fc.oneof(
      conversation.map((about): AgentDescriptor => ({ type: "user", ...about }) as AgentDescriptor),
      notBlank.map((text): AgentDescriptor => ({ type: "cron", id: text })),
      fc.constant<AgentDescriptor>({ type: "heartbeat" }),
      fc.stringMatching(/^[a-z]{1,8}$/).map((tag): AgentDescriptor => ({ type: "system", tag })),
      notBlank.map((text): AgentDescriptor => ({ type: "subagent", id: text, parentAgentId: "p", name: "n" })),
      fc.tuple(notBlank, notBlank).map(([text, contact]): AgentDescriptor => ({ type: "swarm", id: text, contact })),
      notBlank.map(
        (name): AgentDescriptor => ({ type: "permanent", id: "x", name, description: "d", systemPrompt: "p" }),
      ),
    );
    fc.assert(
      fc.property(descriptor, descriptor, fc.constantFrom(...DM_SCOPES), id, (a, b, dmScope, mainKey) => {
        fc.pre(a.type !== b.type);
        const scoping = { dmScope, mainKey };
        expect(sessionKeyOf(a, "main", scoping)).not.toBe(sessionKeyOf(b, "main", scoping));
        expect(readSessionKey(sessionKeyOf(a, "main"))?.kind).toBe(a.type === "user" ? (a.peerKind ?? "dm") : a.type);
      }),
      { numRuns: tries(2_000) },
    );
  });

  it("separate API users by every character", () => {
    fc.assert(
      fc.property(notBlank, notBlank, (a, b) => {
        const key = (userId: string): string => sessionKeyOf(user({ connector: "api", userId }), "main");
        expect(key(a) === key(b)).toBe(a === b);
      }),
    );
  });
});

it("nobody with a blank name is set apart: it is the main conversation", () => {
  const nobody = { agentId: "p", channel: "x", peerId: " ", dmScope: "per-peer", identityLinks: { " ": [] } } as const;
  expect(buildAgentPeerSessionKey(nobody)).toBe("agent:p:main");
  expect(permanentKey(" ", "p")).toBe("agent:p:permanent:%20");
});

describe("a name in a key", () => {
  it.each([
    ["Work", "work"],
    [" a_b-1 ", "a_b-1"],
    ["a-", "a-"],
    [" a- ", "a-"],
    ["a".repeat(64), "a".repeat(64)],
    ["a".repeat(65), "a".repeat(64)],
    ["My Profile!", "my-profile"],
    ["-a b-", "a-b"],
    ["_a", "_a"],
    ["!?", undefined],
    ["", undefined],
    [" ", undefined],
    [null, undefined],
    [undefined, undefined],
  ])("%j is written %j", (name, written) => {
    expect(normalizeAgentId(name)).toBe(written ?? "main");
    expect(normalizeAccountId(name)).toBe(written ?? "default");
  });

  it.each([
    ["a:b%c d", "a%3ab%25c%20d"],
    ["\n\u2028", "%0a%u2028"],
    ["\u00a0\u0100", "%a0\u0100"],
    ["\ud800", "%ud800"],
  ])("%j is escaped as %s, and back", (text, part) => {
    expect(exactPart(text)).toBe(part);
    expect(readPart(part)).toBe(text);
    expect(readPart(setApart(part))).toBe(text);
  });

  it.each([
    "dm",
    "group",
    "channel",
    "thread",
    "topic",
    "heartbeat",
    "system",
    "subagent",
    "swarm",
    "permanent",
    "cron",
  ])("that is the word %s is set apart", (word) => {
    expect([notReserved(word), notReserved(word.toUpperCase()), notReserved(`${word}s`)]).toEqual([
      ...[`${word}%`, `${word.toUpperCase()}%`, `${word}s`],
    ]);
  });
});

describe("readSessionKey", () => {
  it.each<[string, object | undefined]>([
    ["cron:a%3ab", { kind: "cron", id: "a:b" }],
    [" cron:a ", { kind: "cron", id: "a" }],
    ["cron:a:b", undefined],
    ["agent:p:cron:a", { kind: "cron", profile: "p", id: "a" }],
    ["agent:p:main", { kind: "main", profile: "p", id: "main" }],
    ["agent:p:heartbeat", { kind: "heartbeat", profile: "p" }],
    ["agent:p:dm:a", { kind: "dm", profile: "p", id: "a" }],
    ["agent:p:system:a", { kind: "system", profile: "p", id: "a" }],
    ["agent:p:subagent:a", { kind: "subagent", profile: "p", id: "a" }],
    ["agent:p:permanent:a%20b", { kind: "permanent", profile: "p", id: "a b" }],
    ["agent:p:other:a", undefined],
    ["agent:p:swarm:a:b", { kind: "swarm", profile: "p", id: "a", contact: "b" }],
    ["agent:p:x:dm:a", { kind: "dm", profile: "p", channel: "x", id: "a" }],
    ["agent:p:x:group:a", { kind: "group", profile: "p", channel: "x", id: "a" }],
    ["agent:p:x:channel:a", { kind: "channel", profile: "p", channel: "x", id: "a" }],
    ["agent:p:x:other:a", undefined],
    ["agent:p:x:b2:dm:a", { kind: "dm", profile: "p", channel: "x", accountId: "b2", id: "a" }],
    ["agent:p:x:b2:group:a", undefined],
    ["agent:p:x:dm:a:thread:3", { kind: "dm", profile: "p", channel: "x", id: "a", threadId: "3" }],
    ["agent:p:x:group:a:topic:3%3a", { kind: "group", profile: "p", channel: "x", id: "a", threadId: "3:" }],
    ["agent:p:main:thread:3", { kind: "main", profile: "p", id: "main", threadId: "3" }],
    ["agent:p:thread:3", undefined],
    ["agent:p:x:b2:dm:a:b", undefined],
    ["other", undefined],
  ])("reads %s as %j", (key, shape) => {
    expect(readSessionKey(key)).toEqual(shape);
  });
});

describe("sessionKeyCandidates", () => {
  it.each([
    ["main", ["agent:p:home"]],
    ["", ["agent:p:home"]],
    ["HOME", ["agent:p:home"]],
    ["agent:p:main", ["agent:p:home"]],
    ["telegram:dm:7", ["agent:p:telegram:dm:7"]],
    ["Telegram:DM:7", ["agent:p:Telegram:DM:7", "agent:p:telegram:dm:7"]],
    ["agent:p:api:dm:Alice", ["agent:p:api:dm:Alice", "agent:p:api:dm:alice"]],
    ["cron:job", ["cron:job"]],
    [" main ", ["agent:p:home"]],
    [" x:dm:7 ", ["agent:p:x:dm:7"]],
    ["agent:p:cron:job", ["agent:p:cron:job", "cron:job"]],
  ])("of %j are %j", (requested, expected) => {
    expect(sessionKeyCandidates(requested, { agentId: "p", mainKey: "home" })).toEqual(expected);
  });
});

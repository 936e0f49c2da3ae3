import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentId } from "../ids.ts";
import type { PersonId } from "../people/person.ts";
import type { AgentDescriptor } from "./descriptor.ts";
import { leftBehind, oneEach, type ScopeChange } from "./left-behind.ts";
import { DM_SCOPES, type DmScope, sessionKeyOf } from "./session-key.ts";

type User = Extract<AgentDescriptor, { type: "user" }>;

const base: ScopeChange = {
  to: "per-peer",
  earlier: ["per-channel-peer"],
  ownerAccounts: ["telegram:1"],
  links: {},
  people: { ann: ["telegram:42", "desk:7"] },
  carried: new Map(),
};
const user = (userId: string, more: Partial<User> = {}): User => ({
  type: "user",
  connector: "telegram",
  userId,
  channelId: userId,
  ...more,
});
const agent = (descriptor: AgentDescriptor, sessionKey: string, more: object = {}) =>
  ({
    id: "a" as AgentId,
    descriptor,
    sessionKey,
    profile: "main",
    person: "ann" as PersonId,
    state: {},
    ...more,
  }) as Parameters<typeof leftBehind>[0];

describe("leftBehind", () => {
  it.each<[string, AgentDescriptor, string, Partial<ScopeChange>, object, object | undefined]>([
    ["a guest with a record", user("42"), "agent:main:telegram:dm:42", {}, {}, { to: "agent:main:dm:ann" }],
    [
      "a guest whom the configuration links to another record",
      user("42"),
      "agent:main:telegram:dm:42",
      { links: { ann: ["telegram:9"], bob: ["telegram:42"] } },
      {},
      { to: "agent:main:dm:bob" },
    ],
    [
      "a guest with a record, in a scope by channel",
      user("42"),
      "agent:main:dm:ann",
      { to: "per-account-channel-peer", earlier: ["per-peer"] },
      {},
      { to: "agent:main:telegram:default:dm:42" },
    ],
    ["a guest without one", user("9"), "agent:main:telegram:dm:9", {}, {}, { to: "agent:main:dm:9" }],
    [
      "a topic",
      user("9", { threadId: "3" }),
      "agent:main:telegram:dm:9:thread:3",
      {},
      {},
      { to: "agent:main:dm:9:thread:3" },
    ],
    ["the owner", user("1"), "agent:main:telegram:dm:1", {}, {}, undefined],
    ["a group", user("9", { peerKind: "group" }), "agent:main:telegram:group:9", {}, {}, undefined],
    [
      "a group whose key leads elsewhere",
      user("9", { peerKind: "group" }),
      "agent:main:telegram:group:9",
      { carried: new Map([["agent:main:telegram:group:9", "agent:main:other"]]) as never },
      {},
      undefined,
    ],
    ["an agent of another kind", { type: "heartbeat" }, "agent:main:heartbeat", {}, {}, undefined],
    ["a user of the API", user("9", { connector: "api" }), "agent:main:api:dm:9", {}, {}, undefined],
    ["one with the key of now", user("42"), "agent:main:dm:ann", {}, {}, undefined],
    ["one that was linked since", user("42"), "agent:main:dm:42", { earlier: ["per-channel-peer"] }, {}, undefined],
    ["a removed one", user("42"), "agent:main:telegram:dm:42", {}, { stopped: { removed: true } }, undefined],
    [
      "one that is carried already",
      user("42"),
      "agent:main:telegram:dm:42",
      { carried: new Map([["agent:main:dm:ann", "agent:main:telegram:dm:42"]]) },
      {},
      undefined,
    ],
    [
      "scope main",
      user("9"),
      "agent:main:telegram:dm:9",
      { to: "main" },
      {},
      { to: "agent:main:main", stays: "shared" },
    ],
    [
      "one in which another person speaks",
      user("9"),
      "agent:main:telegram:dm:9",
      {},
      { state: { speakers: ["bob"] } },
      { stays: "shared" },
    ],
    [
      "one in which the owner has spoken",
      user("9"),
      "agent:main:telegram:dm:9",
      {},
      { state: { speakers: ["owner"] } },
      { stays: undefined },
    ],
    [
      "back to its channel",
      user("42"),
      "agent:main:dm:ann",
      { to: "per-channel-peer", earlier: ["per-peer"] },
      {},
      { to: "agent:main:telegram:dm:42", stays: undefined },
    ],
    [
      "scope main with a key of its own",
      user("9"),
      "agent:main:telegram:dm:9",
      { to: "main", mainKey: "home" },
      {},
      { to: "agent:main:home", stays: "shared" },
    ],
    [
      "one of several earlier scopes",
      user("9"),
      "agent:main:telegram:dm:9",
      { earlier: ["per-account-channel-peer", "per-channel-peer"] },
      {},
      { to: "agent:main:dm:9" },
    ],
    ["the main conversation", user("9"), "agent:main:main", { to: "per-peer", earlier: ["main"] }, {}, undefined],
  ])("%s", (_, descriptor, key, change, more, expected) => {
    const found = leftBehind(agent(descriptor, key, more), { ...base, ...change });
    if (expected === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject({ from: key, ...expected });
  });

  it("offers the newest of several to one key", () => {
    const found = [
      ["x", "agent:main:telegram:dm:42", user("42"), 5],
      ["y", "agent:main:desk:dm:7", user("7", { connector: "desk" }), 9],
    ].map(([id, key, descriptor, lastHumanAt]) =>
      leftBehind(agent(descriptor as User, key as string, { id, lastHumanAt }), base),
    );
    expect(oneEach(found.flatMap((one) => one ?? [])).map(({ agentId, stays }) => [agentId, stays])).toEqual([
      ["x", "older"],
      ["y", undefined],
    ]);
  });

  it("leads every conversation that is offered to the key its next message has, and offers each key once", () => {
    const scope = fc.constantFrom(...DM_SCOPES);
    const who = fc.record({
      userId: fc.constantFrom("1", "42", "7", "9"),
      connector: fc.constantFrom("telegram", "desk", "api"),
    });
    fc.assert(
      fc.property(
        scope,
        scope,
        fc.uniqueArray(who, { selector: (one) => JSON.stringify(one) }),
        (from: DmScope, to: DmScope, people) => {
          const change = { ...base, to, earlier: from === to ? [] : [from] };
          const scoping = (dmScope: DmScope) => ({
            dmScope,
            ownerAccounts: base.ownerAccounts,
            identityLinks: dmScope === "per-peer" ? base.people : base.links,
          });
          const found = people.flatMap(
            ({ userId, connector }) =>
              leftBehind(
                agent(user(userId, { connector }), sessionKeyOf(user(userId, { connector }), "main", scoping(from))),
                change,
              ) ?? [],
          );
          const offered = oneEach(found).filter(({ stays }) => stays === undefined);
          expect(new Set(offered.map((one) => one.to)).size).toBe(offered.length);
          const carried = new Map<string, string>(offered.map((one) => [one.to, one.from]));
          for (const { userId, connector } of people) {
            const key = sessionKeyOf(user(userId, { connector }), "main", { ...scoping(to), carried });
            const old = sessionKeyOf(user(userId, { connector }), "main", scoping(from));
            const plain = sessionKeyOf(user(userId, { connector }), "main", scoping(to));
            // Nobody gets into a conversation that another person had alone.
            if (key !== plain) expect([old, ...offered.map((one) => one.from)]).toContain(key);
          }
        },
      ),
    );
  });
});

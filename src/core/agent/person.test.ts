import { describe, expect, test } from "vitest";
import { OWNER_MAILBOX } from "../delivery/route.ts";
import type { SessionKey } from "../ids.ts";
import type { AgentDescriptor } from "./descriptor.ts";
import { isMainConversation, keysOfPerson, type PeopleSettings, personOfConversation, setsRoute } from "./person.ts";

const settings: PeopleSettings = {
  ownerAccounts: ["telegram:1"],
  identityLinks: { ann: ["telegram:2", "slack:U2"] },
  profiles: ["main", "work"],
};
const user = (rest: object): Extract<AgentDescriptor, { type: "user" }> => ({
  type: "user",
  connector: "telegram",
  userId: "7",
  channelId: "c7",
  ...rest,
});

test.each([
  ["telegram", "1", "owner"],
  ["telegram", "2", "link:ann"],
  ["slack", "U2", "link:ann"],
  ["slack", "1", "slack:1"],
  ["telegram", "9", "telegram:9"],
])("who writes on %s as %s is %s", (connector, userId, person) => {
  expect(personOfConversation(user({ connector, userId }), settings)).toBe(person);
});

test.each([
  [{}, "telegram:7"],
  [{ peerKind: "dm" }, "telegram:7"],
  [{ peerKind: "group" }, "telegram:group:c7"],
  [{ peerKind: "channel" }, "telegram:channel:c7"],
  [{ userId: "1", peerKind: "group" }, "telegram:group:c7"],
  [{ userId: "1" }, "owner"],
])("the conversation with %j belongs to %s", (rest, person) => {
  expect(personOfConversation(user(rest), settings)).toBe(person);
});

test.each([
  ["agent:work:main", "work", undefined, true],
  ["agent:work:main:thread:5", "work", undefined, true],
  ["agent:work:mainly", "work", undefined, false],
  ["agent:main:main", "work", undefined, false],
  ["x:agent:work:main:thread:5", "work", undefined, false],
  ["agent:work:home", "work", "home", true],
  ["agent:work:main", "work", "home", false],
])("the key %s of profile %s with main key %s is main: %s", (key, profile, mainKey, expected) => {
  expect(isMainConversation({ sessionKey: key as SessionKey, profile }, { ...settings, mainKey })).toBe(expected);
});

describe("the keys of a person's conversations", () => {
  test.each([
    ["owner", ["agent:main:home", "agent:work:home"]],
    ["link:ann", []],
    ["nonsense", []],
    ["telegram:", []],
    [":7", []],
  ])("of %s are %j", (person, keys) => {
    expect(keysOfPerson(person, { ...settings, mainKey: "home" })).toEqual(keys);
  });

  test("of a sender and of a group are those of their conversations, one per profile", () => {
    const scoped = { ...settings, dmScope: "per-channel-peer" } as PeopleSettings;
    expect(keysOfPerson("telegram:7", scoped)).toEqual(["agent:main:telegram:dm:7", "agent:work:telegram:dm:7"]);
    expect(keysOfPerson("telegram:group:-5", scoped)).toEqual([
      "agent:main:telegram:group:-5",
      "agent:work:telegram:group:-5",
    ]);
    expect(keysOfPerson("telegram:channel:x", scoped)).toEqual([
      "agent:main:telegram:channel:x",
      "agent:work:telegram:channel:x",
    ]);
    expect(keysOfPerson("owner", { ...settings, profiles: undefined })).toEqual(["agent:main:main"]);
  });
});

describe("whether a message sets the route of its agent", () => {
  const chat = { descriptor: user({}), sessionKey: "agent:main:telegram:dm:7" as SessionKey, profile: "main" };
  const group = { ...chat, descriptor: user({ peerKind: "group" }) };
  const main = { ...chat, sessionKey: "agent:main:main" as SessionKey };
  const helper = { ...chat, descriptor: { type: "heartbeat" } as const };
  const onTelegram = { channel: "telegram", to: "c7" };
  test.each([
    ["its own person", chat, "telegram:7", onTelegram, true],
    ["another person", chat, "telegram:8", onTelegram, false],
    ["a person on another channel", chat, "slack:7", onTelegram, false],
    ["no one who is named", chat, undefined, onTelegram, true],
    ["anyone in a group", group, "telegram:8", onTelegram, true],
    ["anyone to an agent without a person", helper, "telegram:8", onTelegram, true],
    ["an agent on behalf of a person", helper, "telegram:8", { channel: "person", to: "x" }, false],
    ["an agent on behalf of its own person", chat, "telegram:7", { channel: "person", to: "x" }, false],
    ["the owner in the main conversation", main, "telegram:1", onTelegram, true],
    ["a stranger in the main conversation", main, "telegram:7", onTelegram, false],
    ["the owner over the API in the main conversation", main, undefined, OWNER_MAILBOX, true],
    ["the owner's name over the API", main, undefined, { channel: "api", to: "owner" }, false],
    ["another box of the owner's account", main, undefined, { ...OWNER_MAILBOX, to: "x" }, false],
    ["the owner over the API elsewhere", chat, "telegram:7", OWNER_MAILBOX, false],
    [
      "someone over the API",
      { ...chat, descriptor: user({ connector: "api", userId: "bob" }) },
      "api:bob",
      { channel: "api", to: "bob" },
      true,
    ],
    [
      "another one over the API",
      { ...chat, descriptor: user({ connector: "api", userId: "bob" }) },
      "api:bob",
      { channel: "api", to: "eve" },
      false,
    ],
    [
      "someone over the API with an account",
      { ...chat, descriptor: user({ connector: "api", userId: "bob" }) },
      "api:bob",
      { channel: "api", to: "bob", accountId: "x" },
      false,
    ],
  ])("%s: %#", (_name, agent, writer, origin, expected) => {
    expect(setsRoute(agent, writer, origin, settings)).toBe(expected);
  });
});

import { describe, expect, it } from "vitest";
import { InvalidInputError } from "../errors.ts";
import {
  type AddressConfig,
  addressFor,
  type Binding,
  type BindingOrigin,
  type Conversation,
  resolveBinding,
  userDescriptor,
} from "./address.ts";

const bind = (profile: string, match: Partial<Binding["match"]>): Binding => ({
  profile,
  match: { channel: "discord", ...match },
});

describe("resolveBinding", () => {
  const all: readonly Binding[] = [
    bind("any", { accountId: "*" }),
    bind("default-account", {}),
    bind("account", { accountId: "Bot2" }),
    bind("team", { teamId: "T1", accountId: "*" }),
    bind("guild", { guildId: "G1", accountId: "*" }),
    bind("peer", { peer: { kind: "group", id: "P1" }, accountId: "*" }),
    bind("nobody", { peer: { kind: "dm", id: "P9" } }),
  ];
  const known = ["main", "any", "default-account", "account", "team", "guild", "peer", "dm"];
  const group = { kind: "group", id: "p1" } as const;
  const table: readonly [string, Partial<BindingOrigin>, readonly Binding[], string, string][] = [
    ["peer before guild", { peer: group, guildId: "G1", teamId: "T1", accountId: "bot2" }, all, "peer", "peer"],
    ["guild before team", { guildId: "g1", teamId: "T1", accountId: "bot2" }, all, "guild", "guild"],
    ["team before account", { teamId: "T1", accountId: "bot2" }, all, "team", "team"],
    ["account before any", { accountId: "bot2" }, all, "account", "account"],
    ["no account is the account default", {}, all, "default-account", "account"],
    ["any account", { accountId: "bot3" }, all, "any", "any-account"],
    ["a peer of another kind is another peer", { peer: { kind: "dm", id: "P1" } }, all, "default-account", "account"],
    ["another channel", { channel: "slack", peer: group, guildId: "G1" }, all, "main", "default"],
    ["a channel in another case", { channel: "Discord", peer: group }, all, "peer", "peer"],
    ["an unknown profile is the default one", { peer: { kind: "dm", id: "P9" } }, all, "main", "peer"],
    [
      "a binding without an account matches only the default account",
      { accountId: "bot3" },
      [bind("peer", { peer: group })],
      "main",
      "default",
    ],
    [
      "a peer binding of another account",
      { peer: group },
      [bind("peer", { peer: group, accountId: "b" })],
      "main",
      "default",
    ],
    [
      "the first of two equal bindings",
      { peer: group },
      [bind("peer", { peer: group }), bind("guild", { peer: group })],
      "peer",
      "peer",
    ],
    [
      "a binding with an empty guild never matches",
      { guildId: "" },
      [bind("guild", { guildId: "" })],
      "main",
      "default",
    ],
    [
      "a binding with a blank peer never matches",
      { peer: { kind: "dm", id: "" } },
      [bind("dm", { peer: { kind: "dm", id: " " } })],
      "main",
      "default",
    ],
    ["the account default by its name", { accountId: "default" }, [bind("dm", {})], "dm", "account"],
    [
      "an account with blanks",
      { accountId: " Bot2 " },
      [bind("account", { accountId: " bot2 " })],
      "account",
      "account",
    ],
    ["no bindings", {}, [], "main", "default"],
  ];
  it.each(table)("%s", (_, origin, bindings, profile, matchedBy) => {
    const resolved = resolveBinding({ channel: "discord", ...origin }, bindings, { known, default: "main" });
    expect(resolved).toEqual({ profile, matchedBy });
  });
});

it("a conversation is described by what its message names, and by nothing empty", () => {
  const named = { connector: "x", userId: "u", channelId: "c" };
  const descriptor = { type: "user", ...named };
  const nothing = { accountId: "", peerKind: "" as never, threadId: "" };
  expect(Object.entries(userDescriptor({ ...named, ...nothing }))).toEqual(Object.entries(descriptor));
  const all = { accountId: "a", peerKind: "group", threadId: 0 } as const;
  expect(userDescriptor({ ...named, ...all })).toEqual({ ...descriptor, ...all });
});

it.each<[string, object, string]>([
  ...["connector", "userId", "channelId"].flatMap((name) =>
    ["", " ", 7, null, undefined, {}].map((value): [string, object, string] => [
      `${name} ${JSON.stringify(value)}`,
      { [name]: value },
      `without ${name}`,
    ]),
  ),
  ...[7, {}, true].map((value): [string, object, string] => [
    `accountId ${JSON.stringify(value)}`,
    { accountId: value },
    "an accountId that is no text",
  ]),
])("a message with %s is refused with a typed error", (_title, wrong, text) => {
  const named = { connector: "x", userId: "u", channelId: "c", ...wrong } as Conversation;
  expect(() => userDescriptor(named)).toThrow(InvalidInputError);
  expect(() => userDescriptor(named)).toThrow(text);
});

describe("addressFor", () => {
  const config: AddressConfig = {
    profiles: { work: {} },
    bindings: [
      { profile: "work", match: { channel: "slack", accountId: "*" } },
      { profile: "work", match: { channel: "telegram", peer: { kind: "dm", id: "5" } } },
      { profile: "work", match: { channel: "telegram", peer: { kind: "group", id: "-100" } } },
    ],
    session: { mainKey: "main", identityLinks: { tyler: ["telegram:9", "discord:99"] } },
    owner: { accounts: ["telegram:1"] },
  };
  const from = (about: Partial<Conversation>): Conversation => ({
    connector: "telegram",
    userId: "2",
    channelId: "20",
    ...about,
  });
  const table: readonly [string, Partial<Conversation>, string, string][] = [
    ["the terminal", { connector: "terminal", userId: "owner" }, "main", "agent:main:main"],
    ["the owner's own account", { userId: "1" }, "main", "agent:main:main"],
    ["the owner in a group", { userId: "1", peerKind: "group" }, "main", "agent:main:telegram:group:20"],
    ["any other person", {}, "main", "agent:main:telegram:dm:2"],
    ["a person bound to a profile", { userId: "5" }, "work", "agent:work:telegram:dm:5"],
    ["a group bound to a profile", { peerKind: "group", channelId: "-100" }, "work", "agent:work:telegram:group:-100"],
    ["a channel bound to a profile", { connector: "slack", accountId: "a" }, "work", "agent:work:slack:dm:2"],
    ["a linked person", { userId: "9" }, "main", "agent:main:telegram:dm:tyler"],
    ["an API user", { connector: "api", userId: "Alice" }, "main", "agent:main:api:dm:Alice"],
    ["a thread", { peerKind: "group", threadId: 4 }, "main", "agent:main:telegram:group:20:thread:4"],
  ];
  it.each(table)("%s", (_, about, profile, sessionKey) => {
    expect(addressFor(from(about), config)).toMatchObject({ profile, sessionKey });
  });

  it("joins a linked person across channels if the scope is per-peer", () => {
    const perPeer = { ...config, session: { ...config.session, dmScope: "per-peer" } } as const;
    const keys = [from({ userId: "9" }), from({ connector: "discord", userId: "99" })].map(
      (incoming) => addressFor(incoming, perPeer).sessionKey,
    );
    expect(keys).toEqual(["agent:main:dm:tyler", "agent:main:dm:tyler"]);
  });

  it("describes the conversation as the channel names it", () => {
    const { descriptor } = addressFor(from({ accountId: "b", peerKind: "group", threadId: 4, guildId: "g" }), config);
    expect(descriptor).toEqual({
      type: "user",
      connector: "telegram",
      userId: "2",
      channelId: "20",
      accountId: "b",
      peerKind: "group",
      threadId: 4,
    });
  });

  it.each(["connector", "userId", "channelId"])("refuses a message without %s", (field) => {
    expect(() => addressFor(from({ [field]: " " }), config)).toThrow(InvalidInputError);
  });
});

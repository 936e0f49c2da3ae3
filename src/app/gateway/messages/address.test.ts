import { describe, expect, it } from "vitest";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import { OWNER_MAILBOX } from "../../../core/delivery/route.ts";
import { OWNER as OWNER_ID, type PersonId } from "../../../core/people/person.ts";
import { OWNER, type Principal } from "../auth/principal.ts";
import { conversationByKey, mailboxFor, speaksInOwn } from "./address.ts";

const person = (id: string) => id as PersonId;
const token = (more: Partial<Principal>): Principal => ({
  id: "t1",
  name: "t",
  kind: "old",
  scopes: ["chat"],
  ...more,
});
const owners = token({ kind: "owner", person: OWNER_ID, scopes: ["operate"] });
const oldAnn = token({ user: "ann", person: person("api:ann") });
const ann = token({ kind: "person", person: person("ann") });
const shop = token({ kind: "application", app: "shop" });
const OWN = { channel: "api", accountId: "t1", to: "t1" };
const api = (userId: string): AgentDescriptor => ({ type: "user", connector: "api", userId, channelId: userId });

describe("the mailbox that an answer goes to", () => {
  it.each<[string, Principal, AgentDescriptor, unknown]>([
    ["the user of a conversation", OWNER, api("ann"), { channel: "api", to: "ann" }],
    ["the owner", OWNER, { type: "heartbeat" }, OWNER_MAILBOX],
    ["the token", owners, { type: "heartbeat" }, OWN],
    ["the person", ann, { type: "heartbeat" }, { channel: "api", to: "person:ann" }],
    [
      "the person, in a conversation of another channel",
      ann,
      { type: "user", connector: "telegram", userId: "9", channelId: "9" },
      { channel: "api", to: "person:ann" },
    ],
  ])("is that of %s", (_, principal, descriptor, expected) => {
    expect(mailboxFor(principal, { descriptor })).toEqual(expected);
  });
});

describe("a conversation by its key", () => {
  const config = { session: {}, profiles: { work: {} } } as unknown as Parameters<typeof conversationByKey>[0];
  const userOf = (principal: Principal, key: string) => conversationByKey(config, principal, key)?.descriptor.userId;

  it.each<[string, Principal, string, string | undefined]>([
    ["the owner's user", owners, "agent:main:api:dm:ann", "ann"],
    ["a user in another profile", owners, "agent:work:api:dm:ann", "ann"],
    ["a profile that does not exist", owners, "agent:none:api:dm:ann", undefined],
    ["another channel", owners, "agent:main:telegram:dm:ann", undefined],
    ["a group", owners, "agent:main:api:group:ann", undefined],
    ["a thread", owners, "agent:main:api:dm:ann:thread:1", undefined],
    ["a user whose name is reserved", owners, "agent:main:api:dm:app:shop/ann", undefined],
    ["no key", owners, "ann", undefined],
    ["a name that is too long", owners, `agent:main:api:dm:${"x".repeat(257)}`, undefined],
    ["a name at the limit", owners, `agent:main:api:dm:${"x".repeat(256)}`, "x".repeat(256)],
    ["a key that is written in another way", owners, "agent:main:api:dm: ann", undefined],
    ["a user of an application", shop, "agent:main:api:dm:ann", "app:shop/ann"],
    ["the user of an old token", oldAnn, "agent:main:api:dm:ann", "ann"],
    ["another user than that of an old token", oldAnn, "agent:main:api:dm:bob", undefined],
    ["a person's own name", ann, "agent:main:api:dm:ann", "person:ann"],
    ["another person's name", ann, "agent:main:api:dm:bob", undefined],
  ])("of %s is found or not", (_, principal, key, expected) => {
    expect(userOf(principal, key)).toBe(expected);
  });
});

describe("the person of a message", () => {
  it.each<[string, Principal, AgentDescriptor, string | undefined, string | undefined]>([
    ["the user of the conversation", owners, api("ann"), "ann", "api:ann"],
    ["someone else in it", owners, api("ann"), "bob", undefined],
    ["no one", owners, api("ann"), undefined, undefined],
    [
      "a user of another channel",
      owners,
      { type: "user", connector: "x", userId: "ann", channelId: "ann" },
      "ann",
      undefined,
    ],
    ["a user of a permanent conversation", owners, { type: "heartbeat" }, "ann", undefined],
    ["a reserved name", owners, api("person:ann"), "person:ann", undefined],
    ["another user than that of an old token", oldAnn, api("bob"), "bob", undefined],
  ])("from %s is %s", (_, principal, descriptor, sender, expected) => {
    expect(speaksInOwn(principal, { descriptor }, sender)?.person).toBe(expected);
  });
});

/** Conversations by kind, those that a change of scope leaves behind: tables. */
import { describe, expect, test } from "vitest";
import type { AgentDescriptor } from "./descriptor.ts";
import { isCanonicalName, linkedName } from "./identity-links.ts";
import { type LeftBehind, leftBehind, oneEach, type ScopeChange } from "./left-behind.ts";
import { chatKindOf, nextBoundary, staleBy } from "./session-freshness.ts";
import { sessionKeyOf } from "./session-key.ts";

const user = (more: object = {}): AgentDescriptor => ({
  type: "user",
  connector: "test",
  userId: "7",
  channelId: "7",
  ...more,
});

test.each<[AgentDescriptor, string, string]>([
  [user(), "agent:main:test:dm:7", "dm"],
  [user({ threadId: 3 }), "agent:main:test:dm:7", "thread"],
  [user(), "agent:main:test:group:7:thread:3", "thread"],
  [user({ peerKind: "group" }), "agent:main:x", "group"],
  [user({ peerKind: "channel" }), "agent:main:x", "group"],
  [user(), "agent:main:test:Group:7", "group"],
  [{ type: "heartbeat" }, "agent:main:heartbeat", "dm"],
])("the conversation %j with the key %s is a %s", (descriptor, key, kind) => {
  expect(chatKindOf(descriptor, key)).toBe(kind);
});

describe("the end of a session", () => {
  const at = (text: string): number => Date.parse(text);
  test("is the next hour of its zone, also asked twice and for an earlier time", () => {
    const [nine, ten] = [at("2026-01-05T09:00:00Z"), at("2026-01-05T10:00:00Z")];
    const four = at("2026-01-06T04:00:00Z");
    expect(nextBoundary(4, ten, "UTC")).toBe(four);
    expect(nextBoundary(4, nine, "UTC")).toBe(four);
    expect(nextBoundary(4, four, "UTC")).toBe(at("2026-01-07T04:00:00Z"));
    expect(nextBoundary(4, four - 1, "UTC")).toBe(four);
    expect(nextBoundary(4, at("2026-01-05T03:59:59Z"), "UTC")).toBe(at("2026-01-05T04:00:00Z"));
    expect(nextBoundary(4, ten, "Europe/Berlin")).toBe(at("2026-01-06T03:00:00Z"));
  });
  test("is the earlier of its limits", () => {
    const said = at("2026-01-05T03:30:00Z");
    const policy = { daily: { atHour: 4 }, idle: { minutes: 10 } };
    expect(staleBy(policy, said, said + 600_000, "UTC")).toBeUndefined();
    expect(staleBy(policy, said, said + 600_001, "UTC")).toBe("idle");
    expect(staleBy(policy, said, said + 3_600_000, "UTC")).toBe("idle");
    expect(staleBy({ ...policy, idle: { minutes: 30 } }, said, said + 3_600_000, "UTC")).toBe("daily");
    expect(staleBy({ daily: { atHour: 4 } }, said, said + 1_800_000, "UTC")).toBe("daily");
    expect(staleBy({}, said, said + 1e12, "UTC")).toBeUndefined();
    expect(staleBy(policy, undefined, said, "UTC")).toBeUndefined();
  });
});

describe("what a change of scope leaves behind", () => {
  const change = (more: Partial<ScopeChange> = {}): ScopeChange => ({
    ...{
      to: "per-peer",
      earlier: ["per-channel-peer"],
      ownerAccounts: ["test:olga"],
      links: {},
      people: {},
      carried: new Map(),
    },
    ...more,
  });
  const agent = (descriptor: AgentDescriptor, more: object = {}) =>
    ({
      ...{ id: "a", profile: "main", descriptor, person: "test:7", state: {}, lastHumanAt: 5 },
      sessionKey: sessionKeyOf(descriptor, "main", { dmScope: "per-channel-peer", ownerAccounts: ["test:olga"] }),
      ...more,
    }) as never;
  test.each<[string, AgentDescriptor, object, boolean]>([
    ["a direct conversation", user(), {}, true],
    ["a group", user({ peerKind: "group", channelId: "-1" }), {}, false],
    ["a schedule", { type: "cron", id: "j" }, {}, false],
    ["one that was removed", user(), { stopped: { removed: true } }, false],
    ["the owner's", user({ userId: "olga" }), {}, false],
    ["one with another key", user(), { sessionKey: "agent:main:other" }, false],
  ])("%s: %s", (_title, descriptor, more, is) => {
    expect(leftBehind(agent(descriptor, more), change()) !== undefined).toBe(is);
  });
  test("stays if others have spoken there, and not because its person or the owner has", () => {
    const stays = (speakers?: string[]) => leftBehind(agent(user(), { state: { speakers } }), change())?.stays;
    expect([stays(), stays(["test:7", "owner"]), stays(["test:7", "bob"])]).toEqual([undefined, undefined, "shared"]);
  });
  test("is not what was carried over, and links of people count for their scope only", () => {
    const one = leftBehind(agent(user()), change());
    expect(leftBehind(agent(user()), change({ carried: new Map([[one?.to ?? "", one?.from ?? ""]]) }))).toBeUndefined();
    const linked = leftBehind(agent(user()), change({ people: { ann: ["test:7"] } }));
    expect(linked?.to).toContain("ann");
  });
  test("is offered once for each key: the newest that can be", () => {
    const item = (id: string, lastHumanAt: number | undefined, stays?: "shared") =>
      ({ agentId: id, from: `f${id}`, to: "k", lastHumanAt, stays }) as unknown as LeftBehind;
    const why = (...items: LeftBehind[]) => oneEach(items).map(({ stays }) => stays);
    expect(why(item("a", 1), item("b", 2))).toEqual(["older", undefined]);
    expect(why(item("a", 2), item("b", 2))).toEqual([undefined, "older"]);
    expect(why(item("a", 1), item("b", 9, "shared"))).toEqual([undefined, "shared"]);
    expect(why(item("b", 9, "shared"), item("a", undefined))).toEqual(["shared", undefined]);
    expect(why(item("a", undefined), item("b", 1))).toEqual(["older", undefined]);
    expect(why(item("a", 0), item("b", undefined))).toEqual([undefined, "older"]);
  });
});

test("names of people are read without blanks, and blank ones are none", () => {
  expect(linkedName({ " ann ": [" Test:7 "] }, "TEST", "7")).toBe("ann");
  expect(linkedName({ " ": ["7"] }, "test", "7")).toBeUndefined();
  expect(linkedName({ ann: "7" as never, bob: [5 as never, "7"] }, "test", "7")).toBe("bob");
  expect(linkedName({ ann: ["7"] }, "test", " ")).toBeUndefined();
  expect(linkedName({ ann: [" ", "test:"] }, "test", " ")).toBeUndefined();
  expect([
    isCanonicalName({ " Ann": [] }, "ann"),
    isCanonicalName({}, "ann"),
    isCanonicalName(undefined, "ann"),
  ]).toEqual([true, false, false]);
});

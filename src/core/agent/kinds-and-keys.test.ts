/** Tables of conversations that a change of scope leaves behind, and of the names of linked people. */
import { describe, expect, test } from "vitest";
import type { AgentDescriptor } from "./descriptor.ts";
import { isCanonicalName, linkedName } from "./identity-links.ts";
import { type LeftBehind, leftBehind, oneEach, type ScopeChange } from "./left-behind.ts";
import { sessionKeyOf } from "./session-key.ts";

const user = (more: object = {}): AgentDescriptor => ({
  type: "user",
  connector: "test",
  userId: "7",
  channelId: "7",
  ...more,
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

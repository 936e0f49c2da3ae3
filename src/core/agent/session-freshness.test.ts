import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tries } from "../../../test/kit/share.ts";
import { parseResetCommand } from "../../engine/inbox/user-input.ts";
import { InvalidInputError } from "../errors.ts";
import { zonedFields, zonedInstant } from "../zoned-time.ts";
import type { AgentDescriptor } from "./descriptor.ts";
import {
  chatKindOf,
  isStale,
  type ResetConfig,
  type ResetPolicy,
  resetPolicyFor,
  staleBy,
} from "./session-freshness.ts";

type User = Extract<AgentDescriptor, { type: "user" }>;
const user = (about: Partial<User> = {}): AgentDescriptor => ({
  type: "user",
  connector: "telegram",
  userId: "7",
  channelId: "70",
  ...about,
});

describe("chatKindOf", () => {
  it.each([
    [user(), "agent:main:telegram:dm:7", "dm"],
    [user(), "agent:main:main", "dm"],
    [user({ peerKind: "group" }), "agent:main:telegram:group:70", "group"],
    [user({ peerKind: "channel" }), "agent:main:telegram:channel:70", "group"],
    [user({ peerKind: "group", threadId: 0 }), "agent:main:telegram:group:70:thread:0", "thread"],
    [user(), "agent:main:telegram:group:70:topic:5", "thread"],
    [user(), "agent:main:telegram:Group:70", "group"],
    [{ type: "heartbeat" } as const, "agent:main:heartbeat", "dm"],
  ])("%j under %s is a %s", (descriptor, key, kind) => {
    expect(chatKindOf(descriptor, key)).toBe(kind);
  });
});

describe("resetPolicyFor", () => {
  const daily = (atHour = 4): ResetPolicy => ({ daily: { atHour } });
  const idle = (minutes = 60): ResetPolicy => ({ idle: { minutes } });
  const dm = { descriptor: user(), sessionKey: "agent:main:telegram:dm:7" };
  const group = { descriptor: user({ peerKind: "group" }), sessionKey: "agent:main:telegram:group:70" };
  const table: readonly [string, typeof dm, ResetConfig | undefined, ResetPolicy][] = [
    ["without settings, daily at 4", dm, undefined, daily()],
    ["another hour", dm, { atHour: 6 }, daily(6)],
    ["an hour with a fraction", dm, { atHour: 6.9 }, daily(6)],
    ["an hour too large", dm, { atHour: 25 }, daily(23)],
    ["an hour too small", dm, { atHour: -1 }, daily(0)],
    ["an hour that is not a number", dm, { atHour: Number.NaN }, daily(4)],
    ["idle is 60 minutes", dm, { mode: "idle" }, idle()],
    ["idle with minutes", dm, { mode: "idle", idleMinutes: 30 }, idle(30)],
    ["idle of at least a minute", dm, { mode: "idle", idleMinutes: 0 }, idle(1)],
    ["daily with minutes is both", dm, { mode: "daily", idleMinutes: 30 }, { ...daily(), ...idle(30) }],
    ["minutes alone are both", dm, { idleMinutes: 30 }, { ...daily(), ...idle(30) }],
    ["both", dm, { mode: "both" }, { ...daily(), ...idle() }],
    ["off", dm, { mode: "off", idleMinutes: 5 }, {}],
    [
      "by type, before the general setting",
      group,
      { atHour: 6, byType: { group: { idleMinutes: 9 } } },
      { ...daily(6), ...idle(9) },
    ],
    ["by type, of another type", dm, { atHour: 6, byType: { group: { idleMinutes: 9 } } }, daily(6)],
    [
      "a mode by type uses the general minutes",
      group,
      { idleMinutes: 9, byType: { group: { mode: "idle" } } },
      idle(9),
    ],
    [
      "a mode by type is not combined with the general minutes",
      group,
      { mode: "idle", idleMinutes: 9, byType: { group: { mode: "daily" } } },
      daily(),
    ],
    ["off by type", group, { byType: { group: { mode: "off" } } }, {}],
    [
      "by channel, instead of all others",
      group,
      { atHour: 6, idleMinutes: 5, byType: { group: { atHour: 7 } }, byChannel: { Telegram: { mode: "idle" } } },
      idle(60),
    ],
    ["idle of whole minutes", dm, { mode: "idle", idleMinutes: 2.9 }, idle(2)],
    ["idle of minutes that are not a number", dm, { mode: "idle", idleMinutes: Number.NaN }, idle(60)],
    ["idle of endless minutes", dm, { mode: "idle", idleMinutes: Number.POSITIVE_INFINITY }, idle(60)],
    ["the last hour of a day", dm, { atHour: 23 }, daily(23)],
    ["the first hour of a day", dm, { atHour: 0 }, daily(0)],
    ["an hour by type", group, { atHour: 6, byType: { group: { atHour: 7 } } }, daily(7)],
    ["minutes by type", group, { idleMinutes: 5, byType: { group: { idleMinutes: 7 } } }, { ...daily(), ...idle(7) }],
    [
      "by a channel with blanks around its name",
      { ...dm, descriptor: user({ connector: " TELEGRAM " }) },
      { byChannel: { " telegram ": { mode: "idle" } } },
      idle(),
    ],
    ["by another channel", group, { atHour: 6, byChannel: { slack: { mode: "idle" } } }, daily(6)],
  ];
  it.each(table)("%s", (_, agent, config, expected) => {
    expect(resetPolicyFor(agent, config)).toEqual(expected);
  });

  it.each<AgentDescriptor>([
    { type: "cron", id: "c" },
    { type: "heartbeat" },
    { type: "system", tag: "t" },
    { type: "subagent", id: "s", parentAgentId: "p", name: "n" },
    { type: "swarm", id: "s", contact: "c" },
    { type: "permanent", id: "p", name: "n", description: "d", systemPrompt: "s" },
  ])("returns none for an agent that is not a conversation with a person: %j", (descriptor) => {
    expect(resetPolicyFor({ descriptor, sessionKey: "x" }, { mode: "both" })).toEqual({});
  });
});

const at = (text: string): number => Date.parse(text);

/** The first instant at which a session with a message at `after` is stale. */
function nextBoundary(hour: number, after: number, zone: string): number {
  let [fresh, stale] = [after, after + 25 * 3_600_000];
  while (stale - fresh > 1) {
    const middle = Math.floor((fresh + stale) / 2);
    if (isStale({ daily: { atHour: hour } }, after, middle, zone)) stale = middle;
    else fresh = middle;
  }
  expect(isStale({ daily: { atHour: hour } }, after, stale, zone)).toBe(true);
  return stale;
}

describe("a daily reset", () => {
  const table: readonly [string, string, string, string, boolean][] = [
    ["the same day", "UTC", "2026-01-05T04:00:00Z", "2026-01-06T03:59:59Z", false],
    ["at the hour", "UTC", "2026-01-05T04:00:00Z", "2026-01-06T04:00:00Z", true],
    ["a message at the hour belongs to the new day", "UTC", "2026-01-06T04:00:00Z", "2026-01-06T04:00:00Z", false],
    ["a moment before the hour", "UTC", "2026-01-06T03:59:59.999Z", "2026-01-06T04:00:00Z", true],
    ["midnight alone changes nothing", "UTC", "2026-01-05T23:59:00Z", "2026-01-06T00:01:00Z", false],
    ["in the morning after a late evening", "UTC", "2026-01-06T03:00:00Z", "2026-01-06T09:00:00Z", true],
    ["weeks later", "UTC", "2026-01-06T12:00:00Z", "2026-03-06T03:00:00Z", true],
    ["4:00 in Berlin, winter", "Europe/Berlin", "2026-01-06T02:59:00Z", "2026-01-06T03:00:00Z", true],
    ["4:00 UTC is no boundary in Berlin", "Europe/Berlin", "2026-01-06T03:30:00Z", "2026-01-06T04:30:00Z", false],
    ["4:00 in Berlin, summer", "Europe/Berlin", "2026-07-06T01:59:00Z", "2026-07-06T02:00:00Z", true],
    ["4:00 in New York", "America/New_York", "2026-01-06T08:59:00Z", "2026-01-06T09:00:00Z", true],
    ["4:00 in Kathmandu, +5:45", "Asia/Kathmandu", "2026-01-05T22:14:59Z", "2026-01-05T22:15:00Z", true],
    ["4:00 in Kiritimati, +14", "Pacific/Kiritimati", "2026-01-05T13:59:00Z", "2026-01-05T14:00:00Z", true],
    [
      "the day the clock is put forward is 23 hours long",
      "Europe/Berlin",
      "2026-03-28T03:00:00Z",
      "2026-03-29T01:59:00Z",
      false,
    ],
    ["the short day ends at 4:00 summer time", "Europe/Berlin", "2026-03-28T03:00:00Z", "2026-03-29T02:00:00Z", true],
    [
      "the day the clock is put back is 25 hours long",
      "Europe/Berlin",
      "2026-10-24T02:00:00Z",
      "2026-10-25T02:59:00Z",
      false,
    ],
    ["the long day ends at 4:00 winter time", "Europe/Berlin", "2026-10-24T02:00:00Z", "2026-10-25T03:00:00Z", true],
    ["a clock that went back", "UTC", "2026-01-06T04:00:00Z", "2026-01-05T04:00:00Z", false],
  ];
  it.each(table)("%s (%s)", (_, zone, last, now, stale) => {
    expect(isStale({ daily: { atHour: 4 } }, at(last), at(now), zone)).toBe(stale);
  });

  const hours: readonly [string, string, number, string, string][] = [
    [
      "a skipped hour becomes the moment of the jump",
      "Europe/Berlin",
      2,
      "2026-03-28T12:00:00Z",
      "2026-03-29T01:00:00Z",
    ],
    [
      "an hour that occurs twice counts the first time",
      "Europe/Berlin",
      2,
      "2026-10-24T12:00:00Z",
      "2026-10-25T00:00:00Z",
    ],
    ["it counts once that day", "Europe/Berlin", 2, "2026-10-25T00:00:00Z", "2026-10-26T01:00:00Z"],
    ["a skipped midnight", "Africa/Cairo", 0, "2026-04-23T12:00:00Z", "2026-04-23T22:00:00Z"],
    ["midnight", "UTC", 0, "2026-12-31T23:59:59Z", "2027-01-01T00:00:00Z"],
    ["the last hour", "UTC", 23, "2026-12-31T23:00:00Z", "2027-01-01T23:00:00Z"],
    ["a leap day", "UTC", 4, "2028-02-28T12:00:00Z", "2028-02-29T04:00:00Z"],
    ["half an hour of summer time", "Australia/Lord_Howe", 2, "2026-10-03T12:00:00Z", "2026-10-03T15:30:00Z"],
    ["a skipped day", "Pacific/Apia", 4, "2011-12-30T09:00:00Z", "2011-12-30T14:00:00Z"],
  ];
  it.each(hours)("%s (%s at %i)", (_, zone, hour, after, boundary) => {
    expect(new Date(nextBoundary(hour, at(after), zone)).toISOString()).toBe(new Date(at(boundary)).toISOString());
  });

  it("is found again for an earlier message, the next day and in another zone", () => {
    const [nine, ten] = [at("2026-01-05T09:00:00Z"), at("2026-01-05T10:00:00Z")];
    const four = at("2026-01-06T04:00:00Z");
    expect(nextBoundary(4, ten, "UTC")).toBe(four);
    expect(nextBoundary(4, nine, "UTC")).toBe(four);
    expect(nextBoundary(4, four, "UTC")).toBe(at("2026-01-07T04:00:00Z"));
    expect(nextBoundary(4, four - 1, "UTC")).toBe(four);
    expect(nextBoundary(4, at("2026-01-05T03:59:59Z"), "UTC")).toBe(at("2026-01-05T04:00:00Z"));
    expect(nextBoundary(4, ten, "Europe/Berlin")).toBe(at("2026-01-06T03:00:00Z"));
  });

  it("comes once a day in every zone, at the hour or at the jump that skips it", () => {
    const zones = fc.constantFrom(
      "UTC",
      "Europe/Berlin",
      "America/New_York",
      "Australia/Lord_Howe",
      "Africa/Cairo",
      "America/Santiago",
      "Asia/Kathmandu",
    );
    const instant = fc.integer({ min: at("2020-01-01T00:00:00Z"), max: at("2030-01-01T00:00:00Z") });
    fc.assert(
      fc.property(zones, instant, fc.integer({ min: 0, max: 23 }), (zone, after, hour) => {
        const boundary = nextBoundary(hour, after, zone);
        const { hour: shown, minute, second, year, month, day } = zonedFields(boundary, zone);
        expect([hour, hour + 1]).toContain(shown);
        expect([0, 30]).toContain(minute);
        expect(second).toBe(0);
        expect(zonedInstant(year, month, day, hour, zone)).toBe(boundary);
      }),
      { numRuns: tries(300) },
    );
  });

  it("reports an unknown zone", () => {
    expect(() => isStale({ daily: { atHour: 4 } }, 0, 1, "Mars/Olympus")).toThrow(InvalidInputError);
  });
});

describe("an idle reset", () => {
  const minute = 60_000;
  it.each([
    [0, false],
    [59 * minute, false],
    [60 * minute, false],
    [60 * minute + 1, true],
  ])("after %i ms of silence: %j", (silence, stale) => {
    const last = at("2026-01-05T23:30:00Z");
    expect(isStale({ idle: { minutes: 60 } }, last, last + silence, "UTC")).toBe(stale);
  });
});

describe("daily and idle reset together", () => {
  const policy: ResetPolicy = { daily: { atHour: 4 }, idle: { minutes: 60 } };
  it.each([
    ["neither", "2026-01-06T10:00:00Z", "2026-01-06T10:30:00Z", undefined],
    ["idle alone", "2026-01-06T10:00:00Z", "2026-01-06T11:30:00Z", "idle"],
    ["daily alone", "2026-01-06T03:30:00Z", "2026-01-06T04:10:00Z", "daily"],
    ["both, daily first", "2026-01-06T03:30:00Z", "2026-01-06T09:00:00Z", "daily"],
    ["both, idle first", "2026-01-06T02:30:00Z", "2026-01-06T09:00:00Z", "idle"],
    ["both at the same moment", "2026-01-06T03:00:00Z", "2026-01-06T04:00:01Z", "daily"],
  ])("%s", (_, last, now, by) => {
    expect(staleBy(policy, at(last), at(now), "UTC")).toBe(by);
  });

  it("never apply if no person ever wrote or if no reset is configured", () => {
    expect(staleBy(policy, undefined, at("2030-01-01T00:00:00Z"), "UTC")).toBeUndefined();
    expect(staleBy({}, 0, at("2030-01-01T00:00:00Z"), "UTC")).toBeUndefined();
  });
});

describe("parseResetCommand", () => {
  const table: readonly [
    string,
    readonly string[] | undefined,
    readonly string[],
    ReturnType<typeof parseResetCommand>,
  ][] = [
    ["/new", undefined, [], { trigger: "/new" }],
    ["/reset", undefined, [], { trigger: "/reset" }],
    ["  /RESET  ", undefined, [], { trigger: "/reset" }],
    ["/New Let us talk about Crows", undefined, [], { trigger: "/new", text: "Let us talk about Crows" }],
    ["/reset\nfirst line\nSecond", undefined, [], { trigger: "/reset", text: "first line\nSecond" }],
    ["/newspaper", undefined, [], undefined],
    ["/new.", undefined, [], undefined],
    ["please /new", undefined, [], undefined],
    ["new", undefined, [], undefined],
    ["", undefined, [], undefined],
    ["Neu bitte", ["neu"], [], { trigger: "neu", text: "bitte" }],
    ["/new", ["neu"], [], undefined],
    ["/new", ["", " "], [], undefined],
    ["@Rook /new Hello", undefined, ["@rook"], { trigger: "/new", text: "Hello" }],
    ["@rook, /new", undefined, ["rook"], { trigger: "/new" }],
    ["/new@Rook Hello", undefined, ["@rook"], { trigger: "/new", text: "Hello" }],
    ["/new@other Hello", undefined, ["@rook"], undefined],
    ["@other /new", undefined, ["@rook"], undefined],
    ["@rook /new", undefined, [], undefined],
  ];
  it.each(table)("%j with %j and mentions %j", (text, triggers, mentions, expected) => {
    expect(parseResetCommand(text, triggers, mentions)).toEqual(expected);
  });
});

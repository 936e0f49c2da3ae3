import { describe, expect, test } from "vitest";
import { apiMailbox, OWNER_MAILBOX, personAddress, routed, routeOf } from "./route.ts";

const routes = { connected: (channel: string) => channel === "telegram" };

describe("routeOf", () => {
  test.each([
    ["a connected channel sends", { channel: "telegram", to: "7", threadId: 3 }, "pending", undefined],
    [
      "a channel without its connector waits for a route",
      { channel: "irc", to: "7" },
      "unroutable",
      'no connector "irc"',
    ],
    ["a person without a route", personAddress("ann"), "unroutable", "no route to ann"],
    ["no channel", { to: "7" }, "unroutable", "no recipient"],
    ["no recipient", { channel: "telegram" }, "unroutable", "no recipient"],
    ["a user of the API reads a mailbox", apiMailbox("bob"), "waiting-reader", undefined],
    ["the owner reads a mailbox", OWNER_MAILBOX, "waiting-reader", undefined],
    ["a terminal is a mailbox", { channel: "terminal", to: "owner" }, "waiting-reader", undefined],
  ])("%s", (_title, target, state, reason) => {
    expect(routeOf(target, routes)).toEqual({ state, target, reason });
  });

  test("a mailbox belongs to the person, not to a thread", () => {
    expect(routeOf({ channel: "api", accountId: "a", to: "bob", threadId: 4 }, routes)).toEqual({
      state: "waiting-reader",
      target: { channel: "api", accountId: "a", to: "bob" },
    });
  });

  test("a connector of the name of a mailbox sends", () => {
    const target = { channel: "api", to: "bob", threadId: 4 };
    expect(routeOf(target, { connected: () => true })).toEqual({ state: "pending", target });
  });

  test("a connector that takes over decides by its own address", () => {
    const target = { channel: "telegram", to: "9" };
    const takenOver = ({ to }: { to?: string }) => (to === "7" ? target : undefined);
    expect(routeOf({ channel: "irc", to: "7" }, { ...routes, takenOver })).toEqual({ state: "pending", target });
    expect(routeOf({ channel: "irc", to: "8" }, { ...routes, takenOver })).toMatchObject({ state: "unroutable" });
  });
});

test("a new delivery waits for its reader or its route, or is sent", () => {
  const target = { channel: "c", to: "t" };
  expect(routed({ state: "pending", target })).toEqual({ target });
  expect(routed({ state: "unroutable", target, reason: "why" })).toEqual({
    target,
    waits: { state: "unroutable", reason: "why" },
  });
});

import { describe, expect, test } from "vitest";
import type { DeliveryContext } from "../../../core/delivery/delivery.ts";
import type { Connector, OutgoingDelivery } from "../../../core/ports/connector.ts";
import type { AccountsConnector } from "../accounts/accounts-connector.ts";
import { bothWebhooks } from "./both-webhooks.ts";

const programs = {
  ...{ name: "webhook", isRemote: () => true, admit: () => 7, view: () => "view of a program" },
  send: async () => ({ status: "sent", receipt: "a program" }),
  takesOver: () => undefined,
} as unknown as AccountsConnector;
const mailboxes = {
  ...{ name: "webhook", takesOver: () => ({ channel: "webhook", accountId: "app", to: "ann" }) },
  send: async () => ({ status: "sent", receipt: "a mailbox" }),
} as unknown as Connector;
const APP: DeliveryContext = { channel: "webhook", accountId: "app", to: "ann" };
const DOOR: DeliveryContext = { channel: "webhook", accountId: "door", to: "ann" };
const isMailbox = ({ accountId }: DeliveryContext): boolean => accountId === "app";

describe("an address of the channel webhook", () => {
  const both = bothWebhooks(programs, mailboxes, isMailbox);

  test.each([
    ["that gets what would wait in a mailbox", APP, ["a mailbox", 0, false, undefined]],
    ["of a program", DOOR, ["a program", 7, true, "view of a program"]],
  ])("%s is served by its own connector", async (_, target, expected) => {
    const delivery = { id: "d.0", target, payload: {} } as OutgoingDelivery;
    const sent = await both.send(delivery, new AbortController().signal);
    expect([
      "receipt" in sent && sent.receipt,
      both.admit?.(target),
      both.isRemote?.(target),
      both.view?.(target, {} as never),
    ]).toEqual(expected);
  });

  test("of no one in particular runs here, and mailboxes take over", () => {
    expect(both.isRemote?.()).toBe(false);
    expect(both.takesOver?.({ channel: "api", to: "ann" }, "main")).toEqual(APP);
  });

  test("of a mailbox waits as long as that connector says", () => {
    const slow = bothWebhooks(programs, { ...mailboxes, admit: () => 3 }, isMailbox);
    expect([slow.admit?.(APP), slow.admit?.(DOOR)]).toEqual([3, 7]);
  });
});

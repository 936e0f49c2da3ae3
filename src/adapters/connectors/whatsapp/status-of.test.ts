/** What the platform says later of our messages: which delivery and attempt it is about, and how that ended. */
import { describe, expect, it } from "vitest";
import { readBody } from "./read-event.ts";
import { callbackOf, statusOf } from "./status-of.ts";

const eventsOf = (value: object) =>
  readBody({
    object: "whatsapp_business_account",
    entry: [{ changes: [{ field: "messages", value: { metadata: { phone_number_id: "1" }, ...value } }] }],
  }).flatMap(({ events }) => events);

it.each([{ deliveryId: "d.0", attempt: 3 }, { deliveryId: "d#7", attempt: 1 }, { deliveryId: "d.0" }])(
  "what a message carries names its delivery and attempt again: %j",
  ({ deliveryId, attempt }) => {
    const given = statusOf(callbackOf({ id: deliveryId as never, attempt }));
    expect([given.deliveryId, given.attempt]).toEqual([deliveryId, attempt]);
  },
);

describe("a status", () => {
  const status = (more: object) =>
    eventsOf({ statuses: [{ id: "w", biz_opaque_callback_data: "d.0#2", recipient_id: "49", ...more }] })[0];

  it.each(["sent", "delivered", "read", "played"])("%s says that the message arrived", (now) => {
    expect(status({ status: now })).toEqual({
      ...{ id: `w/${now}`, chat: "49" },
      read: { kind: "status", deliveryId: "d.0", attempt: 2, receipt: "w", chatId: "49", status: "arrived" },
    });
  });

  it.each([
    [[{ code: 131_047, title: "Re-engage", error_data: { details: "24 hours" } }], 131_047, "131047: 24 hours"],
    [[{ code: 131_026, title: "Undeliverable" }, { code: 1 }], 131_026, "131026: Undeliverable"],
    [[{ code: "x" }], undefined, "?: no reason given"],
    [undefined, undefined, "?: no reason given"],
  ])("that it failed says why: %j", (errors, code, reason) => {
    expect(status({ status: "failed", errors })?.read).toMatchObject({
      kind: "status",
      status: "failed",
      code,
      reason,
    });
  });

  it.each([
    ["without what we sent with it", { status: "read", biz_opaque_callback_data: undefined }, "not of a delivery"],
    ["with an empty text of ours", { status: "read", biz_opaque_callback_data: "" }, "not of a delivery"],
    ["that is new", { status: "warned" }, "a status that is not known: warned"],
    ["without an id", { status: "read", id: undefined }, "malformed: a message without its id"],
  ])("%s is passed over", (_, more, reason) => {
    expect(status(more)?.read).toEqual({ kind: "ignored", reason });
  });

  it.each([
    ["d.0#2", { deliveryId: "d.0", attempt: 2 }],
    ["d.0", { deliveryId: "d.0" }],
    ["d#1#12", { deliveryId: "d#1", attempt: 12 }],
    ["d.0#", { deliveryId: "d.0#" }],
    ["d.0#1234567890", { deliveryId: "d.0#1234567890" }],
  ])("with %s names its delivery and attempt", (ours, expected) => {
    expect(status({ status: "sent", biz_opaque_callback_data: ours })?.read).toEqual({
      ...{ kind: "status", receipt: "w", chatId: "49", status: "arrived", ...expected },
    });
  });

  it("of an unknown recipient is of no chat", () => {
    expect(status({ status: "sent", recipient_id: undefined })).toMatchObject({ chat: "", read: { chatId: "" } });
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readBody } from "./read-event.ts";

const bodyOf = (value: object) => ({
  object: "whatsapp_business_account",
  entry: [
    {
      changes: [
        { field: "messages", value: { metadata: { phone_number_id: "1", display_phone_number: "1 555" }, ...value } },
      ],
    },
  ],
});
const text = (id: string, more: object = {}) => ({
  from: "49",
  id,
  timestamp: "10",
  type: "text",
  text: { body: "hi" },
  ...more,
});
const FRAME = { object: "whatsapp_business_account" };
const VALUE = { metadata: { phone_number_id: "1" }, messages: [text("a")] };
const eventsOf = (value: object) => readBody(bodyOf(value)).flatMap(({ events }) => events);
const readOne = (message: object) => eventsOf({ messages: [message] })[0]?.read;

describe("a webhook", () => {
  it("has its messages and statuses in order", () => {
    const statuses = [{ id: "w", status: "read", biz_opaque_callback_data: "d.0", recipient_id: "49" }];
    const read = eventsOf({ messages: [text("a"), text("b")], statuses });
    expect(read.map(({ id, chat }) => [id, chat])).toEqual([
      ["a", "49"],
      ["b", "49"],
      ["w/read", "49"],
    ]);
    expect(read[2]?.read).toMatchObject({ kind: "status", deliveryId: "d.0", status: "arrived" });
  });

  it("gives two edits in one second two revisions, and the same edit the same one", () => {
    const edit = (id: string) =>
      readOne(
        text(id, { type: "edit", edit: { original_message_id: "o", message: { type: "text", text: { body: id } } } }),
      ) as {
        revision: number;
        messageId: string;
      };
    expect(edit("e1")).toEqual(edit("e1"));
    expect(edit("e1").messageId).toBe("o");
    expect(edit("e1").revision).not.toBe(edit("e2").revision);
    expect(Number.isSafeInteger(edit("e1").revision)).toBe(true);
  });

  it.each([
    ["no sender", { from: undefined }],
    ["a time that is none", { timestamp: "soon" }],
    ["a text that is none", { text: { body: 7 } }],
    ["an id with spaces", { id: "a b" }],
  ])("skips a message with %s and keeps the others", (_, more) => {
    const read = eventsOf({ messages: [text("a", more), text("b")] }).map((one) => one.read);
    expect(read).toMatchObject([
      { kind: "ignored", reason: expect.stringContaining("malformed") },
      { kind: "message" },
    ]);
  });

  it("knows a person who hides the number by the id of the business, and a group by its own", () => {
    expect(readOne(text("a", { from: undefined, from_user_id: "US.1" }))).toMatchObject({
      userId: "US.1",
      chatId: "US.1",
    });
    expect(readOne(text("a", { group_id: "g1" }))).toMatchObject({
      userId: "49",
      chatId: "g1",
      isGroup: true,
      addressed: false,
    });
    const named = readOne(text("a", { group_id: "g1", text: { body: "@1555 look" } }));
    expect(named).toMatchObject({ addressed: true });
  });

  it.each([
    ["no body", undefined],
    ["another object", { ...bodyOf({ messages: [text("a")] }), object: "page" }],
    ["another field", { ...FRAME, entry: [{ changes: [{ field: "account_update", value: VALUE }] }] }],
    [
      "no number of ours",
      { ...FRAME, entry: [{ changes: [{ field: "messages", value: { messages: [text("a")] } }] }] },
    ],
  ])("with %s has no events", (_, body) => {
    expect(readBody(body)).toEqual([]);
  });

  it("has every value of every entry, each with its own number", () => {
    const change = (id: string) => ({
      field: "messages",
      value: { metadata: { phone_number_id: id, display_phone_number: `+${id} 5` }, messages: [text(`m${id}`)] },
    });
    const body = { ...FRAME, entry: [{ changes: [change("1"), change("2")] }, {}, { changes: [change("3")] }] };
    expect(readBody(body).map((one) => [one.phoneNumberId, one.ourNumber, one.events[0]?.id])).toEqual([
      ["1", "15", "m1"],
      ["2", "25", "m2"],
      ["3", "35", "m3"],
    ]);
  });
});

describe("a message", () => {
  const contacts = [
    { wa_id: "48", profile: { name: "Bob" } },
    { wa_id: "49", user_id: "DE.7", profile: { name: " Ann \n Lee " } },
    { user_id: "US.1", profile: { name: "Eve" } },
  ];
  const nameOf = (message: object, people: readonly object[]) =>
    (eventsOf({ messages: [message], contacts: people })[0]?.read as { userName: string } | undefined)?.userName;

  it.each([
    ["of a number has the name of that number", { from: "49" }, contacts, "Ann Lee"],
    ["of a hidden number has the name of its id", { from: undefined, from_user_id: "US.1" }, contacts, "Eve"],
    ["of both has the name of the number", { from: "48", from_user_id: "US.1" }, contacts, "Bob"],
    ["whose person is not among several has its number", { from: "50" }, contacts, "50"],
    ["whose person is not named as it is has the only name", { from: "50" }, contacts.slice(0, 1), "Bob"],
    ["without names has its number", { from: "50" }, [], "50"],
    ["with an empty name has its number", { from: "50" }, [{ wa_id: "50", profile: { name: " " } }], "50"],
  ])("%s", (_, more, people, expected) => {
    expect(nameOf(text("a", more), people)).toBe(expected);
  });

  it.each([
    ["seconds as text", "10", 10_000],
    ["seconds as a number", 10, 10_000],
    ["the beginning of time", "0", 0],
    ["the last second", "99999999999", 99_999_999_999_000],
  ])("was sent at %s", (_, timestamp, sentAt) => {
    expect(readOne(text("a", { timestamp }))).toMatchObject({ kind: "message", sentAt });
  });

  it.each([
    ["no id", { id: undefined }],
    ["an empty id", { id: "" }],
    ["a long id", { id: "x".repeat(251) }],
    ["a sender that is a number", { from: 49 }],
    ["an empty group", { group_id: "" }],
    ["a time before all time", { timestamp: -1 }],
    ["a time with a part of a second", { timestamp: 1.5 }],
    ["a time after all time", { timestamp: 1e11 + 1 }],
    ["a reaction to nothing", { type: "reaction", reaction: { emoji: "👍" } }],
    ["a deletion of nothing", { type: "revoke" }],
    ["a change of nothing", { type: "edit", edit: { message: { type: "text", text: { body: "x" } } } }],
    ["a file without its id", { type: "image", image: {} }],
  ])("with %s is malformed", (_, more) => {
    expect(readOne(text("a", more))).toMatchObject({
      kind: "ignored",
      reason: expect.stringMatching(/^malformed: a (?:message|file) without/u),
    });
  });

  it.each([
    ["an id of 250 characters", { id: "x".repeat(250) }, { kind: "message" }],
    ["a group of none", { group_id: null }, { isGroup: false, chatId: "49", addressed: true }],
    ["a notice of the channel", { type: "system" }, { kind: "ignored", reason: "a notice of the channel" }],
    ["a forward", { context: { forwarded: true } }, { forwarded: "", replyTo: undefined }],
    ["a chain letter", { context: { frequently_forwarded: true } }, { forwarded: "" }],
    ["no forward", { context: { forwarded: "yes" } }, { forwarded: undefined }],
  ])("with %s", (_, more, expected) => {
    expect(readOne(text("a", more))).toMatchObject(expected);
  });

  it("that reacts names what it reacts to, and itself by its own id", () => {
    const reaction = (more: object) =>
      readOne(text("r1", { type: "reaction", reaction: { message_id: "m1", ...more } }));
    expect(reaction({ emoji: "👍" })).toEqual({
      ...{ kind: "reaction", chatId: "49", isGroup: false, userId: "49", userName: "49" },
      ...{ messageId: "m1", reactionId: "r1", emoji: "👍", sentAt: 10_000 },
    });
    for (const emoji of ["", undefined]) expect(reaction({ emoji })).toMatchObject({ kind: "ignored" });
  });

  it("that deletes names what it deletes, and itself by its own id", () => {
    const revoke = { original_message_id: "m1" };
    expect(readOne(text("v1", { type: "revoke", revoke }))).toMatchObject({
      ...{ kind: "revoke", messageId: "m1", revokeId: "v1", sentAt: 10_000 },
    });
  });

  it("that is changed later has a larger revision", () => {
    const edit = { original_message_id: "o", message: { type: "text", text: { body: "x" } } };
    const at = (timestamp: string) =>
      (readOne(text("e", { type: "edit", edit, timestamp })) as { revision: number }).revision;
    expect(at("11")).toBeGreaterThan(at("10"));
    expect(readOne(text("a"))).toMatchObject({ revision: undefined });
  });
});

describe("a press", () => {
  it.each([
    ["of a button of a template", { type: "button", button: { payload: "t1", text: "Yes" } }, "t1"],
    ["of a button", { type: "interactive", interactive: { button_reply: { id: "t2", title: "Yes" } } }, "t2"],
    ["of a row", { type: "interactive", interactive: { list_reply: { id: "t3", title: "Yes" } } }, "t3"],
    ["with a long token", { type: "button", button: { payload: "x".repeat(65) } }, "x".repeat(64)],
  ])("%s gives back what it was sent with", (_, more, data) => {
    expect(readOne(text("p", more))).toEqual({
      ...{ kind: "press", chatId: "49", isGroup: false, userId: "49", userName: "49", messageId: "p", data },
    });
  });

  it.each([
    [
      "a form",
      { type: "interactive", interactive: { type: "nfm_reply", nfm_reply: { name: "f", response_json: "{}" } } },
    ],
    ["an empty token", { type: "interactive", interactive: { type: "x", button_reply: { id: "" } } }],
    ["no token", { type: "button", button: { payload: 7 } }],
  ])("with %s is a message", (_, more) => {
    expect(readOne(text("p", more))).toMatchObject({ kind: "message", messageId: "p" });
  });
});

describe("an answer", () => {
  const quoted = (context: object, more: object = {}) =>
    readOne(text("a", { context, ...more })) as { replyTo?: object; addressed: boolean };

  it("names the message and who wrote it", () => {
    expect(quoted({ id: "m1", from: "48" }).replyTo).toEqual({
      ...{ messageId: "m1", typed: false, userId: "48", userName: "48", text: "", isOurs: false },
    });
    expect(quoted({ id: "m1" }).replyTo).toMatchObject({ userId: undefined, userName: "someone", isOurs: false });
  });

  it.each([
    ["to us speaks to us", { id: "m1", from: "1555" }, true],
    ["to us, as people write our number, speaks to us", { id: "m1", from: "+1 555" }, true],
    ["to someone else does not", { id: "m1", from: "48" }, false],
    ["to no one who is named does not", { id: "m1" }, false],
    ["without a message does not", { id: "", from: "1555" }, false],
    ["to a message with spaces in its id does not", { id: "m 1", from: "1555" }, false],
  ])("in a group %s", (_, context, addressed) => {
    expect(quoted(context, { group_id: "g" }).addressed).toBe(addressed);
  });

  it("in a group is not to us as long as our number is not known", () => {
    const value = {
      metadata: { phone_number_id: "1" },
      messages: [
        text("a", { group_id: "g", context: { id: "m", from: "x" } }),
        text("b", { group_id: "g", text: { body: "mail me @ home" } }),
      ],
    };
    const read = eventsOf(value).map((one) => one.read);
    expect(read).toMatchObject([{ addressed: false, replyTo: { isOurs: false } }, { addressed: false }]);
  });
});

describe("a webhook of any form", () => {
  it("is read whatever it is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (body, value, message) => {
        readBody(body);
        readBody(bodyOf(Object(value) as object));
        eventsOf({ messages: [message, text("a", Object(message) as object)], contacts: value, statuses: [message] });
      }),
    );
  });
});

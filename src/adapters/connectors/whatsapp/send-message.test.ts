/** One delivery over the Cloud API: what is asked of the server, and how each answer counts. A refusal is never a second message. */
import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../app/testing/clock.ts";
import type { Payload } from "../../../core/delivery/delivery.ts";
import type { ChannelCall } from "../chat/channel-call.ts";
import { sendRates } from "../chat/send-rates.ts";
import { closedWindows } from "./closed-windows.ts";
import type { GraphApi } from "./graph-api.ts";
import { isGroupChat } from "./message-body.ts";
import { CLOSED_TEXT, type Sender, sendDelivery, WINDOW_CLOSED } from "./send-message.ts";

const TEMPLATE = { name: "news", language: "en" };
const OK = { status: "ok", result: "wamid.1" } as const;
const refusal = (code: number, retryAfterMs?: number) =>
  ({ status: "refused", code, reason: `${code}: no`, retryAfterMs }) as const;

function world(answers: readonly ChannelCall<string>[] = [], more: Partial<Sender> = {}) {
  const clock = virtualClock();
  const bodies: Record<string, unknown>[] = [];
  const problems: string[] = [];
  const forgotten: string[] = [];
  const windows = closedWindows({} as never);
  const rates = sendRates(clock, { perChatMs: 1, groupPerMinute: 60, perSecond: 1_000, isGroup: isGroupChat });
  const sender: Sender = {
    api: {
      phoneNumberId: "10",
      message: async (body: Record<string, unknown>) => {
        bodies.push(body);
        return answers[bodies.length - 1] ?? OK;
      },
    } as unknown as GraphApi,
    ...{ rates, windows, onProblem: (text: string) => problems.push(text) },
    uploads: {
      upload: async () => ({ status: "ok", mediaId: "m1", kind: { type: "image", limit: 1 } }),
      forget: ({ id }) => void forgotten.push(id),
    },
    ...more,
  };
  const send = async (payload: Payload, to = "49") => {
    let isOver = false;
    const delivery = { id: "d.0" as never, attempt: 2, target: { channel: "whatsapp", to }, payload };
    const sending = sendDelivery(sender, delivery, new AbortController().signal).finally(() => {
      isOver = true;
    });
    while (!isOver) await clock.advance(1, () => new Promise((resolve) => setImmediate(resolve)));
    return sending;
  };
  return { send, bodies, problems, forgotten, windows, rates, clock };
}

const FILE = { id: "file_1", name: "a.png", mimeType: "image/png", size: 1 } as const;

describe("a delivery", () => {
  it("carries its id and attempt, so that a status names it", async () => {
    const { send, bodies } = world();
    expect(await send({ text: "**hi**", replyToId: "m0" })).toEqual({ status: "sent", receipt: "wamid.1" });
    expect(bodies).toEqual([
      {
        ...{ recipient_type: "individual", to: "49", biz_opaque_callback_data: "d.0#2", type: "text" },
        text: { body: "*hi*" },
      },
    ]);
  });

  it("in a group names the message that it answers", async () => {
    const { send, bodies } = world();
    await send({ text: "hi", replyToId: "m0" }, "group-1");
    await send({ text: "hi" }, "group-1");
    expect(bodies.map(({ context }) => context)).toEqual([{ message_id: "m0" }, undefined]);
  });

  test.each<[string, Payload, object]>([
    ["buttons", { text: "?", buttons: [{ label: "a", token: "t" }] }, { type: "interactive" }],
    ["no buttons in its list", { text: "?", buttons: [] }, { type: "text" }],
    [
      "a reaction",
      { action: { do: "react", messageId: "m1", emoji: "🎉" } },
      { reaction: { message_id: "m1", emoji: "🎉" } },
    ],
    [
      "a reaction without a sign",
      { action: { do: "react", messageId: "m1" } },
      { reaction: { message_id: "m1", emoji: "👍" } },
    ],
    ["a file", { files: [FILE], text: "look" }, { type: "image", image: { id: "m1", caption: "look" } }],
  ])("with %s", async (_, payload, expected) => {
    const { send, bodies } = world();
    expect((await send(payload)).status).toBe("sent");
    expect(bodies).toMatchObject([expected]);
  });

  test.each<[string, Payload, true | undefined]>([
    ["an edit", { text: "x", action: { do: "edit", messageId: "m1" } }, true],
    ["a deletion", { action: { do: "delete", messageId: "m1" } }, true],
    ["only spaces", { text: " \n" }, undefined],
    ["nothing", {}, undefined],
  ])("with %s is refused, and nothing is sent", async (_, payload, tell) => {
    const { send, bodies } = world();
    const result = await send(payload);
    expect([result.status, "tell" in result ? result.tell : undefined]).toEqual(["refused", tell]);
    expect(bodies).toEqual([]);
  });

  test.each<[string, ChannelCall<string>, object]>([
    ["an unknown outcome", { status: "unknown", reason: "cut" }, { status: "unknown", reason: "cut" }],
    ["a call that never left", { status: "not-sent", reason: "away" }, { status: "retry", reason: "away" }],
    ["a refusal for good", refusal(131_026), { status: "refused", reason: "131026: no", tell: true }],
    ["too much at once", refusal(130_429), { status: "retry", reason: "130429: no", afterMs: 5_000 }],
    ["too much of the app", refusal(4), { status: "retry", reason: "4: no", afterMs: 5_000 }],
    ["too much to this person", refusal(131_056), { status: "retry", reason: "131056: no", afterMs: 12_000 }],
    ["a pause that is asked for", refusal(80_007, 7_000), { status: "retry", reason: "80007: no", afterMs: 7_000 }],
  ])("with %s is one call", async (_, answer, expected) => {
    const { send, bodies, problems } = world([answer]);
    expect(await send({ text: "hi" })).toEqual(expected);
    expect([bodies.length, problems]).toEqual([1, []]);
  });

  test.each([0, 3, 10, 190, 368, 401, 131_005, 131_031, 131_042, 133_010])(
    "that is refused because of the account (%i) waits, and the health says so",
    async (code) => {
      const { send, problems } = world([refusal(code)]);
      expect(await send({ text: "hi" })).toEqual({ status: "retry", reason: `${code}: no`, afterMs: 60_000 });
      expect(problems).toEqual([`${code}: no`]);
    },
  );

  test.each([
    ["everyone", 130_429, 5_000, 5_000],
    ["this person only", 131_056, 12_000, 0],
  ])("too much at once holds up %s", async (_, code, here, elsewhere) => {
    const { send, rates } = world([refusal(code)]);
    await send({ text: "hi" });
    expect([rates.admit("a", "49"), rates.admit("b", "48")]).toEqual([here, elsewhere]);
  });
});

describe("a file", () => {
  test.each<[string, object, object]>([
    ["still on its way", { status: "later", reason: "wait" }, { status: "retry", reason: "wait" }],
    [
      "that cannot be sent",
      { status: "impossible", reason: "gone" },
      { status: "refused", reason: "gone", tell: true },
    ],
    [
      "of a type that is refused",
      refusal(100),
      { status: "refused", reason: "WhatsApp does not take the file a.png (image/png): 100: no", tell: true },
    ],
    ["refused for now", refusal(130_429), { status: "retry", afterMs: 5_000 }],
  ])("%s is not sent", async (_, upload, expected) => {
    const { send, bodies } = world([], { uploads: { upload: async () => upload as never, forget() {} } });
    expect(await send({ files: [FILE] })).toMatchObject(expected);
    expect(bodies).toEqual([]);
  });

  test.each<[string, ChannelCall<string>, readonly string[]]>([
    ["refused", refusal(131_053), ["file_1"]],
    ["sent", OK, []],
    ["perhaps sent", { status: "unknown", reason: "cut" }, []],
  ])("whose message was %s is uploaded again only if it was refused", async (_, answer, expected) => {
    const { send, forgotten } = world([answer]);
    await send({ files: [FILE] });
    expect(forgotten).toEqual(expected);
  });
});

describe("after 24 hours", () => {
  it("a text is sent as the template of the number, once, and the next one at once", async () => {
    const { send, bodies } = world([refusal(WINDOW_CLOSED)], { template: TEMPLATE });
    expect(await send({ text: "news" })).toEqual({ status: "sent", receipt: "wamid.1" });
    expect(await send({ text: "more news" })).toMatchObject({ status: "sent" });
    expect(bodies.map(({ type, biz_opaque_callback_data: ours }) => [type, ours])).toEqual([
      ["text", "d.0#2"],
      ["template", "d.0#2"],
      ["template", "d.0#2"],
    ]);
  });

  it("a text without a template is refused, and the agent reads why", async () => {
    const { send, bodies, windows } = world([refusal(WINDOW_CLOSED)]);
    expect(await send({ text: "news" })).toEqual({ status: "refused", reason: CLOSED_TEXT, tell: true });
    expect([bodies.length, windows.isClosed("10", "49"), windows.isClosed("10", "48")]).toEqual([1, true, false]);
  });

  it("a template that is refused ends the delivery", async () => {
    const { send, bodies } = world([refusal(WINDOW_CLOSED), refusal(132_001)], { template: TEMPLATE });
    expect(await send({ text: "news" })).toEqual({ status: "refused", reason: "132001: no", tell: true });
    expect(bodies).toHaveLength(2);
  });

  test.each<[string, Payload]>([
    ["a file", { files: [FILE], text: "look" }],
    ["choices", { text: "?", buttons: [{ label: "a", token: "t" }] }],
    ["a reaction", { action: { do: "react", messageId: "m1" } }],
  ])("%s is never a template", async (_, payload) => {
    const { send, bodies } = world([refusal(WINDOW_CLOSED)], { template: TEMPLATE });
    expect(await send(payload)).toMatchObject({ status: "refused", reason: CLOSED_TEXT });
    expect(bodies.map(({ type }) => type)).not.toContain("template");
  });
});

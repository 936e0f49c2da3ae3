/** One delivery over the Bot API: in which form and place it is sent, and how each answer counts. What may have arrived is never sent twice. */
import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../app/testing/clock.ts";
import type { DeliveryContext, Payload } from "../../../core/delivery/delivery.ts";
import { sendRates } from "../chat/send-rates.ts";
import type { BotApi, BotCall } from "./bot-api.ts";
import { type Sender, sendText } from "./send-text.ts";

const OK = { status: "ok", result: { message_id: 7 } } as const;
const UNKNOWN = { status: "unknown", reason: "cut" } as const;
const refusal = (code: number, said: string, more: object = {}) =>
  ({ status: "refused", code, reason: `${code}: ${said}`, ...more }) as const;
const TABLE = "| a | b |\n| - | - |\n| 1 | 2 |";

function world(answers: readonly BotCall<unknown>[] = [], more: Partial<Sender> = {}) {
  const clock = virtualClock();
  const calls: [method: string, args: Record<string, unknown>][] = [];
  const warnings: string[] = [];
  const rates = sendRates(clock, {
    ...{ perChatMs: 1, groupPerMinute: 1_000, perSecond: 1_000, isGroup: (chat: string) => chat.startsWith("-") },
  });
  const api = {
    async call(method: string, args: Record<string, unknown>) {
      calls.push([method, args]);
      return answers[calls.length - 1] ?? OK;
    },
  } as unknown as BotApi;
  const files = { maxBytes: 1, put: async () => ({}) as never, read: async () => Buffer.from("bytes") };
  const sender: Sender = { api, rates, files, warn: (text) => void warnings.push(text), ...more };
  const send = async (payload: Payload, target: DeliveryContext = { to: "5" }) => {
    let isOver = false;
    const sending = sendText(sender, { id: "d.0" as never, target, payload }, new AbortController().signal).finally(
      () => {
        isOver = true;
      },
    );
    while (!isOver) await clock.advance(1, () => new Promise((resolve) => setImmediate(resolve)));
    return sending;
  };
  return { send, calls, warnings, rates, methods: () => calls.map(([method]) => method) };
}

describe("a text", () => {
  test.each<[string, DeliveryContext, Payload, object]>([
    ["in a private chat is no reply", { to: "5" }, { replyToId: "3" }, { chat_id: "5", reply_parameters: undefined }],
    [
      "in a private chat is one if that is asked for",
      { to: "5" },
      { replyToId: "3", asReply: true },
      { reply_parameters: { message_id: 3, allow_sending_without_reply: true } },
    ],
    ["in a group is a reply", { to: "-5" }, { replyToId: "3" }, { reply_parameters: { message_id: 3 } }],
    [
      "in a group to a message of another channel is none",
      { to: "-5" },
      { replyToId: "wamid.3" },
      { reply_parameters: undefined },
    ],
    ["in a group to no message is none", { to: "-5" }, { replyToId: "0" }, { reply_parameters: undefined }],
    ["goes to its topic", { to: "-5", threadId: "8" }, {}, { message_thread_id: 8 }],
    ["goes to no topic that is none", { to: "-5", threadId: "x" }, {}, { message_thread_id: undefined }],
    [
      "has its buttons, one in each row",
      { to: "5" },
      {
        buttons: [
          { label: "Yes", token: "t1", style: "yes" },
          { label: "No", token: "t2", style: "no" },
          { label: "?", token: "t3" },
        ],
      },
      {
        reply_markup: {
          inline_keyboard: [
            [{ text: "Yes", callback_data: "t1", style: "success" }],
            [{ text: "No", callback_data: "t2", style: "danger" }],
            [{ text: "?", callback_data: "t3", style: undefined }],
          ],
        },
      },
    ],
  ])("%s", async (_, target, payload, expected) => {
    const { send, calls } = world();
    expect(await send({ text: "**hi**", ...payload }, target)).toEqual({ status: "sent", receipt: "7" });
    expect(calls).toEqual([["sendMessage", expect.objectContaining({ text: "<b>hi</b>", parse_mode: "HTML" })]]);
    expect(calls[0]?.[1]).toMatchObject(expected);
  });

  it.each([undefined, "", " \n"])("%j is refused, and nothing is sent", async (text) => {
    const { send, calls } = world();
    expect(await send({ text })).toEqual({ status: "refused", reason: "a message without text" });
    expect(calls).toEqual([]);
  });

  test.each<[string, string, readonly BotCall<unknown>[], readonly string[], string]>([
    ["a table is rich", TABLE, [], ["sendRichMessage"], "sent"],
    [
      "a table that is refused is HTML",
      TABLE,
      [refusal(400, "RICH_MESSAGE_INVALID")],
      ["sendRichMessage", "sendMessage"],
      "sent",
    ],
    [
      "a table of an old server is HTML",
      TABLE,
      [refusal(404, "Not Found")],
      ["sendRichMessage", "sendMessage"],
      "sent",
    ],
    [
      "a table to a chat that is gone is refused",
      TABLE,
      [refusal(400, "chat not found")],
      ["sendRichMessage"],
      "refused",
    ],
    [
      "a table to a chat that is closed to us is refused",
      TABLE,
      [refusal(403, "blocked")],
      ["sendRichMessage"],
      "refused",
    ],
    ["a table that may have arrived is not sent again", TABLE, [UNKNOWN], ["sendRichMessage"], "unknown"],
    [
      "markup that cannot be read is plain",
      "x",
      [refusal(400, "can't parse entities")],
      ["sendMessage", "sendMessage"],
      "sent",
    ],
    [
      "markup that is too long is plain",
      "x",
      [refusal(400, "message is too long")],
      ["sendMessage", "sendMessage"],
      "sent",
    ],
    ["another refusal is one", "x", [refusal(400, "chat not found")], ["sendMessage"], "refused"],
    ["what may have arrived is not sent again", "x", [UNKNOWN], ["sendMessage"], "unknown"],
    ["what never left is tried later", "x", [{ status: "not-sent", reason: "away" }], ["sendMessage"], "retry"],
    [
      "plain text that may have arrived is not sent again",
      "x",
      [refusal(400, "entity"), UNKNOWN],
      ["sendMessage", "sendMessage"],
      "unknown",
    ],
  ])("%s", async (_, text, answers, expected, status) => {
    const { send, methods, calls } = world(answers);
    expect((await send({ text })).status).toBe(status);
    expect(methods()).toEqual(expected);
    if (expected.join() === "sendMessage,sendMessage") expect(calls[1]?.[1]).not.toHaveProperty("parse_mode");
  });

  test.each<[string, BotCall<unknown>, DeliveryContext, readonly (readonly [unknown, unknown])[], string]>([
    [
      "a group that has moved",
      refusal(400, "upgraded", { migrateTo: "-100" }),
      { to: "-5", threadId: 8 },
      [
        ["-5", 8],
        ["-100", 8],
      ],
      "sent",
    ],
    [
      "a topic that is gone",
      refusal(400, "message thread not found"),
      { to: "-5", threadId: 8 },
      [
        ["-5", 8],
        ["-5", undefined],
      ],
      "sent",
    ],
    [
      "a topic that is closed",
      refusal(400, "TOPIC_CLOSED"),
      { to: "-5", threadId: 8 },
      [
        ["-5", 8],
        ["-5", undefined],
      ],
      "sent",
    ],
    [
      "a topic of a chat without topics",
      refusal(400, "message thread not found"),
      { to: "-5" },
      [["-5", undefined]],
      "refused",
    ],
    ["a chat that is gone", refusal(400, "chat not found"), { to: "-5", threadId: 8 }, [["-5", 8]], "refused"],
  ])("to %s", async (_, answer, target, places, status) => {
    const { send, calls, warnings } = world([answer]);
    expect((await send({ text: "hi" }, target)).status).toBe(status);
    expect(calls.map(([, { chat_id: chat, message_thread_id: thread }]) => [chat, thread])).toEqual(places);
    expect(warnings).toHaveLength(places.length - 1);
  });

  test.each([
    [{ retryAfterMs: 7_000 }, 7_000],
    [{ retryAfterMs: 0 }, 0],
    [{}, 5_000],
  ])("that is too much at once (%j) waits, with its chat", async (more, afterMs) => {
    const { send, rates } = world([refusal(429, "slow", more)]);
    expect(await send({ text: "hi" })).toEqual({ status: "retry", reason: "429: slow", afterMs });
    expect([rates.admit("a", "5") >= afterMs, rates.admit("b", "6")]).toEqual([true, 0]);
  });
});

describe("a change of a message", () => {
  test.each<[Payload, string, object]>([
    [
      { text: "**new**", action: { do: "edit", messageId: "3" } },
      "editMessageText",
      { message_id: 3, text: "<b>new</b>", parse_mode: "HTML" },
    ],
    [{ action: { do: "delete", messageId: "3" } }, "deleteMessage", { message_id: 3 }],
    [
      { action: { do: "react", messageId: "3", emoji: "🎉" } },
      "setMessageReaction",
      { message_id: 3, reaction: [{ type: "emoji", emoji: "🎉" }] },
    ],
    [{ action: { do: "react", messageId: "3" } }, "setMessageReaction", { reaction: [{ type: "emoji", emoji: "👍" }] }],
  ])("%j", async (payload, method, args) => {
    const { send, calls } = world();
    expect(await send(payload)).toEqual({ status: "sent", receipt: "3" });
    expect(calls).toEqual([[method, expect.objectContaining({ chat_id: "5", ...args })]]);
  });

  test.each<[string, BotCall<unknown>, object]>([
    ["is made if it was made before", refusal(400, "message is not modified"), { status: "sent" }],
    ["is made if the message is gone already", refusal(400, "message to delete not found"), { status: "sent" }],
    [
      "that is refused is not made",
      refusal(400, "message can't be edited"),
      { status: "refused", reason: "400: message can't be edited" },
    ],
    ["may be made twice, so it is tried again", UNKNOWN, { status: "retry", reason: "cut" }],
    ["waits if it is too much at once", refusal(429, "slow"), { status: "retry", reason: "429: slow", afterMs: 5_000 }],
  ])("%s", async (_, answer, expected) => {
    const { send } = world([answer]);
    expect(await send({ text: "x", action: { do: "edit", messageId: "3" } })).toEqual(expected);
  });
});

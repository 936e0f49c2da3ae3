import { expect, it, test } from "vitest";
import { MemoryHost } from "../../../app/testing/kit/kit-case.ts";
import type { RunId } from "../../../core/ids.ts";
import type { PressedButton, PressResult } from "../../../core/ports/connector.ts";
import type { BotApi } from "./bot-api.ts";
import { draftIdOf } from "./draft-view.ts";
import type { ReadPress } from "./read-update.ts";
import { takePress, takeStop } from "./take-press.ts";

const PRESS: ReadPress = {
  kind: "press",
  ...{ updateId: 9, pressId: "q1", data: "t1", chatId: "-1", isGroup: true, threadId: 8 },
  ...{ userId: "5", userName: "Ann", messageId: "4" },
};

async function press(result: PressResult | undefined) {
  const calls: [method: string, args: object][] = [];
  const pressed: PressedButton[] = [];
  const api = { call: async (method: string, args: object) => void calls.push([method, args]) } as unknown as BotApi;
  const host = Object.assign(new MemoryHost(), {
    press: async (one: PressedButton) => {
      pressed.push(one);
      return result;
    },
  });
  await takePress(api, { channel: "telegram", accountId: "bot", host } as never, PRESS);
  return { calls, pressed };
}

it("a press names its person, its token and its place", async () => {
  expect((await press(undefined)).pressed).toEqual([
    {
      ...{ connector: "telegram", accountId: "bot", userId: "5", channelId: "-1", peerKind: "group", threadId: 8 },
      ...{ token: "t1", senderName: "Ann" },
      delivery: { channel: "telegram", accountId: "bot", to: "-1", threadId: 8 },
    },
  ]);
});

const BUTTON = [[{ text: "Yes", callback_data: "t2", style: undefined }]];
test.each<[string, PressResult | undefined, string | undefined, object | undefined]>([
  ["that no one knows is answered", undefined, undefined, undefined],
  ["that changes nothing leaves the buttons", { say: "Wait.", done: false }, "Wait.", undefined],
  [
    "that is over takes the buttons away",
    { say: "x".repeat(191), done: true },
    "x".repeat(190),
    { reply_markup: undefined },
  ],
  [
    "that asks further shows other buttons",
    { say: "Which?", done: false, buttons: [{ label: "Yes", token: "t2" }] },
    ...(["Which?", { reply_markup: { inline_keyboard: BUTTON } }] as const),
  ],
])("a press %s", async (_, result, text, markup) => {
  const { calls } = await press(result);
  expect(calls).toEqual([
    ["answerCallbackQuery", { callback_query_id: "q1", text }],
    ...(markup ? [["editMessageReplyMarkup", { chat_id: "-1", message_id: 4, ...markup }]] : []),
  ]);
});

it("Stop ends the run of its draft and no other", async () => {
  const asked: unknown[] = [];
  const host = {
    stopRun: async (conversation: object, matches: (run: RunId) => boolean) => {
      asked.push(
        conversation,
        ["run-1", "run-2"].map((run) => matches(run as RunId)),
      );
      return true;
    },
  };
  const stop = { kind: "stop", updateId: 9, chatId: "5", threadId: 8, draftId: draftIdOf("run-2") } as const;
  await takeStop({ channel: "telegram", host } as never, stop);
  expect(asked).toEqual([
    { connector: "telegram", userId: "5", channelId: "5", peerKind: "dm", threadId: 8, accountId: undefined },
    [false, true],
  ]);
});

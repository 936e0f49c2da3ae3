/** A person pressed a button: the answer is stored, the person is told, and a button that is used up disappears. */
import { conversationOf, deliveryOf, type TakeIn } from "../chat/take-in.ts";
import type { BotApi } from "./bot-api.ts";
import { draftIdOf } from "./draft-view.ts";
import type { ReadPress, ReadStop } from "./read-update.ts";
import { keyboardOf } from "./send-text.ts";

const MAX_SHOWN = 190;

/** Durable when it resolves. What the person is told is best effort. */
export async function takePress(
  api: BotApi,
  deps: Pick<TakeIn, "channel" | "host" | "accountId">,
  press: ReadPress,
): Promise<void> {
  const { chatId, messageId, userName, data } = press;
  const pressed = await deps.host.press?.({
    ...conversationOf(deps, press),
    token: data,
    senderName: userName,
    delivery: deliveryOf(deps, press),
  });
  void api.call("answerCallbackQuery", { callback_query_id: press.pressId, text: pressed?.say.slice(0, MAX_SHOWN) });
  if (!pressed?.done && !pressed?.buttons) return;
  const reply_markup = pressed.buttons && keyboardOf(pressed.buttons);
  void api.call("editMessageReplyMarkup", { chat_id: chatId, message_id: Number(messageId), reply_markup });
}

/** A person pressed Stop under a draft: the run it was shown for ends. After that run has ended it has no effect (M28). */
export async function takeStop(deps: Pick<TakeIn, "channel" | "host" | "accountId">, stop: ReadStop): Promise<void> {
  const place = { chatId: stop.chatId, userId: stop.chatId, isGroup: false, threadId: stop.threadId };
  await deps.host.stopRun?.(conversationOf(deps, place), (runId) => draftIdOf(runId) === stop.draftId);
}

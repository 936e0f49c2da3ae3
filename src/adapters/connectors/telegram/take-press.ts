/** A person pressed a button: the answer is stored, the person is told, and a button that is used up disappears. */
import type { BotApi } from "./bot-api.ts";
import type { ReadPress } from "./read-update.ts";
import { keyboardOf } from "./send-text.ts";
import { conversationOf, type TakeIn } from "./take-in.ts";
import { TELEGRAM_CHANNEL } from "./telegram-kind.ts";

const MAX_SHOWN = 190;

/** Durable when it resolves. What the person is told is best effort. */
export async function takePress(
  api: BotApi,
  deps: Pick<TakeIn, "host" | "accountId">,
  press: ReadPress,
): Promise<void> {
  const { chatId, threadId, messageId, userName, data } = press;
  const delivery = { channel: TELEGRAM_CHANNEL, accountId: deps.accountId, to: chatId, threadId };
  const pressed = await deps.host.press?.({
    ...conversationOf(deps, press),
    token: data,
    senderName: userName,
    delivery,
  });
  void api.call("answerCallbackQuery", { callback_query_id: press.pressId, text: pressed?.say.slice(0, MAX_SHOWN) });
  if (!pressed?.done && !pressed?.buttons) return;
  const reply_markup = pressed.buttons && keyboardOf(pressed.buttons);
  void api.call("editMessageReplyMarkup", { chat_id: chatId, message_id: Number(messageId), reply_markup });
}

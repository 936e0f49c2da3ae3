/** A person pressed a button: the answer is stored, and the person is told. Buttons stay where they are; pressed again, they say so. */
import { conversationOf, deliveryOf, type TakeIn } from "../chat/take-in.ts";
import type { GraphApi } from "./graph-api.ts";
import { choicesBody, recipientOf, textBody } from "./message-body.ts";
import type { ReadPress } from "./read-event.ts";

/** Durable when it resolves. What the person is told is best effort. */
export async function takePress(
  api: GraphApi,
  deps: Pick<TakeIn, "channel" | "host" | "accountId">,
  press: ReadPress,
): Promise<void> {
  const pressed = await deps.host.press?.({
    ...conversationOf(deps, press),
    token: press.data,
    senderName: press.userName,
    delivery: deliveryOf(deps, press),
  });
  if (!pressed) return;
  const { say, buttons } = pressed;
  const body = buttons?.length ? choicesBody(say, buttons) : textBody(say, say);
  void api.message({ ...recipientOf(press.chatId), ...body });
}

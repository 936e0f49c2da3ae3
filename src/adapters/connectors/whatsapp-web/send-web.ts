/** Sends one delivery over WhatsApp Web. The id of the message is made from that of the delivery. An outcome that is unknown is never repeated here. */
import { errorText } from "../../../core/errors.ts";
import type { ConnectorFiles, OutgoingDelivery, SendResult } from "../../../core/ports/connector.ts";
import { VOICE_TYPE } from "../chat/voice-type.ts";
import { toWhatsappText } from "../whatsapp/whatsapp-text.ts";
import { messageIdOf, OWN_ID } from "./read-web-message.ts";
import type { WebKey, WebSocketPort } from "./web-port.ts";

interface WebSender {
  /** Undefined while there is no connection. */
  socket(): WebSocketPort | undefined;
  files(): ConnectorFiles | undefined;
  /** Who wrote a message of a group, if it is remembered. */
  participantOf(messageId: string): string | undefined;
  sent(messageId: string, delivery: OutgoingDelivery): void;
}

/** The address of a chat: groups and people without a known number have one, others are their number. */
export const jidOf = (chat: string): string => (chat.includes("@") ? chat : `${chat}@s.whatsapp.net`);

export async function sendOverWeb(
  sender: WebSender,
  delivery: OutgoingDelivery,
  signal: AbortSignal,
): Promise<SendResult> {
  const socket = sender.socket();
  if (!socket || signal.aborted) return { status: "retry", reason: "not connected" };
  const jid = jidOf(delivery.target.to ?? "");
  const content = await contentOf(sender, delivery, jid);
  if ("status" in content) return content;
  const messageId = messageIdOf(delivery.id);
  sender.sent(messageId, delivery);
  try {
    await socket.sendMessage(jid, content, { messageId });
    return { status: "sent", receipt: messageId };
  } catch (error) {
    // It may have left before the connection broke.
    return { status: "unknown", reason: errorText(error) };
  }
}

async function contentOf(sender: WebSender, { payload }: OutgoingDelivery, jid: string): Promise<SendResult | object> {
  const { text = "", action, files } = payload;
  if (action) {
    const key = keyOf(jid, action.messageId, sender.participantOf(action.messageId));
    if (action.do === "react") return { react: { text: action.emoji ?? "👍", key } };
    return action.do === "delete" ? { delete: key } : { text: toWhatsappText(text), edit: key };
  }
  const [file] = files ?? [];
  if (!file)
    return text.trim() === ""
      ? { status: "refused", reason: "a message without text" }
      : { text: toWhatsappText(text) };
  const data = await sender.files()?.read(file);
  if (!data) return { status: "refused", reason: `The file ${file.name} is no longer stored.`, tell: true };
  const bytes = Buffer.from(data);
  const { mimeType: mimetype, name: fileName } = file;
  const caption = text.trim() === "" ? undefined : toWhatsappText(text);
  if (/^image\/(?:jpeg|png)$/u.test(mimetype)) return { image: bytes, mimetype, caption };
  if (mimetype === "video/mp4") return { video: bytes, mimetype, caption };
  if (VOICE_TYPE.test(mimetype) && caption === undefined)
    return { audio: bytes, mimetype: "audio/ogg; codecs=opus", ptt: true };
  if (/^audio\/(?:mpeg|aac|mp4|x-m4a)$/u.test(mimetype) && caption === undefined) return { audio: bytes, mimetype };
  return { document: bytes, mimetype, fileName, caption };
}

const keyOf = (remoteJid: string, id: string, participant: string | undefined): WebKey => ({
  ...{ remoteJid, id, fromMe: id.startsWith(OWN_ID), participant },
});

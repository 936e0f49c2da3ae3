/**
 * Sends one delivery. A refusal of the server is an answer, so what is refused because the 24 hours are over may be sent as a template. A
 * call whose outcome is unknown is never repeated here: the outbox lists it as unconfirmed, and a status may confirm it later (L12).
 */
import type { FileReference } from "../../../core/file-reference.ts";
import type { ConnectorFiles, OutgoingDelivery, SendResult } from "../../../core/ports/connector.ts";
import { resultOfCall } from "../chat/call-result.ts";
import type { ChannelCall, ChannelRefusal } from "../chat/channel-call.ts";
import type { SendRates } from "../chat/send-rates.ts";
import type { ClosedWindows } from "./closed-windows.ts";
import type { GraphApi } from "./graph-api.ts";
import {
  type Body,
  choicesBody,
  isGroupChat,
  mediaBody,
  reactionBody,
  recipientOf,
  type Template,
  templateBody,
  textBody,
} from "./message-body.ts";
import { callbackOf } from "./status-of.ts";
import type { FileUploads } from "./upload-files.ts";
import { toWhatsappText } from "./whatsapp-text.ts";

export interface Sender {
  readonly api: GraphApi;
  readonly rates: SendRates;
  readonly windows: ClosedWindows;
  readonly uploads: FileUploads;
  readonly template?: Template;
  /** Absent until the connector has started. */
  files?: ConnectorFiles;
  /** The server refuses us, not this message. */
  onProblem(text: string): void;
}

/** The person has not written for 24 hours. */
export const WINDOW_CLOSED = 131_047;
/** Too much at once: of the number, of the business, of the app, to this person. */
const RATE_CODES = new Set([4, 80_007, 130_429, 131_056]);
/** To this person only. */
const PAIR_RATE = 131_056;
const RATE_PAUSE_MS = 5_000;
const PAIR_PAUSE_MS = 12_000;
/** The token, the number or the account is not in order. Nothing is wrong with the message. */
const ACCOUNT_CODES = new Set([0, 3, 10, 190, 368, 131_005, 131_031, 131_042, 133_010]);
const ACCOUNT_PAUSE_MS = 60_000;

export const CLOSED_TEXT =
  "The person has not written for 24 hours. WhatsApp then delivers only templates that Meta has approved. Wait until the person writes, or let the owner set a template for this number.";

export async function sendDelivery(
  sender: Sender,
  delivery: OutgoingDelivery,
  signal: AbortSignal,
): Promise<SendResult> {
  const { payload, target } = delivery;
  const chat = target.to ?? "";
  const made = await bodyOf(sender, delivery);
  if ("status" in made) return made;
  const call = (body: Body) =>
    sender.rates.paced(chat, signal, () =>
      sender.api.message(
        { ...recipientOf(chat), biz_opaque_callback_data: callbackOf(delivery), ...contextOf(delivery), ...body },
        signal,
      ),
    );
  const { template, windows, api } = sender;
  const byTemplate = template && isTemplatable(delivery) ? templateBody(template, payload.text ?? "") : undefined;
  if (byTemplate && windows.isClosed(api.phoneNumberId, chat)) return resultOf(sender, chat, await call(byTemplate));
  const first = await call(made.body);
  if (first.status === "refused") for (const file of payload.files ?? []) sender.uploads.forget(file);
  if (first.status !== "refused" || first.code !== WINDOW_CLOSED) return resultOf(sender, chat, first);
  windows.close(api.phoneNumberId, chat);
  if (!byTemplate) return { status: "refused", reason: CLOSED_TEXT, tell: true };
  return resultOf(sender, chat, await call(byTemplate));
}

/** Whether a template can carry it: a text, without choices. */
const isTemplatable = ({ payload }: OutgoingDelivery): boolean =>
  !payload.action && !payload.buttons?.length && !payload.files?.length && (payload.text ?? "").trim() !== "";

/** In a direct chat it is clear what is answered. */
function contextOf({ target, payload }: OutgoingDelivery): Body {
  const answers = payload.replyToId !== undefined && isGroupChat(target.to ?? "");
  return answers ? { context: { message_id: payload.replyToId } } : {};
}

async function bodyOf(sender: Sender, { payload }: OutgoingDelivery): Promise<SendResult | { readonly body: Body }> {
  const { text = "", action, buttons, files } = payload;
  if (action?.do === "react") return { body: reactionBody(action.messageId, action.emoji ?? "👍") };
  if (action) return refused(`A message of WhatsApp cannot be changed or deleted by a business.`);
  const [file] = files ?? [];
  if (file) return mediaOf(sender, file, toWhatsappText(text));
  if (text.trim() === "") return { status: "refused", reason: "a message without text" };
  const marked = toWhatsappText(text);
  return { body: buttons?.length ? choicesBody(marked, buttons) : textBody(marked, text) };
}

const refused = (reason: string): SendResult => ({ status: "refused", reason, tell: true });

/** A refusal names the type: the agent may be able to make a file of another one. */
async function mediaOf(
  { uploads, files, onProblem }: Sender,
  file: FileReference,
  text: string,
): Promise<SendResult | { readonly body: Body }> {
  const upload = await uploads.upload(files, file);
  switch (upload.status) {
    case "ok": {
      const body = mediaBody(upload.kind, upload.mediaId, file.name, text);
      return body ? { body } : refused(`The text is too long to be sent with the file ${file.name}.`);
    }
    case "later":
      return { status: "retry", reason: upload.reason };
    case "impossible":
      return refused(upload.reason);
    case "refused":
      return (
        refusalOf(upload, onProblem) ??
        refused(`WhatsApp does not take the file ${file.name} (${file.mimeType}): ${upload.reason}`)
      );
  }
}

function resultOf(sender: Sender, chat: string, call: ChannelCall<string | undefined>): SendResult {
  if (call.status !== "refused") return resultOfCall(call, (id) => id);
  if (RATE_CODES.has(call.code)) sender.rates.pause(pauseOf(call), call.code === PAIR_RATE ? chat : undefined);
  return refusalOf(call, sender.onProblem) ?? refused(call.reason);
}

const pauseOf = ({ code, retryAfterMs }: ChannelRefusal): number =>
  retryAfterMs ?? (code === PAIR_RATE ? PAIR_PAUSE_MS : RATE_PAUSE_MS);

/** A refusal for now; undefined if it is one for good. */
function refusalOf(call: ChannelRefusal, onProblem: Sender["onProblem"]): SendResult | undefined {
  const { code, reason } = call;
  if (RATE_CODES.has(code)) return { status: "retry", reason, afterMs: pauseOf(call) };
  if (!ACCOUNT_CODES.has(code) && code !== 401) return undefined;
  onProblem(reason);
  return { status: "retry", reason, afterMs: ACCOUNT_PAUSE_MS };
}

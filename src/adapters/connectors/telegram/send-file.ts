/** Sends one file of a delivery: as a photo, video or voice message where the server shows it so, else as a document. */
import { InputFile } from "grammy";
import type { FileReference } from "../../../core/file-reference.ts";
import type { ConnectorFiles, SendResult } from "../../../core/ports/connector.ts";
import { VOICE_TYPE } from "../chat/voice-type.ts";
import type { BotApi, BotCall } from "./bot-api.ts";

/** Photos and voice messages have stricter limits than documents. */
const MAX_PHOTO = 10_000_000;

interface FilePlace {
  readonly chat_id: string;
  readonly message_thread_id?: number;
}

/** A result if there is nothing to send; else how the call ended. */
export async function sendFile(
  { api, files }: { readonly api: BotApi; readonly files?: ConnectorFiles },
  place: FilePlace,
  file: FileReference,
  signal: AbortSignal,
): Promise<SendResult | { readonly call: BotCall<unknown> }> {
  const data = await files?.read(file);
  if (!data) return { status: "refused", reason: `the file ${file.name} is no longer stored` };
  const input = new InputFile(data, file.name);
  const { mimeType } = file;
  if (/^image\/(?:jpeg|png|webp)$/u.test(mimeType) && data.length <= MAX_PHOTO) {
    const call = await api.call("sendPhoto", { ...place, photo: input }, signal);
    // A picture that the server does not take as a photo is still a document.
    if (call.status !== "refused" || call.code !== 400 || !/PHOTO|photo|dimension/u.test(call.reason)) return { call };
    return { call: await api.call("sendDocument", { ...place, document: new InputFile(data, file.name) }, signal) };
  }
  if (mimeType === "video/mp4") return { call: await api.call("sendVideo", { ...place, video: input }, signal) };
  if (VOICE_TYPE.test(mimeType)) return { call: await api.call("sendVoice", { ...place, voice: input }, signal) };
  return { call: await api.call("sendDocument", { ...place, document: input }, signal) };
}

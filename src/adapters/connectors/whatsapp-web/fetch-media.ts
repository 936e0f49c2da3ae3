/**
 * The file of a message. It is fetched before the message is stored, and WhatsApp does not bring the message again, so all of it is bounded
 * in time. An address that has expired is asked of the phone once.
 */
import { errorText } from "../../../core/errors.ts";
import { type Clock, sleep } from "../../../core/ports/clock.ts";
import { boundedBytes } from "../chat/fetch-files.ts";
import type { WebMessage, WebSocketPort } from "./web-port.ts";

const FETCH_MS = 15_000;
const ASK_PHONE_MS = 10_000;

/** Never rejects: trying again would hold up the message. */
export async function fetchMedia(
  socket: Pick<WebSocketPort, "download" | "uploadedAgain"> | undefined,
  message: WebMessage,
  limit: number,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Uint8Array | { readonly refused: string }> {
  if (!socket) return { refused: "not connected" };
  const within = <T>(ms: number, work: Promise<T>): Promise<T> => beforeTime(clock, ms, signal, work);
  const get = async (from: WebMessage) => boundedBytes(await socket.download(from), limit);
  try {
    return await within(FETCH_MS, get(message));
  } catch {
    try {
      return await within(FETCH_MS, get(await within(ASK_PHONE_MS, socket.uploadedAgain(message))));
    } catch (error) {
      // An address is a secret of its receiver.
      return { refused: errorText(error).replaceAll(/https?:\S+/gu, "the server") };
    }
  }
}

async function beforeTime<T>(clock: Clock, ms: number, signal: AbortSignal, work: Promise<T>): Promise<T> {
  const done = new AbortController();
  const late = sleep(clock, ms, AbortSignal.any([signal, done.signal])).then((): never => {
    throw new TypeError("it took too long");
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    done.abort();
  }
}

/**
 * Takes updates that the server brings by itself: one request for each, with a secret in its header. It is answered after the commit;
 * until then the server keeps the update and brings it again. The updates of one chat are handled in the order in which they come.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { ChannelAnswer, ChannelRequest } from "../../../core/ports/connector.ts";
import { handledOrSkipped, idOf, orderOf, type UpdateWork } from "./update-work.ts";

export const SECRET_HEADER = "x-telegram-bot-api-secret-token";
/** What the server takes as a secret. */
export const SECRET_FORM = /^[A-Za-z0-9_-]{1,256}$/u;

/** Updates that failed before, of which the tries are counted. */
const MAX_COUNTED = 1_000;

const STORED: ChannelAnswer = { status: 200 };
const AGAIN: ChannelAnswer = { status: 503, text: "not stored; bring it again" };

export interface ReceivedUpdates {
  take(request: ChannelRequest, handle: UpdateWork["handle"]): Promise<ChannelAnswer>;
}

export function receiveUpdates(secret: string, work: Omit<UpdateWork, "handle">): ReceivedUpdates {
  const tries = new Map<number, number>();
  /** The last update of each chat that is in work. */
  const latest = new Map<string, Promise<unknown>>();

  const inOrder = async <T>(chat: string, run: () => Promise<T>): Promise<T> => {
    const before = latest.get(chat);
    const now = (before ?? Promise.resolve()).then(run);
    const ended = now.catch(() => undefined);
    latest.set(chat, ended);
    try {
      return await now;
    } finally {
      if (latest.get(chat) === ended) latest.delete(chat);
    }
  };

  return {
    async take({ method, header, raw }, handle) {
      if (!isSame(header(SECRET_HEADER) ?? "", secret)) return { status: 401 };
      if (method !== "POST") return { status: 405, text: "updates are posted" };
      const update = parsed(raw);
      if (idOf(update) === undefined) return { status: 400, text: "the body is not an update" };
      if (tries.size > MAX_COUNTED) tries.clear();
      return (await inOrder(orderOf(update), () => handledOrSkipped({ ...work, handle }, update, tries)))
        ? STORED
        : AGAIN;
    },
  };
}

function parsed(raw: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(raw).toString("utf8")) as unknown;
  } catch {
    return undefined;
  }
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
/** In constant time, also for texts of different lengths. */
const isSame = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));

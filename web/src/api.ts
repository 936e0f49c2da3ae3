/** The API of the gateway that serves this page. The browser sends its login by itself. */
import { ApiError, ConnectionLostError, EngineApi, httpTransport, QueueFullError } from "../../src/client-browser.ts";

/** Keeps a prefix under which a proxy or another server has mounted the gateway. */
export const BASE = new URL(".", location.href.split("#")[0]).href.replace(/\/$/, "");

export const api = new EngineApi(httpTransport({ url: BASE }));

/** A list as the API pages it. */
export interface Page<Item, Cursor = string | number> {
  readonly items: readonly Item[];
  readonly next: Cursor | null;
}

export const isSignedOut = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 401 || error.code === "too_many_failures");

export const isLost = (error: unknown): boolean => error instanceof ConnectionLostError;

/** The message of an error, with its hint. */
export function messageOf(error: unknown): string {
  if (error instanceof ApiError || error instanceof QueueFullError)
    return error.hint ? `${error.message} ${error.hint}` : error.message;
  return error instanceof Error ? error.message : String(error);
}

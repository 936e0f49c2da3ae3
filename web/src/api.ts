/** The API of the gateway that serves this page. Each request carries the login of the page. */
import { ApiError, ConnectionLostError, EngineApi, httpTransport, QueueFullError } from "../../src/client-browser.ts";
import { BASE } from "./base.ts";
import { fetchAs, fetchWithLogin } from "./login.ts";
import { t } from "./texts.ts";

export const api = new EngineApi(httpTransport({ url: BASE, fetch: fetchWithLogin }));

/** The API as the holder of another secret: of an invitation that is not used yet. */
export const apiAs = (secret: string): EngineApi => new EngineApi(httpTransport({ url: BASE, fetch: fetchAs(secret) }));

/** A list as the API pages it. */
export interface Page<Item, Cursor = string | number> {
  readonly items: readonly Item[];
  readonly next: Cursor | null;
}

export const isSignedOut = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 401 || error.code === "too_many_failures");

/** The server will refuse the same request again. */
export const isRefused = (error: unknown): boolean =>
  error instanceof ApiError && error.status < 500 && error.status !== 408 && error.status !== 429;

export const isLost = (error: unknown): boolean => error instanceof ConnectionLostError;

/** The message of an error, with its hint. */
export function messageOf(error: unknown): string {
  if (isLost(error)) return t.connection.noAnswer;
  if (error instanceof ApiError || error instanceof QueueFullError)
    return error.hint ? `${error.message} ${error.hint}` : error.message;
  return error instanceof Error ? error.message : String(error);
}

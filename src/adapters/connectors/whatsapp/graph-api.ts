/**
 * Calls of the Graph API for one phone number. Never throws, and no outcome contains the token. An answer with an error is a refusal:
 * nothing was sent. An error of the server itself (5xx), a cut connection and a timeout say nothing.
 */
import { cutText } from "../../../core/cut-text.ts";
import { type ChannelCall, neverLeft } from "../chat/channel-call.ts";
import { downloadUrl } from "../chat/fetch-files.ts";
import type { Body } from "./message-body.ts";

const DEFAULT_GRAPH_ROOT = "https://graph.facebook.com/v25.0";

interface GraphOptions {
  readonly token: string;
  readonly phoneNumberId: string;
  readonly apiRoot?: string;
  /** Whether WhatsApp may fetch the addresses in a text to show what is there. */
  readonly linkPreviews?: boolean;
}

interface PhoneNumber {
  readonly display_phone_number?: string;
  readonly verified_name?: string;
}

export interface GraphApi {
  readonly phoneNumberId: string;
  /** Who we are: the number as people see it. */
  number(signal?: AbortSignal): Promise<ChannelCall<PhoneNumber>>;
  /** `POST /<number>/messages`: the id of the message, if one was sent. */
  message(body: Body, signal?: AbortSignal): Promise<ChannelCall<string | undefined>>;
  /** Uploads a file; the result names it. Nobody sees it before a message refers to it. */
  upload(
    file: { readonly data: Uint8Array; readonly name: string; readonly mimeType: string },
    signal?: AbortSignal,
  ): Promise<ChannelCall<string>>;
  /** The content of a file of a message. Its address is valid for minutes, so it is asked for each time. Rejects if it may work later. */
  download(mediaId: string, limit: number): Promise<Uint8Array | { readonly refused: string }>;
}

const CALL_MS = 30_000;
const UPLOAD_MS = 120_000;
const MAX_ANSWER = 1_000_000;
const MAX_REASON = 300;
/** Where the server keeps files. The token is sent nowhere else. */
const MEDIA_HOSTS = /(?:^|\.)(?:facebook\.com|fbsbx\.com|fbcdn\.net|whatsapp\.net)$/u;

export function graphApi(options: GraphOptions): GraphApi {
  const { token, phoneNumberId, apiRoot = DEFAULT_GRAPH_ROOT, linkPreviews = false } = options;
  const root = apiRoot.replace(/\/$/u, "");
  const authorization = { authorization: `Bearer ${token}` };
  const clean = (text: string): string => cutText(text.replaceAll(token, "***"), MAX_REASON);

  const call = async <T>(
    path: string,
    init: RequestInit,
    read: (json: Record<string, unknown>) => T,
    signal: AbortSignal | undefined,
    ms: number,
  ): Promise<ChannelCall<T>> => {
    if (signal?.aborted) return { status: "not-sent", reason: "aborted" };
    const limit = AbortSignal.timeout(ms);
    const both = signal ? AbortSignal.any([signal, limit]) : limit;
    try {
      const headers = { ...authorization, ...(init.headers as Record<string, string>) };
      const response = await fetch(`${root}/${path}`, { ...init, headers, redirect: "error", signal: both });
      const json = await jsonOf(response);
      if (response.status >= 500) return { status: "unknown", reason: clean(errorOf(json, response.status).reason) };
      if (!response.ok || json?.error) return { status: "refused", ...cleaned(errorOf(json, response.status), clean) };
      // Something answered with success that is not the API. It may have passed the request on.
      if (!json) return { status: "unknown", reason: "the server did not answer as the API does" };
      return { status: "ok", result: read(json) };
    } catch (error) {
      const cause = (error as { cause?: { code?: unknown; message?: unknown } }).cause ?? (error as { code?: unknown });
      const reason = clean([cause.code, (error as Error).message].filter(Boolean).join(": "));
      return { status: neverLeft(cause.code) ? "not-sent" : "unknown", reason };
    }
  };

  const json = (body: unknown): RequestInit => ({
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

  return {
    phoneNumberId,
    number: (signal) =>
      call(
        `${phoneNumberId}?fields=display_phone_number,verified_name`,
        { method: "GET" },
        (found) => found as PhoneNumber,
        signal,
        CALL_MS,
      ),
    message: (body, signal) =>
      call(
        `${phoneNumberId}/messages`,
        json({
          messaging_product: "whatsapp",
          ...body,
          text: body.text && { ...body.text, preview_url: linkPreviews },
        }),
        ({ messages }) => {
          const id = (messages as readonly { id?: unknown }[] | undefined)?.[0]?.id;
          return typeof id === "string" ? id : undefined;
        },
        signal,
        CALL_MS,
      ),
    upload({ data, name, mimeType }, signal) {
      const form = new FormData();
      form.set("messaging_product", "whatsapp");
      form.set("type", mimeType);
      form.set("file", new Blob([Buffer.from(data)], { type: mimeType }), name);
      return call(`${phoneNumberId}/media`, { method: "POST", body: form }, ({ id }) => String(id), signal, UPLOAD_MS);
    },
    async download(mediaId, limit) {
      const where = `${encodeURIComponent(mediaId)}?phone_number_id=${phoneNumberId}`;
      const found = await call(where, { method: "GET" }, ({ url }) => String(url), undefined, CALL_MS);
      if (found.status === "refused") return { refused: found.reason };
      if (found.status !== "ok") throw new TypeError(found.reason);
      if (!isMediaUrl(found.result, root)) return { refused: "the server named an address that is not its own" };
      return downloadUrl(found.result, limit, authorization);
    },
  };
}

/** An address of the platform itself, or of the server that the configuration names. */
function isMediaUrl(url: string, root: string): boolean {
  if (!URL.canParse(url)) return false;
  const [to, own] = [new URL(url), new URL(root)];
  return to.host === own.host
    ? to.protocol === own.protocol
    : to.protocol === "https:" && MEDIA_HOSTS.test(to.hostname);
}

/** Undefined if the answer is not an object in JSON, or is too long. */
async function jsonOf(response: Response): Promise<Record<string, unknown> | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_ANSWER) return undefined;
    chunks.push(chunk);
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

interface GraphError {
  readonly code: number;
  readonly reason: string;
}

function errorOf(json: Record<string, unknown> | undefined, status: number): GraphError {
  const error = json?.error as
    | { code?: unknown; message?: unknown; error_data?: { details?: unknown } }
    | null
    | undefined;
  const code = Number.isSafeInteger(error?.code) ? (error?.code as number) : status;
  const said = [error?.message, error?.error_data?.details].filter((part) => typeof part === "string");
  return { code: status === 429 ? 130_429 : code, reason: `${code}: ${said.join(" ") || `answered ${status}`}` };
}

const cleaned = ({ code, reason }: GraphError, clean: (text: string) => string): GraphError => ({
  code,
  reason: clean(reason),
});

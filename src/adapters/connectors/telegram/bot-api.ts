/**
 * Calls of the Bot API. Every outcome is one of four: answered, refused (the server answered and did nothing), not sent (the
 * request never left this machine), or unknown (it may have arrived). Never throws, and no outcome contains the token.
 */
import { Api, GrammyError, HttpError, type RawApi } from "grammy";
import { type ChannelCall, type ChannelRefusal, neverLeft } from "../chat/channel-call.ts";

/** `migrateTo`: the new id of a group that has moved. */
export type BotCall<T> = Exclude<ChannelCall<T>, ChannelRefusal> | (ChannelRefusal & { readonly migrateTo?: string });

type Method = keyof RawApi;
type Args<M extends Method> = Parameters<RawApi[M]>[0];
type Result<M extends Method> = Awaited<ReturnType<RawApi[M]>>;

export interface BotApi {
  call<M extends Method>(method: M, args: Args<M>, signal?: AbortSignal): Promise<BotCall<Result<M>>>;
  /** The address of a file's content. It contains the token: never log it. */
  fileUrl(path: string): string;
}

interface BotApiOptions {
  readonly token: string;
  readonly apiRoot: string;
  /** How long one call may take. */
  readonly timeoutSeconds: number;
  /** Whether the server may fetch the addresses in a text to show what is there. */
  readonly linkPreviews?: boolean;
}

export const DEFAULT_API_ROOT = "https://api.telegram.org";

/** No answer of the API is larger: 100 updates, each far below a hundred kilobytes. */
const MAX_ANSWER = 16 * 1024 * 1024;
const MAX_REASON = 300;
/** The server makes previews only for the text of these. */
const PREVIEWED: ReadonlySet<Method> = new Set<Method>(["sendMessage", "editMessageText"]);

export function openBotApi({ token, apiRoot, timeoutSeconds, linkPreviews = false }: BotApiOptions): BotApi {
  const root = apiRoot.endsWith("/") ? apiRoot.slice(0, -1) : apiRoot;
  const api = new Api(token, { apiRoot: root, timeoutSeconds, baseFetchConfig: { size: MAX_ANSWER } as object });
  const clean = (text: string): string => text.replaceAll(token, "***").slice(0, MAX_REASON);
  return {
    async call(method, args, signal) {
      try {
        const call = api.raw[method] as unknown as (args: unknown, signal?: AbortSignal) => Promise<never>;
        const link_preview_options = { is_disabled: !linkPreviews };
        const sent = PREVIEWED.has(method) ? { ...args, link_preview_options } : args;
        return { status: "ok", result: await call(sent, signal) };
      } catch (error) {
        return failureOf(error, clean);
      }
    },
    fileUrl: (path) => `${root}/file/bot${token}/${path}`,
  };
}

function failureOf(error: unknown, clean: (text: string) => string): Exclude<BotCall<never>, { status: "ok" }> {
  if (error instanceof GrammyError) {
    const { error_code: code, description, parameters } = error;
    const reason = clean(`${code}: ${description}`);
    // An error of the server itself says nothing about what it did before.
    if (code >= 500) return { status: "unknown", reason };
    const { retry_after: seconds, migrate_to_chat_id: moved } = parameters;
    return {
      status: "refused",
      code,
      reason,
      retryAfterMs: typeof seconds === "number" ? Math.max(0, seconds) * 1_000 : undefined,
      migrateTo: moved === undefined ? undefined : String(moved),
    };
  }
  const cause = (error instanceof HttpError ? error.error : error) as { code?: unknown; message?: unknown };
  const code = typeof cause?.code === "string" ? cause.code : "";
  const reason = clean(
    [code, typeof cause?.message === "string" ? cause.message : String(error)].filter(Boolean).join(": "),
  );
  return { status: neverLeft(code) ? "not-sent" : "unknown", reason };
}

/** Calls a model through the library: one request, without the library's retries and without its identifying headers. */
import type { AssistantMessage, SimpleStreamOptions } from "@earendil-works/pi-ai";
import { defined } from "../../../core/defined.ts";
import { hasDocuments } from "../documents.ts";
import type { HttpExchange } from "../http-exchange.ts";
import type { ProviderApi, ProviderCall } from "../provider-call.ts";
import { errorInJson, parse } from "../provider-error.ts";
import type { ProviderModel } from "../provider-model.ts";
import { retryDelayIn } from "../retry-after.ts";
import { type AnswerDraft, type CallContext, type ReportedFailure, runProviderCall } from "../run-provider-call.ts";
import { blocksOf, stopReasonOf, usageOf } from "./answer.ts";
import { piContext } from "./context.ts";
import { withDocuments } from "./documents.ts";
import { isPiApi, loadApi, type PiApi } from "./load-api.ts";
import { piModel } from "./pi-model.ts";

const A_DAY_MS = 86_400_000;
/**
 * The library parses all arguments of a call again at every piece. This many characters in all, about 140,000 of one call in
 * pieces of 20, take less than a minute of processor time. A longer call is cut off (M34).
 */
const MAX_PARSED = 500_000_000;
/** The library requires a key even if the server needs none. It is removed before the request is sent. */
const NO_KEY = "none";

export const callPiAi: ProviderApi = (deps, call) =>
  runProviderCall(deps, call, async (context) => {
    if (!isPiApi(call.model.api)) return { status: 400, error: { text: `The API "${call.model.api}" is not known.` } };
    const api = await loadApi(call.model.api);
    return await stream(api, call, optionsFor(call, context, deps.userAgent), context);
  });

async function stream(
  api: PiApi,
  call: ProviderCall,
  options: SimpleStreamOptions,
  { exchange, draft, abandon, forward }: CallContext,
): Promise<ReportedFailure | undefined> {
  let parsed = 0;
  /** The arguments as the model wrote them: the library completes what is cut off. */
  const written = new Map<number, string>();
  for await (const event of api.stream(piModel(call.model), piContext(call.request), options)) {
    exchange.received();
    switch (event.type) {
      case "start":
        watch(draft, event.partial, written);
        break;
      case "text_delta":
        forward({ type: "text", delta: event.delta });
        break;
      case "thinking_delta":
        forward({ type: "thinking", delta: event.delta });
        break;
      case "toolcall_delta": {
        forward({ type: "arguments", delta: event.delta });
        const text = `${written.get(event.contentIndex) ?? ""}${event.delta}`;
        written.set(event.contentIndex, text);
        parsed += text.length;
        if (parsed <= MAX_PARSED) break;
        watch(draft, event.partial, written, true);
        abandon();
        return undefined;
      }
      case "toolcall_start": {
        const block = event.partial.content[event.contentIndex];
        if (block?.type === "toolCall") forward({ type: "toolCall", id: block.id, name: block.name });
        break;
      }
      case "done":
        watch(draft, event.message, written);
        return undefined;
      case "error":
        watch(draft, event.error, written);
        return reportedBy(event.error, exchange);
      default:
        break;
    }
  }
  return {};
}

/** Makes the draft read the library's own message, which grows during the call. */
function watch(draft: AnswerDraft, message: AssistantMessage, written: ReadonlyMap<number, string>, cut = false): void {
  draft.read = () => ({
    content: blocksOf(message.content, written),
    stopReason: cut ? "length" : stopReasonOf(message.stopReason),
    cut: cut || undefined,
    usage: usageOf(message.usage),
  });
}

/**
 * Uses only the provider's own text: from the response, or from the library's message if that is the provider's JSON. Any
 * other text of the library may quote a conversation.
 */
function reportedBy(message: AssistantMessage, exchange: HttpExchange): ReportedFailure {
  const received = exchange.error();
  if (received) return { error: received };
  if (message.rawStopReason !== undefined && (exchange.status ?? 200) < 400) {
    return { error: { code: message.rawStopReason, text: `The answer was stopped (${message.rawStopReason}).` } };
  }
  const { status, json } = jsonIn(message.errorMessage ?? "");
  const value = parse(json);
  const error = errorInJson(value);
  if (!error) return {};
  const code = status ?? codeIn(value);
  return { error, status: code === undefined ? undefined : Number(code), retryAfterMs: retryDelayIn(json) };
}

/** The library's message: an optional status, an optional `got status: … .`, then the provider's JSON to the end. */
function jsonIn(message: string): { readonly status?: string; readonly json: string } {
  const [before = "", status] = /^(?:(\d{3}):?\s{1,8})?/.exec(message) ?? [];
  let json = message.slice(before.length);
  if (json.startsWith("got status: ")) json = json.slice(json.search(/\. [{[]/) + 2);
  return /^[{[]/.test(json) ? { status, json } : { json: "" };
}

const codeIn = (value: unknown): number | undefined => {
  const code = (value as { error?: { code?: unknown } } | undefined)?.error?.code;
  return typeof code === "number" && code >= 100 && code < 600 ? code : undefined;
};

function optionsFor(call: ProviderCall, { exchange, signal }: CallContext, userAgent: string): SimpleStreamOptions {
  const { model, request, key, thinking } = call;
  const isGoogle = model.api === "google-generative-ai";
  const isOpenAi = model.baseUrl.includes("openai.com");
  return defined({
    // Some logins have a header of their own in place of a key.
    apiKey: call.headers?.Authorization ? undefined : (key ?? NO_KEY),
    signal,
    maxRetries: 0,
    // Our own stall timer ends the call; the client's timeout must be longer.
    timeoutMs: A_DAY_MS,
    cacheRetention: "short",
    sessionId: request.sessionId,
    headers: defined({
      "User-Agent": userAgent,
      "x-goog-api-client": isGoogle ? userAgent : undefined,
      // The client would send these from the environment to every server.
      "OpenAI-Organization": isOpenAi ? undefined : null,
      "OpenAI-Project": isOpenAi ? undefined : null,
      ...call.headers,
    }),
    // Its other transport is a connection of the library's own, which nothing here can watch.
    transport: "sse",
    fetch: isGoogle ? undefined : exchange.fetch,
    reasoning: thinking === "off" ? undefined : thinking,
    temperature: takesTemperature(model) ? request.temperature : undefined,
    onPayload: hasDocuments(request) ? (payload: unknown) => withDocuments(model.api, payload) : undefined,
  });
}

/** OpenAI refuses a temperature for models that think. The library leaves it out for Anthropic. */
const takesTemperature = ({ api, thinking }: ProviderModel): boolean =>
  !(api.endsWith("-responses") && thinking.some((level) => level !== "off"));

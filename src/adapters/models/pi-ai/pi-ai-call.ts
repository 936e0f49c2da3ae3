/** Calls a model through the library: one request, no retries of its own, nothing of its identity on the wire. */
import type { AssistantMessage, SimpleStreamOptions } from "@earendil-works/pi-ai";
import { type Draft, type Frame, frameCall, type Told } from "../call-frame.ts";
import type { Exchange } from "../exchange.ts";
import type { ProviderApi, ProviderCall } from "../provider-call.ts";
import { errorInJson, parse } from "../provider-error.ts";
import { retryDelayIn } from "../retry-after.ts";
import { blocksOf, stopReasonOf, usageOf } from "./answer.ts";
import { piContext } from "./context.ts";
import { isPiApi, loadApi, type PiApi } from "./load-api.ts";
import { piModel } from "./pi-model.ts";

const A_DAY_MS = 86_400_000;
/** The library asks for a key even where the server wants none; it is taken off again before the request leaves. */
const NO_KEY = "none";

export const callPiAi: ProviderApi = (deps, call) =>
  frameCall(deps, call, async (frame) => {
    if (!isPiApi(call.model.api)) return { status: 400, error: { text: `The API "${call.model.api}" is not known.` } };
    const api = await loadApi(call.model.api);
    return await stream(api, call, optionsFor(call, frame, deps.userAgent), frame);
  });

async function stream(
  api: PiApi,
  call: ProviderCall,
  options: SimpleStreamOptions,
  { exchange, draft, say }: Frame,
): Promise<Told | undefined> {
  for await (const event of api.stream(piModel(call.model), piContext(call.request), options)) {
    exchange.heard();
    switch (event.type) {
      case "start":
        watch(draft, event.partial);
        break;
      case "text_delta":
        say({ type: "text", delta: event.delta });
        break;
      case "thinking_delta":
        say({ type: "thinking", delta: event.delta });
        break;
      case "toolcall_start": {
        const block = event.partial.content[event.contentIndex];
        if (block?.type === "toolCall") say({ type: "toolCall", id: block.id, name: block.name });
        break;
      }
      case "done":
        watch(draft, event.message);
        return undefined;
      case "error":
        watch(draft, event.error);
        return toldBy(event.error, exchange);
      default:
        break;
    }
  }
  return {};
}

/** The draft shows whatever the library's own message holds at the moment it is looked at. */
function watch(draft: Draft, message: AssistantMessage): void {
  draft.look = () => {
    const usage = usageOf(message.usage);
    const stopReason = stopReasonOf(message.stopReason);
    return { content: blocksOf(message.content), stopReason, ...(usage ? { usage } : {}) };
  };
}

/**
 * Only the provider's own words count: from the wire, or where the library reads the wire itself, from its message if
 * that is the provider's JSON. Anything else the library says may quote a conversation.
 */
function toldBy(message: AssistantMessage, exchange: Exchange): Told {
  const heard = exchange.error();
  if (heard) return { error: heard };
  if (message.rawStopReason !== undefined && (exchange.status ?? 200) < 400) {
    return { error: { code: message.rawStopReason, text: `The answer was stopped (${message.rawStopReason}).` } };
  }
  const [, status, json] =
    /^(?:(\d{3}):?\s+)?(?:got status: .*?\. )?(\{.*\}|\[.*\])$/s.exec(message.errorMessage ?? "") ?? [];
  const value = parse(json ?? "");
  const error = errorInJson(value);
  if (!error) return {};
  const code = status ?? codeIn(value);
  const wait = retryDelayIn(json ?? "");
  return {
    error,
    ...(code === undefined ? {} : { status: Number(code) }),
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
  };
}

const codeIn = (value: unknown): number | undefined => {
  const code = (value as { error?: { code?: unknown } } | undefined)?.error?.code;
  return typeof code === "number" && code >= 100 && code < 600 ? code : undefined;
};

function optionsFor(call: ProviderCall, { exchange, signal }: Frame, userAgent: string): SimpleStreamOptions {
  const { model, request, key, thinking } = call;
  return {
    apiKey: key ?? NO_KEY,
    signal,
    maxRetries: 0,
    // Silence is noticed by our own clock; the client's must not be faster.
    timeoutMs: A_DAY_MS,
    cacheRetention: "short",
    sessionId: request.sessionId,
    headers: {
      "User-Agent": userAgent,
      ...(model.api === "google-generative-ai" ? { "x-goog-api-client": userAgent } : {}),
      // The client would send these from the environment to whoever is asked.
      ...(model.baseUrl.includes("openai.com") ? {} : { "OpenAI-Organization": null, "OpenAI-Project": null }),
    },
    ...(model.api === "google-generative-ai" ? {} : { fetch: exchange.fetch }),
    ...(thinking === undefined || thinking === "off" ? {} : { reasoning: thinking }),
  };
}

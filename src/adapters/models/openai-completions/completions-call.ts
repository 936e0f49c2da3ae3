/**
 * Calls a server that speaks the plain chat completions protocol, without a library: local servers, where the library's
 * cost would matter. Servers with a dialect of their own go through the library.
 */

import { defined } from "../../../core/defined.ts";
import { TooLargeError } from "../../../core/errors.ts";
import type { HttpAnswer } from "../../../core/ports/http-post.ts";
import { trimCharsEnd } from "../../../core/trim-chars.ts";
import { type HttpExchange, textOf } from "../http-exchange.ts";
import type { ProviderApi, ProviderCall } from "../provider-call.ts";
import { type CallContext, type ReportedFailure, runProviderCall } from "../run-provider-call.ts";
import { eventReader } from "../sse.ts";
import { AnswerCollector } from "./collect-answer.ts";
import { payloadText } from "./payload.ts";

/** Hosts whose dialect of the protocol the library knows. */
const DIALECTS =
  /\b(?:openai\.com|openrouter\.ai|deepseek\.com|z\.ai|bigmodel\.cn|together\.(?:ai|xyz)|api\.moonshot\.\w+|x\.ai|nvidia\.com|cerebras\.ai|chutes\.ai|opencode\.ai|cloudflare\.com|ant-ling\.com)$/;

export function speaksPlainly(baseUrl: string): boolean {
  return !DIALECTS.test(URL.parse(baseUrl)?.hostname ?? "");
}

export const callCompletions: ProviderApi = (deps, call) =>
  runProviderCall(deps, call, (context) => converse(call, context));

async function converse(
  call: ProviderCall,
  { exchange, signal, draft, forward }: CallContext,
): Promise<ReportedFailure | undefined> {
  const answer = await exchange.post(
    `${trimCharsEnd(call.model.baseUrl, "/")}/chat/completions`,
    defined({
      "content-type": "application/json",
      accept: "text/event-stream",
      authorization: call.key === undefined ? undefined : `Bearer ${call.key}`,
    }),
    payloadText(call),
    signal,
  );
  if (!answer) return {};
  const collector = new AnswerCollector(call.model.cost, forward);
  draft.read = () => collector.answer();
  try {
    await receive(answer, collector, exchange);
  } catch (error) {
    if (!(error instanceof TooLargeError)) throw error;
    collector.cutOff();
    return undefined;
  }
  collector.finish();
  return collector.error ? { error: collector.error } : undefined;
}

/** One event is parsed in one go. Events of a stream are short; only a server that does not stream sends a whole answer. */
const MAX_EVENT = 500_000;

async function receive(answer: HttpAnswer, collector: AnswerCollector, exchange: HttpExchange): Promise<void> {
  if (answer.header("content-type")?.startsWith("application/json")) {
    collector.take(await textOf(answer, MAX_EVENT, () => exchange.received()));
    return;
  }
  const events = eventReader((data) => collector.take(data), MAX_EVENT);
  await answer.read((chunk) => {
    exchange.received();
    events.take(chunk);
  });
  events.end();
}

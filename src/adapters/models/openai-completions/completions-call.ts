/**
 * Calls any server that speaks the chat completions protocol, without a library in between: the local servers, where
 * the cost of a call is ours alone. Servers with ways of their own go through the library.
 */
import { type Frame, frameCall, type Told } from "../call-frame.ts";
import { textOf } from "../exchange.ts";
import type { ProviderApi, ProviderCall } from "../provider-call.ts";
import { eventReader } from "../sse.ts";
import { AnswerCollector } from "./collect-answer.ts";
import { payloadText } from "./payload.ts";

/** Hosts whose dialect of the protocol the library knows. */
const DIALECTS =
  /\b(?:openai\.com|openrouter\.ai|deepseek\.com|z\.ai|bigmodel\.cn|together\.(?:ai|xyz)|api\.moonshot\.\w+|x\.ai|nvidia\.com|cerebras\.ai|chutes\.ai|opencode\.ai|cloudflare\.com|ant-ling\.com)$/;

export function speaksPlainly(baseUrl: string): boolean {
  return !DIALECTS.test(URL.parse(baseUrl)?.hostname ?? "");
}

export const callCompletions: ProviderApi = (deps, call) => frameCall(deps, call, (frame) => converse(call, frame));

async function converse(call: ProviderCall, { exchange, signal, draft, say }: Frame): Promise<Told | undefined> {
  const answer = await exchange.post(
    `${call.model.baseUrl.replace(/\/+$/, "")}/chat/completions`,
    {
      "content-type": "application/json",
      accept: "text/event-stream",
      ...(call.key === undefined ? {} : { authorization: `Bearer ${call.key}` }),
    },
    payloadText(call),
    signal,
  );
  if (!answer) return {};
  const collector = new AnswerCollector(call.model.cost, say);
  draft.look = () => collector.look();
  if (answer.header("content-type")?.startsWith("application/json")) {
    collector.take(await textOf(answer, () => exchange.heard()));
  } else {
    const events = eventReader((data) => collector.take(data));
    await answer.read((chunk) => {
      exchange.heard();
      events.take(chunk);
    });
    events.end();
  }
  collector.finish();
  return collector.error ? { error: collector.error } : undefined;
}

/**
 * Detects a prompt that was too long: by the text of the provider's error, or by token counts if the provider cut it
 * silently. Reads errors only, never a conversation. The caller has ruled out rate limits and overload by status.
 */
import type { StopReason, Usage } from "../../core/history/entry.ts";

/** Texts that mention tokens and limits but mean something else. */
const OTHER_MEANING: readonly RegExp[] = [
  /^(?:Throttling error|Service unavailable):/i,
  /ThrottlingException/i,
  /rate limit/i,
  /too many requests/i,
  // A limit of the answer that the configuration set too high.
  /^max_(?:output_|completion_)?tokens: \d+ exceeds the limit of \d+/i,
];

const TOO_LONG: readonly RegExp[] = [
  /prompt (?:is )?too long/i,
  /input is too long for requested model/i,
  /exceeds the context window/i,
  /input token count (?:\([\d,]{1,20}\) )?exceeds the maximum/i,
  /maximum prompt length is \d+/i,
  /reduce the length of the messages/i,
  /maximum context length is [\d,]+ tokens/i,
  /exceeds the limit of \d+/i,
  /exceeds the available context size/i,
  /greater than the context length/i,
  /context window exceeds limit/i,
  /exceeded model token limit/i,
  /too large for model with \d+ maximum context length/i,
  /model_context_window_exceeded/i,
  /context[_ ]length[_ ]exceeded/i,
  /too many tokens/i,
  /token limit exceeded/i,
  /request_too_large/i,
  /exceeds (?:the )?(?:model'?s )?maximum context length(?: of [\d,]+ tokens?|\s*\([\d,]+\))/i,
  /exceeds (?:the )?maximum allowed input length of [\d,]+ tokens?/i,
  /range of input length should be/i,
  /input \(\d+ tokens\) is longer than the model'?s context length \(\d+ tokens\)/i,
  /prompt has [\d,]+ tokens?, but the configured context size is [\d,]+ tokens?/i,
  /prompt too long; exceeded (?:max )?context length/i,
  /context window exceeded/i,
  /prompt exceeds max length/i,
  /^(?:[\w -]+ API error \(413\):|413(?:\s|:|$))/i,
  /input length and .?max_tokens.? exceed context limit/i,
  /input tokens exceed the configured limit of \d+ tokens/i,
];

const CEREBRAS_WITHOUT_WORDS = /^4(?:00|13)\s{0,8}(?:status code\s{0,8})?\(no body\)/i;

export function saysTooLong(errorText: string, provider: string): boolean {
  if (OTHER_MEANING.some((pattern) => pattern.test(errorText))) return false;
  if (TOO_LONG.some((pattern) => pattern.test(errorText))) return true;
  return provider === "cerebras" && CEREBRAS_WITHOUT_WORDS.test(errorText);
}

/** Some providers cut the prompt silently: more tokens were read than fit, or none were left for the answer. */
export function cutSilently(stopReason: StopReason, usage: Usage | undefined, contextWindow: number): boolean {
  if (!usage || contextWindow <= 0) return false;
  const read = usage.input + usage.cacheRead;
  if (stopReason === "stop") return read > contextWindow;
  return stopReason === "length" && usage.output === 0 && read >= 0.99 * contextWindow;
}

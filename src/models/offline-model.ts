/**
 * The model that is there when no other is: no network, no weights, the same answer to the same words. It says plainly
 * that it is not a language model, and shows that everything around it works.
 */
import type { Model, ModelMessage, ModelRequest, ModelResult } from "../core/model.ts";

export const OFFLINE_LABEL = "[offline model, not an LLM]";

export const offlineModel: Model = {
  async call(request, signal, onEvent) {
    if (signal.aborted) return answer(request, [], { class: "aborted", message: "aborted" });
    const text = `${OFFLINE_LABEL} ${replyTo(lastWords(request.messages))}`;
    for (const word of text.split(/(?<=\s)/u)) onEvent({ type: "text", delta: word });
    return answer(request, [{ type: "text", text }]);
  },
};

function replyTo(words: string): string {
  if (words === "") return "I was sent no words.";
  if (/^(hi|hello|hey|good (morning|day|evening))\b/iu.test(words)) {
    return "Hello. No model is configured yet, so I can only repeat what I am told; your messages are kept all the same.";
  }
  return `You said: ${words}`;
}

/** What the newest message says, as the model would read it. */
function lastWords(messages: readonly ModelMessage[]): string {
  const last = messages.findLast((message) => message.role === "user");
  return (last?.content ?? [])
    .flatMap((block) => (block.type === "text" ? [block.text] : []))
    .join("\n")
    .trim();
}

function answer(request: ModelRequest, content: ModelResult["content"], error?: ModelResult["error"]): ModelResult {
  const size = (text: string): number => Math.ceil(text.length / 4);
  const input = request.messages.reduce(
    (sum, message) => sum + size(JSON.stringify(message.content)),
    size(request.system),
  );
  const output = content.reduce((sum, block) => sum + (block.type === "text" ? size(block.text) : 0), 0);
  return {
    content,
    stopReason: error ? "aborted" : "stop",
    api: "offline",
    provider: "offline",
    model: "offline",
    usage: { input, output, cacheRead: 0, cacheWrite: 0, totalTokens: input + output },
    ...(error ? { error } : {}),
  };
}

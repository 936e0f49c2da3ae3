/**
 * The model that answers if there is no other: no network, no weights, the same answer to the same text. It says that it is
 * not a language model, and shows that everything else works.
 */
import type { Block } from "../../core/history/entry.ts";
import type { CallPrice, Model, ModelMessage, ModelRequest, ModelResult } from "../../core/ports/model.ts";
import { findingsIn, namedTool, OFFLINE_PHRASES, phraseIn } from "./offline-phrases.ts";

const OFFLINE_LABEL = "[offline model, not an LLM]";

export const offlineModel: Model = {
  async call(request, signal, onEvent) {
    if (signal.aborted) return answer(request, [], { class: "aborted", message: "aborted" });
    const call = toolCallFor(request);
    if (call) {
      onEvent({ type: "toolCall", id: call.id, name: call.name });
      return answer(request, [call]);
    }
    const text = `${OFFLINE_LABEL} ${fromResults(request.messages) ?? replyTo(lastWords(request.messages), request)}`;
    for (const word of text.split(/(?<=\s)/u)) onEvent({ type: "text", delta: word });
    return answer(request, [{ type: "text", text }]);
  },
  price: async () => OFFLINE_PRICE,
};

/** Free of charge. Tokens are counted like those of any other model. */
const OFFLINE_PRICE: CallPrice = {
  contextWindow: 1_000_000,
  maxTokens: 16_384,
  leastTokens: 256,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
};

type ToolCall = Extract<Block, { type: "toolCall" }>;

/** The tool call for the latest message, unless it was made already. Its id is unique in the conversation. */
function toolCallFor({ messages, tools }: ModelRequest): ToolCall | undefined {
  if (messages.at(-1)?.role !== "user") return undefined;
  const names = namesOf(tools);
  const words = lastWords(messages);
  const found = phraseIn(words, names) ?? namedTool(words, tools);
  return found && { type: "toolCall", id: `offline_${messages.length}`, name: found.tool, arguments: found.given };
}

/** The answer after a tool's result. */
function fromResults(messages: readonly ModelMessage[]): string | undefined {
  const result = messages.at(-1);
  if (result?.role !== "tool") return undefined;
  const text = textOf(result);
  if (result.isError) return `${result.toolName} failed: ${text}`;
  const call = messages
    .flatMap(({ content }) => content)
    .findLast((block) => block.type === "toolCall" && block.id === result.toolCallId);
  const given = call?.type === "toolCall" ? call.arguments : {};
  const phrase = OFFLINE_PHRASES.find(({ tool }) => tool === result.toolName);
  return phrase?.answer(text, given) ?? `${result.toolName} says: ${text}`;
}

function replyTo(words: string, { tools, messages }: ModelRequest): string {
  if (words === "") return "Your message is empty.";
  const findings = findingsIn(words);
  if (findings !== undefined) return findings;
  const last = messages.findLast(({ role }) => role === "user");
  const trigger = /^<system_message origin="(cron|heartbeat|webhook):/u.exec(last ? textOf(last) : "")?.[1];
  // It cannot check anything.
  if (trigger === "heartbeat") return "HEARTBEAT_OK";
  if (trigger !== undefined) return words;
  if (/^(hi|hello|hey|good (morning|day|evening))\b/iu.test(words)) {
    return `Hello. No model is configured yet, so I can only repeat your words; your messages are stored all the same.${able(tools)}`;
  }
  if (/^help\b/iu.test(words)) return `No model is configured; \`rookery models\` says how to get one.${able(tools)}`;
  return `You said: ${words}`;
}

/** Tools that an agent finds by a search can be called as well. */
function namesOf(tools: ModelRequest["tools"]): readonly string[] {
  const names = tools.map(({ name }) => name);
  return names.includes("find_tools") ? [...names, ...SEARCHED] : names;
}

const SEARCHED: readonly string[] = ["sessions_send", "start_background_agent"];

/** Examples of requests that the agent has tools for. */
function able(tools: ModelRequest["tools"]): string {
  const names = namesOf(tools);
  const examples = OFFLINE_PHRASES.filter(({ tool }) => names.includes(tool));
  return examples.length === 0 ? "" : ` Try: ${examples.map(({ example }) => `"${example}"`).join(", ")}.`;
}

const textOf = ({ content }: ModelMessage): string =>
  content
    .flatMap((block) => (block.type === "text" ? [block.text] : []))
    .join("\n")
    .trim();

/** The text of the latest message. */
function lastWords(messages: readonly ModelMessage[]): string {
  const last = messages.findLast((message) => message.role === "user");
  // A message of another agent counts like a person's.
  return last ? textOf(last).replace(/^<system_message[^>]*>(.*)<\/system_message>$/su, "$1") : "";
}

function answer(request: ModelRequest, content: ModelResult["content"], error?: ModelResult["error"]): ModelResult {
  const size = (text: string): number => Math.ceil(text.length / 4);
  const input = request.messages.reduce(
    (sum, message) => sum + size(JSON.stringify(message.content)),
    size(request.system),
  );
  const output = content.reduce((sum, block) => sum + (block.type === "text" ? size(block.text) : 0), 0);
  const asks = content.some((block) => block.type === "toolCall");
  return {
    content,
    stopReason: error ? "aborted" : asks ? "tool_calls" : "stop",
    api: "offline",
    provider: "offline",
    model: "offline",
    usage: { input, output, cacheRead: 0, cacheWrite: 0, totalTokens: input + output },
    error,
  };
}

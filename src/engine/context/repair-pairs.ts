/**
 * Keeps a context acceptable to every provider: each tool call is followed at once by its one result. History is never
 * changed for it. Runs already give every call its result; this is a safeguard.
 */
import type { ModelMessage } from "../../core/ports/model.ts";

export const NO_RESULT = "No result was recorded for this call.";

/** Returns the same array if nothing needs repair. */
export function repairPairs(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  if (isPaired(messages)) return messages;
  const repaired: ModelMessage[] = [];
  const used = new Set<ModelMessage>();
  messages.forEach((message, place) => {
    if (message.role === "tool") return;
    repaired.push(message);
    for (const call of callsOf(message)) {
      const result = resultOf(call.id, messages, place, used);
      if (result) used.add(result);
      repaired.push(result ?? missing(call));
    }
  });
  return repaired;
}

/** The first result of this id behind the call and before a later turn uses the id again. */
function resultOf(id: string, messages: readonly ModelMessage[], place: number, used: ReadonlySet<ModelMessage>) {
  for (const message of messages.slice(place + 1)) {
    if (message.role === "tool" && message.toolCallId === id && !used.has(message)) return message;
    if (callsOf(message).some((call) => call.id === id)) return undefined;
  }
  return undefined;
}

const callsOf = (message: ModelMessage) =>
  message.role === "assistant" ? message.content.filter((block) => block.type === "toolCall") : [];

/** Visits every message once and allocates nothing for those without calls: it runs before each model call. */
function isPaired(messages: readonly ModelMessage[]): boolean {
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      const place = open.indexOf(message.toolCallId ?? "");
      if (place === -1) return false;
      open.splice(place, 1);
      continue;
    }
    if (open.length > 0) return false;
    if (message.role === "assistant" && message.content.some(isCall)) open = callsOf(message).map((call) => call.id);
  }
  return open.length === 0;
}

const isCall = (block: ModelMessage["content"][number]): boolean => block.type === "toolCall";

const missing = (call: { id: string; name: string }): ModelMessage => ({
  role: "tool",
  content: [{ type: "text", text: NO_RESULT }],
  toolCallId: call.id,
  toolName: call.name,
  isError: true,
});

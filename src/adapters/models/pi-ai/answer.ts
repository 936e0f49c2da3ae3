/** Translates the library's answers into ours: keeps signatures, drops the library's scratch fields. */
import type { AssistantMessage, StopReason as PiStopReason } from "@earendil-works/pi-ai";
import type { Block, StopReason, Usage } from "../../../core/history/entry.ts";
import { argumentsIn } from "../call-arguments.ts";

/** `written`: the arguments of calls as the model wrote them, by their place. A provider that sends them parsed writes none. */
export const blocksOf = (
  content: AssistantMessage["content"],
  written: ReadonlyMap<number, string> = new Map(),
): readonly Block[] => content.map((block, index) => blockOf(block, written.get(index)));

function blockOf(block: AssistantMessage["content"][number], written: string | undefined): Block {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text, textSignature: block.textSignature || undefined };
    case "thinking":
      return {
        type: "thinking",
        thinking: block.thinking,
        thinkingSignature: block.thinkingSignature || undefined,
        redacted: block.redacted,
      };
    case "toolCall":
      return {
        type: "toolCall",
        id: block.id,
        name: block.name,
        arguments: block.arguments,
        malformed: written !== undefined && argumentsIn(written) === undefined ? true : undefined,
        thoughtSignature: block.thoughtSignature || undefined,
      };
  }
}

export function stopReasonOf(reason: PiStopReason): StopReason {
  switch (reason) {
    case "toolUse":
      return "tool_calls";
    case "stop":
    case "length":
    case "error":
    case "aborted":
      return reason;
    case "pending":
    case "deferred":
      return "error";
  }
}

/** Undefined if the provider reported no counts. */
export function usageOf({
  input,
  output,
  cacheRead,
  cacheWrite,
  totalTokens,
  cost,
}: AssistantMessage["usage"]): Usage | undefined {
  if (input === 0 && output === 0 && cacheRead === 0 && cacheWrite === 0) return undefined;
  const total = totalTokens || input + output + cacheRead + cacheWrite;
  return { input, output, cacheRead, cacheWrite, totalTokens: total, cost: { ...cost } };
}

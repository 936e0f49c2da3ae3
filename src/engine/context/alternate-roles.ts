/**
 * The strictest form a provider may ask for: people and assistant take turns, a person first. Neighbours of one role become
 * one message; nothing is left out. Used only after a provider refused a context for its order; history is unchanged.
 */
import type { ModelMessage } from "../../core/ports/model.ts";

const ROLE_ORDER =
  /roles? must alternate|alternate between|incorrect role|role order|expected (?:a )?'?(?:user|assistant)'? role|must be (?:a )?user message|first message must/iu;

/** Whether a refusal is about the order of roles. Reads the provider's error only, never the conversation. */
export const isRoleOrderError = (error: { readonly class: string; readonly message: string }): boolean =>
  error.class === "request" && ROLE_ORDER.test(error.message);

export function alternateRoles(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  const joined: ModelMessage[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    // A call and its results are not joined with other messages.
    const plain = message.role !== "tool" && !hasCalls(message) && last !== undefined && !hasCalls(last);
    if (plain && last.role === message.role)
      joined[joined.length - 1] = { ...last, content: [...last.content, ...message.content] };
    else joined.push(message);
  }
  const first = joined[0];
  if (first && first.role !== "user")
    joined.unshift({ role: "user", content: [{ type: "text", text: "(The conversation goes on.)" }] });
  return joined;
}

const hasCalls = ({ content }: ModelMessage): boolean => content.some((block) => block.type === "toolCall");

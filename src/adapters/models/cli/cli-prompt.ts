/** A conversation as the text that a program gets. A message cannot pretend to be another one: its lines are indented. */
import type { ModelMessage } from "../../../core/ports/model.ts";

/** What a provider has not seen: the messages after its last answer. Undefined if it has not answered yet. */
export function newMessages(messages: readonly ModelMessage[], provider: string): readonly ModelMessage[] | undefined {
  const last = messages.findLastIndex((message) => message.role === "assistant");
  if (last === -1 || messages[last]?.provider !== provider) return undefined;
  const since = messages.slice(last + 1);
  return since.length === 0 ? undefined : since;
}

/** One message of a person is sent as it is. */
export function conversationText(messages: readonly ModelMessage[], system?: string): string {
  const [only] = messages;
  const parts = messages.length === 1 && only?.role === "user" ? [textOf(only)] : messages.map(turn);
  return [...(system === undefined || system === "" ? [] : [system]), ...parts].join("\n\n");
}

const NAMES = { user: "User", assistant: "Assistant", tool: "Tool result" } as const;

const turn = (message: ModelMessage): string =>
  `${NAMES[message.role]}:\n${textOf(message)
    .split("\n")
    .map((line) => `  ${line}`)
    .join("\n")}`;

const textOf = ({ content }: ModelMessage): string =>
  content
    .flatMap((block) => {
      if (block.type === "text") return [block.text];
      if (block.type === "toolCall") return [`[called ${block.name}]`];
      return block.type === "image" ? ["[an image]"] : [];
    })
    .join("\n");

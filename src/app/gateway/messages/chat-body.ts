/** Turns a text into a message, or into a command and the message after it, if commands are on. */
import { commandsOn } from "../../../config/commands-on.ts";
import type { Config } from "../../../config/config-schema.ts";
import { typedText } from "../../../core/message/incoming-message.ts";
import type { MessageBody } from "../../../core/message/message.ts";
import { readTyped } from "../../../engine/commands/read-chat-command.ts";

/** The body to post; second, a command that is posted before it. Other messages than a person's stay as they are. */
export function chatBody(
  { commands }: Pick<Config, "commands">,
  said: MessageBody,
  channel: string,
): readonly [MessageBody, MessageBody?] {
  if (said.kind !== "user") return [said];
  const on = commandsOn(commands, channel);
  const hasFiles = (said.files?.length ?? 0) > 0;
  const { command, message } = readTyped(typedText(said.text), { on, hasFiles });
  if (!message) return [command ?? said];
  return [{ ...said, text: message.text, queue: message.queue ?? said.queue }, command];
}

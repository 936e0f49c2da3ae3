/** What a text becomes where commands are on: a message, or a command, perhaps with a message after it. */

import { commandsOn } from "../../../config/commands-on.ts";
import type { Config } from "../../../config/config-schema.ts";
import { API_CHANNEL } from "../../../core/delivery/route.ts";
import type { MessageBody } from "../../../core/message/message.ts";
import { readChatCommand } from "../../../engine/commands/read-chat-command.ts";

type UserBody = Extract<MessageBody, { kind: "user" }>;

/** The body to post; second, a command that is posted before it. */
export function chatBody(
  { commands, session }: Pick<Config, "commands" | "session">,
  said: UserBody,
  channel: string = API_CHANNEL,
): readonly [MessageBody, MessageBody?] {
  const on = commandsOn(commands, channel);
  const input = readChatCommand(said.text, { on, resetTriggers: session.resetTriggers });
  if (!input) return [said];
  if (input.kind === "message") return [{ ...said, text: input.text, queue: input.queue ?? said.queue }];
  const { name, text, inTurn, message } = input;
  const command = commandBody(name, text, inTurn);
  if (message === undefined && !said.files?.length) return [command];
  return [{ ...said, text: message ?? "" }, command];
}

function commandBody(name: string, text: string, inTurn: true | undefined): MessageBody {
  switch (name) {
    case "stop":
      return { kind: "stop" };
    case "new":
    case "reset":
      return { kind: "reset", by: "person" };
    case "compact":
      return { kind: "compact", instructions: text || undefined };
    case "subagents":
      return { kind: "subagents", command: text };
    default:
      return { kind: "command", name, text, inTurn };
  }
}

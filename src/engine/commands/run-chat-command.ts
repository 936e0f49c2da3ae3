/** Carries out a command that a person typed: asks for the right to it, runs it, and returns the answer and its changes. */

import { closestWord } from "../../core/closest-word.ts";
import { cutText } from "../../core/cut-text.ts";
import { actionOf, type ChatCommand, type CommandContext, type CommandReply } from "./chat-command.ts";
import { commandNamed, commandNames } from "./chat-commands.ts";
import { reply } from "./words.ts";

/** The name of a text that is nearly a command; its `text` is the word as it was typed. */
export const UNKNOWN_COMMAND = "unknown";

interface TypedCommand {
  readonly name: string;
  readonly text: string;
}

export async function runChatCommand({ name, text }: TypedCommand, context: CommandContext): Promise<CommandReply> {
  if (name === UNKNOWN_COMMAND) return { text: unknownText(text) };
  const command = commandNamed(name);
  if (!command?.run) return { text: unknownText(name) };
  const denial = denialOf(command, text, context);
  return denial === undefined ? command.run(text, context) : { text: denial };
}

/** Why the person may not use the command; undefined if they may. */
function denialOf(
  command: ChatCommand,
  text: string,
  { agent, decide }: Pick<CommandContext, "agent" | "decide">,
): string | undefined {
  if (command.who === "writers") return undefined;
  const changes = text !== "" && command.inTurn === true;
  // Settings belong to the person of the conversation.
  const target = changes && agent.person !== undefined ? { target: `agent:${agent.id}`, of: agent.person } : {};
  const { verdict, reason } = decide({ action: changes ? actionOf(command) : READS, rights: [], ...target });
  return verdict === "allow" ? undefined : reply(`You may not use /${command.name} here: ${reason}.`);
}

/** The action of a command that only shows something. */
const READS = "chat_read";

function unknownText(word: string): string {
  const typed = cutText(word, 64).replace(/^\//u, "");
  const near = closestWord(typed, commandNames());
  const hint = near === undefined ? "" : ` Did you mean /${near}?`;
  return reply(`There is no /${typed}.${hint} /help lists the commands.`);
}

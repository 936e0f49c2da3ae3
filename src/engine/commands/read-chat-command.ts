/**
 * Reads what a person typed on the connector's side: a message, or a command of the table. The engine itself never looks for
 * commands in text.
 */

import { DEFAULT_RESET_TRIGGERS } from "../../core/agent/session-freshness.ts";
import { closestWord } from "../../core/closest-word.ts";
import type { IncomingMessage } from "../../core/message/incoming-message.ts";
import type { QueueSettings } from "../../core/message/queue.ts";
import type { Accepted, ConnectorHost } from "../../core/ports/connector.ts";
import { isAbortText, parseQueueDirective, parseResetCommand, withoutMention } from "../inbox/user-input.ts";
import { commandNamed, commandNames } from "./chat-commands.ts";
import { UNKNOWN_COMMAND } from "./run-chat-command.ts";

export type ChatInput =
  /** `queue` holds for this message only. */
  | { readonly kind: "message"; readonly text: string; readonly queue?: Partial<QueueSettings> }
  | {
      readonly kind: "command";
      /** In the table; `unknown` for a word that is nearly one. */
      readonly name: string;
      readonly text: string;
      readonly inTurn?: true;
      /** A message that follows the command. */
      readonly message?: string;
    };

export interface ReadOptions {
  /** Words that begin a new session. */
  readonly resetTriggers?: readonly string[];
  /** The agent's names in groups: one in front of a command or joined to it (`/new@rook`) is skipped. */
  readonly names?: readonly string[];
  /** Whether commands are read at all. */
  readonly on?: boolean;
}

/** Undefined if the text is a message without a directive. */
export function readChatCommand(text: string, options: ReadOptions = {}): ChatInput | undefined {
  const { resetTriggers = DEFAULT_RESET_TRIGGERS, names = [], on = true } = options;
  if (!on) return undefined;
  if (isAbortText(text)) return { kind: "command", name: "stop", text: "" };
  const reset = parseResetCommand(text, resetTriggers, names);
  if (reset) return { kind: "command", name: "reset", text: "", message: reset.text };
  const typed = withoutMention(text.trim(), names);
  const word = commandWord(typed, names);
  if (word && word.name !== "queue") return named(word, resetTriggers);
  return queueInput(typed);
}

export const readUserInput = (text: string, options?: ReadOptions): ChatInput =>
  readChatCommand(text, options) ?? { kind: "message", text };

interface Word {
  readonly name: string;
  readonly rest: string;
}

const COMMAND = /^\/([a-z][a-z_-]{0,31})(?:@([^\s:]{1,64}))?(?=$|[\s:])/iu;

/** A word like a command at the beginning; undefined for another bot's command. */
function commandWord(typed: string, names: readonly string[]): Word | undefined {
  const found = COMMAND.exec(typed.slice(0, 128));
  if (!found?.[1]) return undefined;
  const [whole, name, bot] = found;
  const isOurs = bot === undefined || names.length === 0 || names.some((one) => bare(one) === bot.toLowerCase());
  if (!isOurs) return undefined;
  const rest = typed.slice(whole.length).trimStart();
  return { name: name.toLowerCase(), rest: (rest.startsWith(":") ? rest.slice(1) : rest).trim() };
}

const bare = (name: string): string => name.trim().toLowerCase().replace(/^@/u, "");

function named({ name, rest }: Word, resetTriggers: readonly string[]): ChatInput | undefined {
  const isOff = (word: string): boolean =>
    (word === "new" || word === "reset") && !resetTriggers.some((trigger) => trigger.toLowerCase() === `/${word}`);
  const command = commandNamed(name);
  if (command) {
    if (isOff(command.name) || !command.reads(rest)) return undefined;
    return { kind: "command", name: command.name, text: rest, inTurn: changes(command.inTurn && rest !== "") };
  }
  const near = closestWord(
    name,
    commandNames().filter((one) => one.length > 1 && !isOff(one)),
  );
  return near === undefined ? undefined : { kind: "command", name: UNKNOWN_COMMAND, text: `/${name}` };
}

const changes = (isChange: boolean | undefined): true | undefined => (isChange ? true : undefined);

/** `/queue` may stand inside a message: then it holds for that message only. */
function queueInput(typed: string): ChatInput | undefined {
  const directive = parseQueueDirective(typed);
  if (!directive) return undefined;
  const { rest, settings, reset, invalid, leads, words } = directive;
  const isEmpty = Object.keys(settings).length === 0;
  if (invalid.length > 0 || (isEmpty && !reset)) {
    // A word that is no setting gets an answer; inside a message it may be part of what the person says.
    return leads ? { kind: "command", name: "queue", text: words, inTurn: changes(words !== "") } : undefined;
  }
  if (reset) return { kind: "command", name: "queue", text: "reset", inTurn: true, message: rest || undefined };
  if (rest === "") return { kind: "command", name: "queue", text: words, inTurn: true };
  return { kind: "message", text: rest, queue: settings };
}

/**
 * Submits a person's text. Durable when it resolves. A rejection means that the text was not accepted, and the connector must
 * not acknowledge it. `names`: the agent's names in groups.
 */
export function submitText(
  host: ConnectorHost,
  incoming: IncomingMessage,
  names?: readonly string[],
): Promise<Accepted> {
  const { text, files, ...origin } = incoming;
  const input = readUserInput(text, { resetTriggers: host.resetTriggers, names, on: host.commands });
  if (input.kind === "message") {
    return host.accept({ ...incoming, text: input.text, queue: input.queue ?? incoming.queue });
  }
  const { name, message } = input;
  switch (name) {
    case "stop":
      return host.command({ ...origin, command: { name } });
    case "reset":
    case "new":
      return host.command({ ...origin, command: { name: "reset", text: message } });
    case "compact":
      return host.command({ ...origin, command: { name, instructions: input.text || undefined } });
    case "subagents":
      return host.command({ ...origin, command: { name, text: input.text } });
    default:
      return host.command({
        ...origin,
        command: { name: "chat", command: name, text: input.text, inTurn: input.inTurn, message },
      });
  }
}

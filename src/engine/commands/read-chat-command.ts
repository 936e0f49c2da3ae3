/**
 * Reads what a person typed: a message, a command of the table, or both. Commands are read here and nowhere else, once, before
 * anything is added to the text. The inbox holds commands as messages of their own kinds.
 */

import { DEFAULT_RESET_TRIGGERS } from "../../core/agent/session-freshness.ts";
import { closestWord } from "../../core/closest-word.ts";
import { type TypedText, typedText } from "../../core/message/incoming-message.ts";
import type { MessageBody } from "../../core/message/message.ts";
import type { QueueSettings } from "../../core/message/queue.ts";
import { isAbortText, parseQueueDirective, parseResetCommand, withoutMention } from "../inbox/user-input.ts";
import { commandNamed, commandNames } from "./chat-commands.ts";
import { UNKNOWN_COMMAND } from "./run-chat-command.ts";

type ChatInput =
  /** `queue` holds for this message only. */
  | { readonly kind: "message"; readonly text: TypedText; readonly queue?: Partial<QueueSettings> }
  | {
      readonly kind: "command";
      /** In the table; `unknown` for a word that is nearly one. */
      readonly name: string;
      readonly text: string;
      readonly inTurn?: true;
      /** A message that follows the command. */
      readonly message?: TypedText;
    };

export interface ReadOptions {
  /** Words that begin a new session. */
  readonly resetTriggers?: readonly string[];
  /** The agent's names in groups: one in front of a command or joined to it (`/new@rook`) is skipped. */
  readonly names?: readonly string[];
  /** Whether commands are read at all. */
  readonly on?: boolean;
  /** Whether files came with the text: a stop word is then not alone, and a command is followed by a message with the files. */
  readonly hasFiles?: boolean;
}

/** A command, a message, or both: then the command comes first. */
export interface TypedInput {
  readonly command?: MessageBody;
  /** `queue` holds for this message only. */
  readonly message?: { readonly text: TypedText; readonly queue?: Partial<QueueSettings> };
}

export function readTyped(text: TypedText, options: ReadOptions = {}): TypedInput {
  const input = readChatCommand(text, options);
  if (!input) return { message: { text } };
  if (input.kind === "message") return { message: input };
  const { message = options.hasFiles ? typedText("") : undefined } = input;
  const command = commandBody(input.name, input.text, input.inTurn);
  return message === undefined ? { command } : { command, message: { text: message } };
}

export function commandBody(name: string, text = "", inTurn?: true): MessageBody {
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

/** Undefined if the text is a message without a directive. */
export function readChatCommand(text: TypedText, options: ReadOptions = {}): ChatInput | undefined {
  const { resetTriggers = DEFAULT_RESET_TRIGGERS, names = [], on = true, hasFiles = false } = options;
  if (!on) return undefined;
  const typed = withoutMention(text.trim(), names);
  if (!hasFiles && isAbortText(typed)) return { kind: "command", name: "stop", text: "" };
  const reset = parseResetCommand(text, resetTriggers, names);
  if (reset)
    return {
      kind: "command",
      name: "reset",
      text: "",
      message: reset.text === undefined ? undefined : typedText(reset.text),
    };
  const word = commandWord(typed, names);
  if (word && word.name !== "queue") return named(word, resetTriggers);
  return queueInput(typed);
}

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

/** `/queue` may be inside a message: then it holds for that message only. */
function queueInput(typed: string): ChatInput | undefined {
  const directive = parseQueueDirective(typed);
  if (!directive) return undefined;
  const { rest, settings, reset, invalid, leads, words } = directive;
  const isEmpty = Object.keys(settings).length === 0;
  if (invalid.length > 0 || (isEmpty && !reset)) {
    // A word that is not a setting gets an answer; inside a message it may be part of what the person says.
    return leads ? { kind: "command", name: "queue", text: words, inTurn: changes(words !== "") } : undefined;
  }
  if (reset)
    return { kind: "command", name: "queue", text: "reset", inTurn: true, message: rest ? typedText(rest) : undefined };
  if (rest === "") return { kind: "command", name: "queue", text: words, inTurn: true };
  return { kind: "message", text: typedText(rest), queue: settings };
}

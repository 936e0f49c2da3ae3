/** `/memory`: shows what entered the last answer, how full the notes are, and what is written down about the person; undoes a change of it. */
import type { TurnMemory, TurnPart } from "../../core/agent/turn-memory.ts";
import { cutText } from "../../core/cut-text.ts";
import { RookeryError } from "../../core/errors.ts";
import type { ChatCommand, CommandContext } from "./chat-command.ts";
import { oneWord, reply } from "./words.ts";

const MAX_SHOWN = 4_000;

export const memoryCommand: ChatCommand = {
  name: "memory",
  usage: "[FILE] | undo [CHANGE]",
  help: "what the agent has written down about you, and what of it entered the last answer",
  who: "own",
  reads: (rest) => oneWord(rest) || UNDO.test(rest),
  async run(name, context) {
    const { agent, person, parts, turn } = context;
    const undo = UNDO.exec(name);
    if (undo) return { text: reply(await undone(undo[1], context)) };
    // Memory belongs to the person of the conversation: no one else reads it there.
    const isOwn = agent.person === undefined || agent.person === person;
    const memory = isOwn ? await parts.memory?.(agent, name || undefined) : undefined;
    const entered = isOwn && !name ? turnLines(await turn()) : [];
    if (!memory) {
      const none = name ? `There is no memory file "${cutText(name, 64)}".` : "Nothing is written down yet.";
      return { text: [reply(none), ...entered].join("\n") };
    }
    const { names, text } = memory;
    const others = names.filter((one) => one !== memory.name);
    const more = others.length > 0 ? [`Also: ${others.slice(0, 50).join(", ")}. /memory FILE shows one.`] : [];
    const shown = text.trim() || "(empty)";
    const rest =
      shown.length > MAX_SHOWN ? [`[${count(shown.length - MAX_SHOWN)} more characters are not shown here]`] : [];
    return { text: [...entered, reply(`${memory.name}:`), cutText(shown, MAX_SHOWN), ...rest, ...more].join("\n") };
  },
};

const UNDO = /^undo(?: +(\d{1,15}))?$/;
const MAX_LISTED = 5;

/** Only for the person of the conversation, whose notes they are. Answered the same for another's change and for none. */
async function undone(number: string | undefined, context: CommandContext): Promise<string> {
  const { agent, person, parts } = context;
  const changes = agent.person === person ? parts.memoryChanges : undefined;
  if (!changes) return "There is no change of your notes here.";
  try {
    if (number === undefined) return listText(await changes.list(agent));
    const { file, id } = await changes.undo(agent, person, Number(number));
    return `Undone: ${file} is as it was before change ${number}. /memory undo ${id} takes that back.`;
  } catch (error) {
    if (!(error instanceof RookeryError)) throw error;
    return error.message;
  }
}

function listText(changes: readonly { id: number; file: string; is: string; undone: boolean }[]): string {
  if (changes.length === 0) return "There is no change of your notes.";
  const lines = changes
    .slice(0, MAX_LISTED)
    .map(({ id, file, is, undone }) => `${id}: ${is} ${cutText(file, 64)}${undone ? " (undone)" : ""}`);
  return ["The last changes of your notes. /memory undo NUMBER takes one back.", ...lines].join("\n");
}

/** A line for each part, and for each lookup. */
function turnLines(turn: TurnMemory | undefined): readonly string[] {
  if (!turn) return [];
  const looked = turn.lookups.map(
    ({ tool, characters, untrusted }) => `- ${tool}: ${count(characters)} characters${marked(untrusted)}`,
  );
  return [
    reply(`In the last answer (${count(turn.characters)} characters, about ${count(turn.tokens)} tokens of prompt):`),
    ...turn.parts.map(partLine),
    ...(looked.length > 0 ? ["Looked up:", ...looked] : []),
  ];
}

function partLine({ part, characters, limit, missing, untrusted }: TurnPart): string {
  const size =
    limit === undefined
      ? `${count(characters)} characters`
      : `${count(Math.min(characters, limit))} of ${count(limit)} characters`;
  const cut = missing === undefined ? "" : `; ${count(missing)} MORE DO NOT FIT`;
  return `- ${part}: ${size}${cut}${marked(untrusted)}`;
}

const marked = (untrusted: true | undefined): string => (untrusted ? " (with untrusted text)" : "");
const count = (number: number): string => number.toLocaleString("en-US");

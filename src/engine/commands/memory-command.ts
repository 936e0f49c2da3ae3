/** `/memory`: shows what entered the last answer, how full the notes are, and what is written down about the person. */
import type { TurnMemory, TurnPart } from "../../core/agent/turn-memory.ts";
import { cutText } from "../../core/cut-text.ts";
import type { ChatCommand } from "./chat-command.ts";
import { oneWord, reply } from "./words.ts";

const MAX_SHOWN = 4_000;

export const memoryCommand: ChatCommand = {
  name: "memory",
  usage: "[FILE]",
  help: "what the agent has written down about you, and what of it entered the last answer",
  who: "own",
  reads: oneWord,
  async run(name, { agent, person, parts, turn }) {
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

/** A line for each part, and for each lookup. */
export function turnLines(turn: TurnMemory | undefined): readonly string[] {
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

/** `/memory`: shows what the agent has written down about the person. */
import { cutText } from "../../core/cut-text.ts";
import type { ChatCommand } from "./chat-command.ts";
import { oneWord, reply } from "./words.ts";

const MAX_SHOWN = 4_000;

export const memoryCommand: ChatCommand = {
  name: "memory",
  usage: "[FILE]",
  help: "what the agent has written down about you",
  who: "own",
  reads: oneWord,
  async run(name, { agent, person, parts }) {
    // Memory belongs to the person of the conversation: no one else reads it there.
    const isOwn = agent.person === undefined || agent.person === person;
    const memory = isOwn ? await parts.memory?.(agent, name || undefined) : undefined;
    if (!memory)
      return { text: reply(name ? `There is no memory file "${cutText(name, 64)}".` : "Nothing is written down yet.") };
    const { names, text } = memory;
    const others = names.filter((one) => one !== memory.name);
    const more = others.length > 0 ? [`Also: ${others.slice(0, 50).join(", ")}. /memory FILE shows one.`] : [];
    return { text: [reply(`${memory.name}:`), cutText(text.trim() || "(empty)", MAX_SHOWN), ...more].join("\n") };
  },
};

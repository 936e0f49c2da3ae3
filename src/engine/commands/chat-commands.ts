/** The table of all commands in chats, for every connector. */
import { againCommand } from "./again-command.ts";
import { approvalCommands } from "./approval-commands.ts";
import type { ChatCommand } from "./chat-command.ts";
import { cronCommand } from "./cron-command.ts";
import { levelCommands, sendCommand } from "./level-commands.ts";
import { memoryCommand } from "./memory-command.ts";
import { modelCommand } from "./model-command.ts";
import { pairCommands } from "./pair-commands.ts";
import { queueCommand } from "./queue-command.ts";
import { remindCommand } from "./remind-command.ts";
import { statusCommand } from "./status-command.ts";
import { anything, nothing, oneWord, reply } from "./words.ts";

const helpCommand: ChatCommand = {
  name: "help",
  aliases: ["commands"],
  usage: "[COMMAND]",
  help: "this list, or one command",
  who: "writers",
  reads: oneWord,
  run(word) {
    const wanted = word.toLowerCase().replace(/^\//u, "");
    if (wanted === "") return { text: chatCommands.map(helpLine).join("\n") };
    const found = commandNamed(wanted);
    if (!found) return { text: reply(`There is no /${wanted.slice(0, 64)}. /help lists the commands.`) };
    const { aliases = [], example, who } = found;
    const also = aliases.length > 0 ? [`Also: ${aliases.map((alias) => `/${alias}`).join(", ")}`] : [];
    const shown = example === undefined ? [] : [`Example: ${example}`];
    return { text: [helpLine(found), ...also, ...shown, WHO[who]].join("\n") };
  },
};

const WHO: Readonly<Record<ChatCommand["who"], string>> = {
  writers: "Everyone who may write here may use it.",
  own: "You may use it in your own conversations.",
  owner: "Only the owner may change it.",
};

/** Telegram sends it when a person opens the chat. The code of a used link may follow it. */
const startCommand: ChatCommand = {
  name: "start",
  help: "a short welcome",
  who: "writers",
  reads: (rest) => rest === "" || /^[a-z0-9]{10}$/iu.test(rest),
  run: () => ({ text: "Hello. Write what you need, in your own words. /help lists the commands." }),
};

export const chatCommands: readonly ChatCommand[] = [
  startCommand,
  { name: "new", usage: "[message]", help: "begin a new session", who: "writers", reads: anything },
  { name: "reset", usage: "[message]", help: "the same as /new", who: "writers", reads: anything },
  { name: "stop", help: "stop the work on earlier messages", who: "writers", reads: nothing },
  {
    ...{ name: "compact", usage: "[instructions]", help: "replace the conversation so far by a summary" },
    ...{ who: "writers", reads: anything },
  },
  againCommand,
  statusCommand,
  modelCommand,
  ...levelCommands,
  queueCommand,
  sendCommand,
  ...approvalCommands,
  ...pairCommands,
  remindCommand,
  cronCommand,
  {
    ...{ name: "subagents", usage: "[list|stop|log|send|info]", help: "the agents that work for this conversation" },
    ...{ who: "writers", reads: anything },
  },
  memoryCommand,
  helpCommand,
];

const byName = new Map(chatCommands.flatMap((one) => [one.name, ...(one.aliases ?? [])].map((name) => [name, one])));

/** By its name or an alias, in lower case. */
export const commandNamed = (name: string): ChatCommand | undefined => byName.get(name);

/** Every name and alias. */
export const commandNames = (): readonly string[] => [...byName.keys()];

const helpLine = ({ name, usage, help }: ChatCommand): string =>
  `/${name}${usage === undefined ? "" : ` ${usage}`} – ${help}`;

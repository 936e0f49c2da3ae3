/** Commands that set one field of the conversation's state: `/think`, `/verbose`, `/reasoning`, `/elevated`, `/activation`, `/usage`, `/send`. */
import { SETTABLE } from "../../core/agent/patch-state.ts";
import type { SendDecision } from "../../core/agent/send-policy.ts";
import type { SettableField } from "../../core/agent/settable-fields.ts";
import { costText } from "../../core/cost-text.ts";
import type { ChatCommand, CommandContext, CommandReply } from "./chat-command.ts";
import { isResetWord, oneWord, reply } from "./words.ts";

interface Level {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly field: SettableField;
  readonly what: string;
  readonly words: readonly string[];
  readonly help: string;
  readonly who?: ChatCommand["who"];
  /** More about the state it shows, after the value. */
  more?(context: CommandContext): Promise<string>;
}

const LEVELS: readonly Level[] = [
  {
    name: "think",
    aliases: ["thinking", "t"],
    field: "thinkingLevel",
    what: "Thinking",
    words: ["off", "minimal", "low", "medium", "high", "xhigh"],
    help: "how long the model thinks before it answers",
  },
  {
    name: "verbose",
    aliases: ["v"],
    field: "verboseLevel",
    what: "Verbose",
    words: ["off", "on", "full"],
    help: "whether tool calls are shown while it works",
  },
  {
    name: "reasoning",
    field: "reasoningLevel",
    what: "Reasoning",
    words: ["off", "on"],
    help: "whether the model's thoughts are sent with the answer",
  },
  {
    name: "elevated",
    aliases: ["elev"],
    field: "elevatedLevel",
    what: "Elevated",
    words: ["off", "on", "ask", "full"],
    help: "whether commands may run on this machine without the sandbox",
    who: "owner",
  },
  {
    name: "activation",
    field: "groupActivation",
    what: "Group activation",
    words: ["mention", "always"],
    help: "whether a group is answered when it names the bot, or always",
    who: "owner",
  },
  {
    name: "usage",
    field: "responseUsage",
    what: "Usage lines",
    words: ["off", "on", "tokens", "full"],
    help: "what this conversation has used, and whether answers end with it",
    more: usedText,
  },
];

const DEFAULT_TEXT = "the default";

export const levelCommands: readonly ChatCommand[] = LEVELS.map(
  ({ name, aliases, words, help, who = "own", ...level }) => ({
    ...{ name, aliases, help, who, inTurn: true },
    usage: `[${words.join("|")}|default]`,
    reads: oneWord,
    async run(word, context): Promise<CommandReply> {
      const { field, what } = level;
      if (word === "") {
        const now = String(context.agent.state[field] ?? DEFAULT_TEXT);
        const more = (await level.more?.(context)) ?? "";
        return { text: reply(`${what}: ${now}. Choose: ${words.join(", ")}, default.${more}`) };
      }
      if (isResetWord(word)) return { text: reply(`${what}: back to ${DEFAULT_TEXT}.`), patch: { [field]: null } };
      const chosen = word.toLowerCase();
      if (!words.includes(chosen) || !SETTABLE[field].schema.safeParse(chosen).success) {
        return {
          text: reply(`"${word.slice(0, 64)}" is not one of ${words.join(", ")}, default. Nothing was changed.`),
        };
      }
      const patch = { [field]: chosen };
      const state = { ...context.agent.state, ...patch };
      const problem = await context.parts.models?.problem({ ...context.agent, state }, patch);
      if (problem !== undefined) return { text: reply(`${problem} Nothing was changed.`) };
      return { text: reply(`${what}: ${chosen}.`), patch };
    },
  }),
);

async function usedText({ agent, now, parts, spentSince }: CommandContext): Promise<string> {
  const lines = Object.entries(agent.state.stats).flatMap(([provider, models]) =>
    Object.entries(models).map(([model, { input, output, cacheRead, total }]) => {
      const cached = cacheRead > 0 ? `, ${cacheRead} from the cache` : "";
      return `${provider}/${model}: ${total} tokens (${input} in, ${output} out${cached})`;
    }),
  );
  const { tokens, dollars } = await spentSince(parts.dayStart?.(now) ?? now - DAY_MS);
  return ["", `Today: ${tokens} tokens, ${costText(dollars, tokens)}.`, ...lines].join("\n");
}

export const DAY_MS = 24 * 3600_000;

const SEND_WORDS: Readonly<Record<string, SendDecision>> = { on: "allow", allow: "allow", off: "deny", deny: "deny" };
const SHOWN: Readonly<Record<SendDecision, string>> = { allow: "on", deny: "off" };

export const sendCommand: ChatCommand = {
  name: "send",
  usage: "[on|off|inherit]",
  help: "whether answers are sent to this chat",
  who: "owner",
  inTurn: true,
  reads: oneWord,
  run(word, { agent }) {
    const { sendPolicy } = agent.state;
    if (word === "") {
      const now = sendPolicy === undefined ? "by the rules of the configuration" : SHOWN[sendPolicy];
      return { text: reply(`Send policy: ${now}. Choose: on, off, inherit.`) };
    }
    if (isResetWord(word)) return { text: reply("Send policy set to inherit."), patch: { sendPolicy: null } };
    const lower = word.toLowerCase();
    const policy = Object.hasOwn(SEND_WORDS, lower) ? SEND_WORDS[lower] : undefined;
    if (!policy) {
      return { text: reply(`"${word.slice(0, 64)}" is not one of on, off, inherit. Nothing was changed.`) };
    }
    return { text: reply(`Send policy set to ${SHOWN[policy]}.`), patch: { sendPolicy: policy } };
  },
};

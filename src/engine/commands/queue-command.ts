/** `/queue`: shows and sets what happens to messages that arrive while the agent works. */
import {
  QUEUE_LIMITS,
  type QueueSettings,
  queueDropPolicySchema,
  queueModeSchema,
  UNCAPPED,
} from "../../core/message/queue.ts";
import { parseQueueDirective, type QueueDirective } from "../inbox/user-input.ts";
import type { ChatCommand } from "./chat-command.ts";
import { anything, reply } from "./words.ts";

const MODES = queueModeSchema.options.join(", ");
const WORDS = `Modes: ${MODES}. Options: debounce:2s, cap:5, drop:${queueDropPolicySchema.options.join("|")}. \`/queue reset\` takes them back.`;
const { debounceMs: DEBOUNCE, cap: CAP } = QUEUE_LIMITS;
const LIMITS = `A debounce is from ${DEBOUNCE[0]} to ${DEBOUNCE[1] / 60_000} minutes, a cap from ${CAP[0]} to ${CAP[1]}.`;
const CLEARED = { queueMode: null, queueDebounceMs: null, queueCap: null, queueDrop: null } as const;

export const queueCommand: ChatCommand = {
  name: "queue",
  usage: "[mode] [debounce:2s] [cap:5] [drop:old] | reset",
  help: "what happens to messages that arrive while the agent works",
  example: "/queue collect debounce:2s",
  who: "own",
  inTurn: true,
  reads: anything,
  run(words, { queue }) {
    if (words === "") return { text: reply(`Queue: ${settingsText(queue())}.\n${WORDS}`) };
    const { settings, reset, invalid, rest } = parseQueueDirective(`/queue ${words}`) ?? NOTHING_READ;
    const unknown = [...invalid, ...rest.split(/\s+/u).filter(Boolean)];
    if (unknown.length > 0) {
      const named = unknown.slice(0, 5).map((word) => `"${word.slice(0, 64)}"`);
      const what = named.length === 1 ? "is not a queue setting" : "are not queue settings";
      return { text: reply(`Nothing was changed: ${named.join(", ")} ${what}. ${LIMITS}\n${WORDS}`) };
    }
    const { mode, debounceMs, cap, dropPolicy } = settings;
    const set = { queueMode: mode, queueDebounceMs: debounceMs, queueCap: cap, queueDrop: dropPolicy };
    if (reset) return { text: reply("Queue: back to the default."), patch: CLEARED };
    return { text: reply(`Queue: ${settingsText(settings)}.`), patch: set };
  },
};

const NOTHING_READ: Pick<QueueDirective, "settings" | "reset" | "invalid" | "rest"> = {
  ...{ settings: {}, reset: false, invalid: [], rest: "" },
};

const settingsText = (settings: Partial<QueueSettings>): string =>
  Object.entries(settings)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => (value === UNCAPPED ? "no cap" : `${name} ${value}`))
    .join(", ") || "unchanged";

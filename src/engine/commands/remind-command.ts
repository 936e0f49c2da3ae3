/** `/remind`: a message in this conversation at a time, for the person who typed it or for the group. */
import { errorText, RookeryError } from "../../core/errors.ts";
import type { ChatCommand } from "./chat-command.ts";
import { anything, reply } from "./words.ts";

const EXAMPLES = "/remind 20m tea, /remind tomorrow 9:00 call Ann, /remind 2031-01-31 18:30 renew the passport";

export const remindCommand: ChatCommand = {
  name: "remind",
  usage: "TIME TEXT",
  help: "a reminder at a time: 20m, 18:30, tomorrow 9:00",
  example: "/remind 20m tea",
  who: "own",
  reads: anything,
  run(rest, context) {
    const { jobs } = context.parts;
    if (!jobs) return { text: reply("There are no schedules here.") };
    const { verdict, reason } = context.decide({ action: "chat_remind", rights: ["schedule"] });
    if (verdict !== "allow") return { text: reply(`You may not set reminders here: ${reason}.`) };
    try {
      // "/remind me in 20m" is what people say.
      const made = jobs.remind(context.agent, rest.replace(/^me\s/iu, ""));
      if (!made) return { text: reply(`Write when, then what: ${EXAMPLES}.`) };
      const { name, at, ops } = made;
      return { text: reply(`I will remind you at ${at}. /cron remove ${name} takes it back.`), ops };
    } catch (error) {
      if (!(error instanceof RookeryError) || error.retryable) throw error;
      return { text: reply(errorText(error)) };
    }
  },
};

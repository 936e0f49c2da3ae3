/** `/cron`: lists the jobs of this conversation, runs one now, turns it off or on, or removes it. */
import { errorText, RookeryError } from "../../core/errors.ts";
import { OWNER } from "../../core/people/person.ts";
import type { CronJob } from "../../core/schedule/job.ts";
import { distinctNames, itemsNamed, severalNamed } from "../../core/typed-name.ts";
import type { ChatCommand, CommandContext, CommandParts, CommandReply } from "./chat-command.ts";
import { anything, reply } from "./words.ts";

const USAGE = "/cron [list] | run NAME | on NAME | off NAME | remove NAME";
const MAX_LISTED = 50;
type Jobs = NonNullable<CommandParts["jobs"]>;

export const cronCommand: ChatCommand = {
  name: "cron",
  aliases: ["jobs"],
  usage: "[list] | run|on|off|remove NAME",
  help: "the scheduled jobs of this conversation",
  example: "/cron run morning",
  who: "own",
  reads: anything,
  async run(rest, context) {
    const { jobs } = context.parts;
    if (!jobs) return { text: reply("There are no schedules here.") };
    const [action = "list", ...words] = rest.split(/\s+/u).filter(Boolean);
    const name = words.join(" ");
    try {
      if (action.toLowerCase() === "list" && name === "") return { text: listText(await jobs.list(context.agent)) };
      if (name === "") return { text: reply(`Usage: ${USAGE}`) };
      return await change(jobs, action.toLowerCase(), name, context);
    } catch (error) {
      if (!(error instanceof RookeryError) || error.retryable) throw error;
      return { text: reply(errorText(error)) };
    }
  },
};

async function change(jobs: Jobs, action: string, given: string, context: CommandContext): Promise<CommandReply> {
  const job = await found(jobs, given, context);
  const { id, name } = job;
  const { verdict, reason } = context.decide({
    ...{ action: "chat_cron", rights: ["schedule"], target: `job:${id}`, of: job.behalf?.person ?? OWNER },
  });
  if (verdict !== "allow") return { text: reply(`You may not change ${name}: ${reason}.`) };
  switch (action) {
    case "run":
      return { text: reply(`${name} runs now.`), ops: await jobs.runOps(id) };
    case "on":
      return { text: reply(`${name} is on.`), ops: await jobs.enableOps(id, true) };
    case "off":
      return { text: reply(`${name} is off.`), ops: await jobs.enableOps(id, false) };
    case "remove":
      return { text: reply(`${name} is removed.`), ops: await jobs.removeOps(id) };
    default:
      return { text: reply(`Usage: ${USAGE}`) };
  }
}

/** By its name or the beginning of it, if only one job is called so, or by its id. */
async function found(jobs: Jobs, given: string, { agent }: CommandContext): Promise<CronJob> {
  const [one, ...others] = itemsNamed(await jobs.list(agent), given);
  if (one && others.length > 0) throw severalNamed(given, [one, ...others]);
  return jobs.get(agent, one?.id ?? given);
}

function listText(jobs: Awaited<ReturnType<Jobs["list"]>>): string {
  if (jobs.length === 0) return reply("This conversation has no jobs.");
  const more = jobs.length > MAX_LISTED ? [`… and ${jobs.length - MAX_LISTED} more`] : [];
  const names = distinctNames(jobs);
  const lines = jobs.slice(0, MAX_LISTED).map(({ when, next, enabled }, at) => {
    const state = enabled ? (next === undefined ? "" : `, next ${next}`) : ", off";
    return `- ${names[at]}: ${when}${state}`;
  });
  return [reply("Jobs:"), ...lines, ...more].join("\n");
}

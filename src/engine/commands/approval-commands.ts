/** `/approve` and `/deny`: answer a question about a tool call. The first answer counts; the same answer again says the same. */
import { cutText } from "../../core/cut-text.ts";
import { errorText, RookeryError } from "../../core/errors.ts";
import { type Approval, parseApprovalId } from "../../core/rights/approval.ts";
import { ALWAYS_SCOPES } from "../../core/rights/standing-yes.ts";
import { asCode, fitsChat, questionList, tooLong } from "../approvals/question.ts";
import type { ChatCommand, CommandContext, CommandReply } from "./chat-command.ts";
import { anything, reply } from "./words.ts";

export const approvalCommands: readonly ChatCommand[] = [
  {
    name: "approve",
    aliases: ["yes", "allow"],
    usage: "[ID] [always [call|pattern]]",
    help: "say yes to a call that waits; alone it lists them",
    example: "/approve kfmz",
    who: "own",
    reads: (rest) => rest === "" || /^\S+(?:\s+always(?:\s+(?:call|pattern))?)?$/iu.test(rest),
    run: (rest, context) => answered(rest, context, true),
  },
  {
    name: "deny",
    aliases: ["no"],
    usage: "[ID] [reason]",
    help: "say no to a call that waits; alone it lists them",
    example: "/deny kfmz not now",
    who: "own",
    reads: anything,
    run: (rest, context) => answered(rest, context, false),
  },
];

async function answered(rest: string, context: CommandContext, approve: boolean): Promise<CommandReply> {
  const [word = "", ...more] = rest.split(/\s+/u);
  if (word === "") return { text: listText(await context.approvals.pending()) };
  const id = parseApprovalId(word);
  if (id === undefined) {
    return {
      text: reply(`"${cutText(word, 64)}" is not the id of a question. ${listText(await context.approvals.pending())}`),
    };
  }
  const wantsAlways = approve && more[0]?.toLowerCase() === "always";
  const scope = ALWAYS_SCOPES.find((one) => one === more[1]?.toLowerCase());
  const asked = approve ? await context.approvals.get(id).catch(() => undefined) : undefined;
  // The question does not fit in a chat, so nobody has read it there.
  if (asked?.state === "pending" && !fitsChat(asked)) return { text: reply(tooLong(id)) };
  if (wantsAlways && !scope) {
    const choice = await context.approvals.choice(id).catch(() => []);
    if (choice.length > 1) {
      const rules = asCode(choice.join("\n"));
      return {
        text: `Choose what to allow from now on:\n${rules}\nAnswer /approve ${id} always call or /approve ${id} always pattern.`,
      };
    }
  }
  const always = wantsAlways ? (scope ?? "call") : undefined;
  const reason = approve ? undefined : more.join(" ").trim() || undefined;
  try {
    return {
      text: decidedText(await context.approvals.decide(id, { approve, always, reason, digest: asked?.digest })),
    };
  } catch (error) {
    // A process that died after the answer and before this reply answers the same again.
    const now = await context.approvals.get(id).catch(() => undefined);
    const isSame = now?.decidedBy === context.person && (now.state === "denied" ? !approve : approve);
    if (now && isSame && ANSWERED.includes(now.state)) return { text: decidedText(now) };
    if (!(error instanceof RookeryError) || error.retryable) throw error;
    return { text: reply(errorText(error)) };
  }
}

const ANSWERED: readonly Approval["state"][] = ["approved", "used", "denied"];

const decidedText = ({ id, tool, state }: Approval): string =>
  reply(`${id} (${tool}) is ${state === "denied" ? "denied" : "approved"}.`);

function listText(pending: readonly Approval[]): string {
  if (pending.length === 0) return reply("No call waits for an answer.");
  return questionList(pending);
}

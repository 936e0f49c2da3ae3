/**
 * Tools that reach people: `message`, `set_reaction` and `ask_user`. What they send is a delivery, committed with the result of the call
 * (M12), so a crash sends nothing twice.
 */
import { z } from "zod";
import type { Payload } from "../../../core/delivery/delivery.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import type { Tool } from "../../../core/ports/tool.ts";
import { askOp, choiceButtons, questionIdOf } from "../../../engine/people/open-question.ts";
import { textOutput } from "../../../engine/runs/call-tool.ts";
import { effectsOf, type MessageToolDeps, targetOf } from "./message-target.ts";

/** Ids of some channels are long. */
const MAX_MESSAGE_ID = 200;

const ACTIONS = ["send", "reply", "edit", "delete", "react"] as const;

const messageInput = z.strictObject({
  action: z.enum(ACTIONS).describe("What to do"),
  text: z.string().max(20_000).optional().describe("For send, reply and edit"),
  to: z.string().max(300).optional().describe("An address such as telegram:42; absent: this conversation"),
  messageId: z
    .string()
    .max(MAX_MESSAGE_ID)
    .optional()
    .describe("For edit, delete and react; for reply the default is the message you answer"),
  emoji: z.string().max(16).optional().describe("For react"),
});
type MessageInput = z.infer<typeof messageInput>;

const DONE: Readonly<Record<(typeof ACTIONS)[number], string>> = {
  send: "The message is on its way.",
  reply: "The reply is on its way.",
  edit: "The edit is on its way.",
  delete: "The message will be deleted.",
  react: "The reaction is on its way.",
};

const messageTool = (deps: MessageToolDeps): Tool<MessageInput> => ({
  name: "message",
  description:
    "Sends, answers, edits, deletes or reacts to a message in a chat now, before you end your turn. Your final answer is sent by itself: do not repeat here what you will say there.",
  input: messageInput,
  rights: ["send"],
  replay: "safe",
  parallel: false,
  maxOutput: 1_000,
  effects: ({ to }, context) => effectsOf(deps, "message", to, context),
  async execute(given, context) {
    const target = targetOf(deps, given.to, context);
    const payload = await payloadOf(deps, given, context.runId);
    return { ...textOutput(DONE[given.action]), deliveries: [{ target, payload }] };
  },
});

async function payloadOf(
  deps: MessageToolDeps,
  { action, text, messageId, emoji }: MessageInput,
  runId: string,
): Promise<Payload> {
  const need = (value: string | undefined, what: string): string => {
    if (value?.trim()) return value;
    throw new InvalidInputError(`${action} needs ${what}.`);
  };
  switch (action) {
    case "send":
      return { text: need(text, "text") };
    case "reply":
      return { text: need(text, "text"), replyToId: messageId ?? (await deps.answeredBy(runId)), asReply: true };
    case "edit":
      return { text: need(text, "text"), action: { do: "edit", messageId: need(messageId, "messageId") } };
    case "delete":
      return { action: { do: "delete", messageId: need(messageId, "messageId") } };
    case "react":
      return {
        action: {
          do: "react",
          messageId: messageId ?? need(await deps.answeredBy(runId), "messageId"),
          emoji: need(emoji, "emoji"),
        },
      };
  }
}

const reactionInput = z.strictObject({
  emoji: z.string().min(1).max(16).describe("One emoji"),
  messageId: z.string().max(MAX_MESSAGE_ID).optional().describe("Default: the message you answer"),
});

const setReactionTool = (deps: MessageToolDeps): Tool<z.infer<typeof reactionInput>> => ({
  name: "set_reaction",
  description: "Puts an emoji under a message of this conversation.",
  input: reactionInput,
  rights: ["send"],
  replay: "safe",
  parallel: false,
  maxOutput: 1_000,
  async execute({ emoji, messageId }, context) {
    const target = targetOf(deps, undefined, context);
    const payload = await payloadOf(deps, { action: "react", emoji, messageId }, context.runId);
    return { ...textOutput(DONE.react), deliveries: [{ target, payload }] };
  },
});

const askInput = z.strictObject({
  question: z.string().trim().min(1).max(2_000).describe("What you want to know"),
  choices: z.array(z.string().trim().min(1).max(64)).min(1).max(8).describe("The answers to choose from"),
});

const askUserTool = (deps: MessageToolDeps): Tool<z.infer<typeof askInput>> => ({
  name: "ask_user",
  description:
    "Asks the person of this conversation a question with choices, and does not wait. End your turn after it: the answer comes as a message that names the question, now or much later.",
  input: askInput,
  rights: ["send"],
  replay: "safe",
  parallel: false,
  maxOutput: 1_000,
  async execute({ question, choices }, context) {
    const target = targetOf(deps, undefined, context);
    const id = questionIdOf(context.runId, context.callId);
    const asked = { agentId: context.agentId, question, choices, target, askedAt: deps.now() };
    return {
      ...textOutput("The question was sent. End your turn now; the answer comes as a message."),
      ops: [askOp(id, asked)],
      deliveries: [{ target, payload: { text: question, buttons: choiceButtons(id, asked) } }],
    };
  },
});

export const messageTools = (deps: MessageToolDeps): readonly Tool[] =>
  [messageTool(deps), setReactionTool(deps), askUserTool(deps)] as readonly Tool[];

/**
 * `POST /api/chat` and `GET /api/chat/:chat/stream`: the stream of the AI SDK's `useChat`. A chat is a conversation of the API: the
 * agent remembers it, and a page that is loaded again resumes the answer that is being written.
 */
import { z } from "zod";
import type { SessionKey } from "../../../core/ids.ts";
import type { RunEvent } from "../../../engine/runtime/run-events.ts";
import type { Principal } from "../auth/principal.ts";
import { largestBody } from "../auth/request-policy.ts";
import type { Frame } from "../events/event-stream-writer.ts";
import { HttpError } from "../http/http-error.ts";
import { ANSWERED } from "../http/send-reply.ts";
import { eventStream, media } from "../routing/output.ts";
import { type Call, defineRoute, type Route } from "../routing/route.ts";
import { streamRequest } from "./answer-request.ts";
import { joinQuestion, type PostedQuestion } from "./ask.ts";
import { resolveConversation, targetOf } from "./resolve-conversation.ts";
import { type AnswerFrames, streamAnswer } from "./stream-answer.ts";

const UI_STREAM = { name: "x-vercel-ai-ui-message-stream", value: "v1" } as const;
const chatName = z.string().trim().min(1).max(256);
const modelName = z.string().min(1).max(512).default("main");

const partSchema = z.looseObject({ type: z.string().max(64), text: z.string().optional() });
const uiMessageSchema = z.looseObject({ role: z.string().max(32), parts: z.array(partSchema).max(1_000) });

const sendRoute = defineRoute({
  name: "chat",
  method: "POST",
  path: "/api/chat",
  access: "chat",
  action: "message",
  own: true,
  tag: "openai",
  summary: "Send a message of the AI SDK's `useChat`; `id` names the chat, `model` a profile or an agent",
  example: { id: "chat-1", messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "hello" }] }] },
  body: z.looseObject({
    id: chatName,
    messages: z.array(uiMessageSchema).min(1).max(10_000),
    model: modelName,
    trigger: z.string().max(64).optional(),
  }),
  maxBody: largestBody,
  accepts: "message",
  output: eventStream("The chunks of a UI message stream"),
  handle(call) {
    const { id, messages, model, trigger } = call.body;
    if (trigger === "regenerate-message") throw noRegeneration();
    // The agent remembers the conversation: the messages before the last one are not sent again.
    const last = messages
      .slice(-1)
      .map(({ role, parts }) => ({ role, content: parts.filter(isContent).map(promptPart) }));
    const request = { model, user: userOf(call.principal, id), stream: true };
    call.outgoing.setHeader(UI_STREAM.name, UI_STREAM.value);
    const prompt = { messages: last, param: "messages", said: call.body };
    return streamRequest({ ...call, body: request }, prompt, framesOf);
  },
});

const resumeRoute = defineRoute({
  name: "resumeChat",
  method: "GET",
  path: "/api/chat/:chat/stream",
  access: "chat",
  action: "message",
  own: true,
  tag: "openai",
  summary: "Resume the stream of a chat; 204 if no answer is being written",
  params: z.object({ chat: chatName }),
  query: z.object({ model: modelName }),
  output: { 200: eventStream("The stream from its beginning"), 204: media("text/plain", "Nothing to resume") },
  async handle(call) {
    const question = await runningQuestion(call, call.params.chat, call.query.model);
    if (!question) {
      call.outgoing.writeHead(204).end();
      return ANSWERED;
    }
    call.outgoing.setHeader(UI_STREAM.name, UI_STREAM.value);
    await streamAnswer(call, question, framesOf(question));
    return ANSWERED;
  },
});

export const uiStreamRoutes: readonly Route[] = [sendRoute, resumeRoute];

/** A token that belongs to one person, or to one user, has one conversation, whatever a page calls it. */
const userOf = ({ kind, user }: Principal, chat: string): string | undefined =>
  kind === "person" || user !== undefined ? undefined : chat;

/** Steps are marks of the protocol; what is neither text nor a file is refused by the reader of prompts. */
const isContent = ({ type }: { readonly type: string }): boolean => type !== "step-start";

/** A file of `useChat` has its content, or its address, in `url`. */
const promptPart = ({ url, filename, ...part }: z.infer<typeof partSchema>): z.infer<typeof partSchema> =>
  part.type === "file" ? { type: "input_file", file_url: url, filename } : part;

const noRegeneration = (): HttpError =>
  new HttpError(400, "unsupported_trigger", "An answer cannot be written again here.", {
    param: "trigger",
    hint: "Send the message again, or go back with POST /api/agents/{agent}/branch.",
  });

async function runningQuestion(call: Call, chat: string, model: string): Promise<PostedQuestion | undefined> {
  const { context, principal } = call;
  const { store } = context.ports;
  const request = { model, user: userOf(principal, chat) };
  const { to, isNew } = await resolveConversation(context.settings.current, store, principal, request);
  if (isNew) return undefined;
  const key = targetOf(context.settings.current, principal, request) as SessionKey;
  const agent = "agentId" in to ? await store.agent(to.agentId) : await store.agentByKey(key);
  const run = agent?.runId === undefined ? undefined : await store.run(agent.runId);
  const seq = run?.body.seqs.at(-1);
  return agent && seq !== undefined ? joinQuestion(call, agent.id, seq) : undefined;
}

const chunk = (json: object): string => `data: ${JSON.stringify(json)}\n\n`;
const frame = (json: object): Frame => ({ text: chunk(json), render: (all) => all });
const DONE: Frame = { text: "data: [DONE]\n\n", render: (all) => all };

/** One part of text per step. Calls of tools are data parts: which tool, and how it ended. */
function framesOf({ agentId, seq }: Pick<PostedQuestion, "agentId" | "seq">): AnswerFrames {
  let step = 0;
  let open: { readonly kind: "text" | "reasoning"; readonly id: string } | undefined;
  const close = (): readonly Frame[] => {
    if (!open) return [];
    const { kind, id } = open;
    open = undefined;
    return [frame({ type: `${kind}-end`, id })];
  };
  const begin = (kind: "text" | "reasoning"): readonly Frame[] => {
    if (open?.kind === kind) return [];
    const closed = close();
    open = { kind, id: `${kind}-${step}` };
    return [...closed, frame({ type: `${kind}-start`, id: open.id })];
  };
  const said = (kind: "text" | "reasoning", piece: string): readonly Frame[] => {
    const id = `${kind}-${step}`;
    const render = (all: string): string => chunk({ type: `${kind}-delta`, id, delta: all });
    return [...begin(kind), { joinKey: `${kind}-${step}`, text: piece, render }];
  };
  const ended = (): readonly Frame[] => [...close(), frame({ type: "finish-step" })];
  return {
    start: () => [frame({ type: "start", messageId: `${agentId}-${seq}` }), frame({ type: "start-step" })],
    text: (piece) => said("text", piece),
    event(event) {
      if (event.type === "delta") return event.stream === "thinking" ? said("reasoning", event.text) : [];
      if (event.type === "step") {
        const frames = [...ended(), frame({ type: "start-step" })];
        step += 1;
        return frames;
      }
      const data = dataOf(event);
      return data ? [frame(data)] : [];
    },
    end: () => [...ended(), frame({ type: "finish" }), DONE],
    failure: ({ error }) => [...close(), frame({ type: "error", errorText: error.message }), DONE],
  };
}

function dataOf(event: RunEvent): object | undefined {
  switch (event.type) {
    case "tool_start":
      return { type: "data-tool", id: event.callId, data: { name: event.name, state: "running" } };
    case "tool_end":
      return {
        type: "data-tool",
        id: event.callId,
        data: { name: event.name, state: event.isError ? "error" : "done" },
      };
    case "approval":
      return { type: "data-approval", id: event.approvalId, data: { name: event.name, callId: event.callId } };
    default:
      return undefined;
  }
}

/** `POST /v1/chat/completions`: posts the last user message to an agent and answers in the format of Chat Completions. */
import { z } from "zod";
import { largestBody } from "../auth/request-policy.ts";
import type { Frame } from "../events/event-stream-writer.ts";
import { eventStream } from "../routing/output.ts";
import { defineRoute } from "../routing/route.ts";
import type { Answer } from "../schemas/message.ts";
import { type ChatCompletion, chatCompletionSchema } from "../schemas/openai.ts";
import { answerRequest, commonFields, type Protocol } from "./answer-request.ts";
import type { PostedQuestion } from "./ask.ts";
import { callsIn } from "./caller-tools.ts";
import { messageSchema } from "./read-prompt.ts";
import type { AnswerFrames } from "./stream-answer.ts";

const chatSchema = z.looseObject({
  ...commonFields,
  messages: z.array(messageSchema).min(1).max(10_000),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  n: z.literal(1, { error: "only one answer is supported" }).nullish(),
});
type ChatRequest = z.infer<typeof chatSchema>;

export const chatCompletionsRoute = defineRoute({
  name: "createChatCompletion",
  method: "POST",
  path: "/v1/chat/completions",
  access: "chat",
  action: "message",
  own: true,
  tag: "openai",
  summary: "Send a message to a profile or an agent, in the format of the OpenAI Chat Completions API",
  example: { model: "main", user: "ann", messages: [{ role: "user", content: "hello" }] },
  body: chatSchema,
  maxBody: largestBody,
  accepts: "message",
  output: { 200: [chatCompletionSchema, eventStream("With `stream`: its chunks")] },
  handle(call) {
    const { stream: _, stream_options: __, ...said } = call.body;
    return answerRequest(call, { messages: said.messages, param: "messages", said }, chatProtocol(call.body));
  },
});

const chatProtocol = (request: ChatRequest): Protocol<ChatCompletion> => ({
  body: (question, answer, createdAt) => ({
    ...commonPart(request, question, createdAt),
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: messageOf(answer),
        logprobs: null,
        finish_reason: finishReason(answer),
      },
    ],
    usage: usageOf(answer),
  }),
  frames: (question, createdAt) => chunkFrames(request, question, createdAt),
});

function chunkFrames(request: ChatRequest, question: PostedQuestion, createdAt: number): AnswerFrames {
  const common = { ...commonPart(request, question, createdAt), object: "chat.completion.chunk" };
  const data = (json: object): string => `data: ${JSON.stringify(json)}\n\n`;
  const chunk = (delta: object, finish: string | null = null): string =>
    data({ ...common, choices: [{ index: 0, delta, finish_reason: finish }] });
  const frame = (text: string): Frame => ({ text, render: (all) => all });
  return {
    start: () => [frame(chunk({ role: "assistant", content: "" }))],
    text: (piece) => ({ joinKey: "text", text: piece, render: (all) => chunk({ content: all }) }),
    end: (answer) => [
      ...(answer.calls
        ? [frame(chunk({ tool_calls: toolCalls(answer).map((one, index) => ({ index, ...one })) }))]
        : []),
      frame(chunk({}, finishReason(answer))),
      ...(request.stream_options?.include_usage
        ? [frame(data({ ...common, choices: [], usage: usageOf(answer) }))]
        : []),
      frame("data: [DONE]\n\n"),
    ],
    failure: (error) => [frame(data(error))],
  };
}

const commonPart = ({ model }: ChatRequest, { agentId, seq }: PostedQuestion, createdAt: number) => ({
  id: `chatcmpl-${agentId}-${seq}`,
  created: Math.floor(createdAt / 1000),
  model,
});

function messageOf(answer: Answer): ChatCompletion["choices"][number]["message"] {
  const said = { role: "assistant" as const, content: answer.text, refusal: null };
  return answer.calls ? { ...said, content: answer.text || null, tool_calls: toolCalls(answer) } : said;
}

const toolCalls = (answer: Answer) =>
  callsIn(answer).map(({ id, ...called }) => ({ id, type: "function" as const, function: called }));

const finishReason = ({ stopReason, calls }: Answer): ChatCompletion["choices"][number]["finish_reason"] =>
  calls ? "tool_calls" : stopReason === "length" ? "length" : "stop";

function usageOf({ usage }: Answer): ChatCompletion["usage"] {
  const prompt = (usage?.input ?? 0) + (usage?.cacheRead ?? 0) + (usage?.cacheWrite ?? 0);
  const completion = usage?.output ?? 0;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: usage?.cacheRead ?? 0 },
  };
}

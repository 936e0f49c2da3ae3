/** `POST /v1/responses`: posts the last user message to an agent and answers in the format of the Responses API. */
import { z } from "zod";
import { largestBody } from "../auth/request-policy.ts";
import type { Frame } from "../events/event-stream-writer.ts";
import { eventStream } from "../routing/output.ts";
import { defineRoute } from "../routing/route.ts";
import type { Answer } from "../schemas/message.ts";
import { type ResponseDocument, responseSchema } from "../schemas/openai.ts";
import { answerRequest, commonFields, type Protocol } from "./answer-request.ts";
import type { PostedQuestion } from "./ask.ts";
import { callsIn } from "./caller-tools.ts";
import { responseId } from "./continued-conversation.ts";
import { contentSchema, type PromptMessage } from "./read-prompt.ts";
import type { AnswerFrames } from "./stream-answer.ts";

const itemSchema = z.looseObject({
  type: z.string().max(64).optional(),
  role: z.string().max(32).optional(),
  content: contentSchema,
  call_id: z.string().max(256).optional(),
  name: z.string().max(64).optional(),
  arguments: z.string().optional(),
  output: contentSchema,
});

const requestSchema = z.looseObject({
  ...commonFields,
  input: z.union([z.string(), z.array(itemSchema).min(1).max(10_000)]),
  instructions: z.string().nullish(),
  previous_response_id: z.string().max(256).nullish(),
  background: z.literal(false, { error: "background answers are not supported" }).nullish(),
});
type ResponseRequest = z.infer<typeof requestSchema>;

export const responsesRoute = defineRoute({
  name: "createResponse",
  method: "POST",
  path: "/v1/responses",
  access: "chat",
  action: "message",
  own: true,
  tag: "openai",
  summary: "Send a message to a profile or an agent, in the format of the OpenAI Responses API",
  example: { model: "main", user: "ann", input: "hello" },
  body: requestSchema,
  maxBody: largestBody,
  accepts: "message",
  output: { 200: [responseSchema, eventStream("With `stream`: the events of the response")] },
  async handle(call) {
    const { stream: _, stream_options: __, ...said } = call.body;
    return answerRequest(call, { messages: messagesOf(call.body), param: "input", said }, responseProtocol(call.body));
  },
});

function messagesOf({ input, instructions }: ResponseRequest): readonly PromptMessage[] {
  const items = typeof input === "string" ? [{ role: "user", content: input }] : input;
  const messages = items.flatMap((item): readonly PromptMessage[] => {
    const type = "type" in item ? item.type : undefined;
    if (type === "function_call_output") return [{ role: "tool", tool_call_id: item.call_id, content: item.output }];
    if (type === "function_call") {
      const called = { name: item.name ?? "", arguments: item.arguments ?? "" };
      return [{ role: "assistant", content: null, tool_calls: [{ function: called }] }];
    }
    if (type !== undefined && type !== "message") return [];
    return [{ role: item.role ?? "user", content: item.content }];
  });
  return instructions ? [{ role: "system", content: instructions }, ...messages] : messages;
}

const responseProtocol = (request: ResponseRequest): Protocol<ResponseDocument> => ({
  body: (question, answer, createdAt) => responseOf(request, question, createdAt, answer),
  frames: (question, createdAt) => eventFrames(request, question, createdAt),
});

function eventFrames(request: ResponseRequest, question: PostedQuestion, createdAt: number): AnswerFrames {
  let nextNumber = 0;
  // Numbered when it is written: joined pieces of text are one event.
  const event = (type: string, data: object): Frame => ({
    text: "",
    render: () => `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: nextNumber++, ...data })}\n\n`,
  });
  const place = { item_id: itemId(question), output_index: 0, content_index: 0 };
  const started = responseOf(request, question, createdAt, undefined);
  return {
    start() {
      const item = { id: itemId(question), type: "message", role: "assistant", status: "in_progress", content: [] };
      return [
        event("response.created", { response: started }),
        event("response.in_progress", { response: started }),
        event("response.output_item.added", { output_index: 0, item }),
        event("response.content_part.added", { ...place, part: textPart("") }),
      ];
    },
    text: (piece) => ({
      joinKey: "text",
      text: piece,
      render: (all) => event("response.output_text.delta", { ...place, delta: all, logprobs: [] }).render(""),
    }),
    end: (answer) => [
      event("response.output_text.done", { ...place, text: answer.text, logprobs: [] }),
      event("response.content_part.done", { ...place, part: textPart(answer.text) }),
      event("response.output_item.done", { output_index: 0, item: itemOf(question, answer.text) }),
      ...callItems(answer).flatMap((item, at) => {
        const where = { item_id: item.id, output_index: at + 1 };
        const begun = { ...item, arguments: "", status: "in_progress" };
        return [
          event("response.output_item.added", { output_index: at + 1, item: begun }),
          event("response.function_call_arguments.delta", { ...where, delta: item.arguments }),
          event("response.function_call_arguments.done", { ...where, name: item.name, arguments: item.arguments }),
          event("response.output_item.done", { output_index: at + 1, item }),
        ];
      }),
      event("response.completed", { response: responseOf(request, question, createdAt, answer, true) }),
    ],
    failure: ({ error: { code, message } }) => [
      event("response.failed", { response: { ...started, status: "failed", error: { code, message } } }),
    ],
  };
}

const itemId = ({ agentId, seq }: PostedQuestion): string => `msg_${agentId}_${seq}`;
const textPart = (text: string) => ({ type: "output_text" as const, text, annotations: [], logprobs: [] });
const itemOf = (question: PostedQuestion, text: string) => ({
  id: itemId(question),
  type: "message" as const,
  role: "assistant" as const,
  status: "completed" as const,
  content: [textPart(text)],
});

const callItems = (answer: Answer) =>
  callsIn(answer).map(({ id, name, arguments: args }) => ({
    ...{ id: id.replace(/^call_/, "fc_"), type: "function_call" as const, status: "completed" as const },
    ...{ call_id: id, name, arguments: args },
  }));

/** Without an answer: the response while the run is in progress. `announced`: a stream has its message, also an empty one. */
function responseOf(
  request: ResponseRequest,
  question: PostedQuestion,
  createdAt: number,
  answer: Answer | undefined,
  announced = false,
): ResponseDocument {
  const isCut = answer?.stopReason === "length";
  const isSaid = announced || !answer?.calls || answer.text !== "";
  return {
    id: responseId(question),
    object: "response",
    created_at: Math.floor(createdAt / 1000),
    status: answer ? (isCut ? "incomplete" : "completed") : "in_progress",
    error: null,
    incomplete_details: isCut ? { reason: "max_output_tokens" } : null,
    instructions: request.instructions ?? null,
    metadata: {},
    model: request.model,
    output: answer ? [...(isSaid ? [itemOf(question, answer.text)] : []), ...callItems(answer)] : [],
    parallel_tool_calls: true,
    previous_response_id: request.previous_response_id ?? null,
    temperature: null,
    top_p: null,
    tool_choice: "auto",
    tools: Array.isArray(request.tools) ? request.tools : [],
    user: request.user ?? null,
    usage: answer ? usageOf(answer) : null,
  };
}

function usageOf({ usage }: Answer) {
  const input = (usage?.input ?? 0) + (usage?.cacheRead ?? 0) + (usage?.cacheWrite ?? 0);
  const output = usage?.output ?? 0;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage?.cacheRead ?? 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  };
}

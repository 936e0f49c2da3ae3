/** `POST /v1/responses`: the same conversation in the form of the OpenAI Responses API. */
import { z } from "zod";
import type { Frame } from "../events/event-stream-writer.ts";
import { openEventStream, requireRoom } from "../events/open-event-stream.ts";
import { errorBody, HttpError } from "../http/http-error.ts";
import { ANSWERED, type Call, defineRoute, type Reply } from "../http/route.ts";
import { addressOf } from "./address.ts";
import type { Answer } from "./answer.ts";
import { type Asked, ask } from "./ask.ts";
import { headersOf, userSchema, voidError } from "./chat-completions.ts";
import { errorOf } from "./outcome.ts";
import { contentSchema, readSaid, type SpokenMessage } from "./spoken-text.ts";
import { StreamedText } from "./streamed-text.ts";

const itemSchema = z.looseObject({
  type: z.string().max(64).optional(),
  role: z.string().max(32).optional(),
  content: contentSchema,
});

const responseSchema = z.looseObject({
  model: z.string().min(1).max(512),
  input: z.union([z.string(), z.array(itemSchema).min(1).max(10_000)]),
  instructions: z.string().nullish(),
  user: userSchema,
  stream: z.boolean().nullish(),
  background: z.literal(false, { error: "answers are not made in the background here" }).nullish(),
});
type Body = z.infer<typeof responseSchema>;

export const responsesRoute = defineRoute({
  method: "POST",
  path: "/v1/responses",
  access: "chat",
  tag: "openai",
  summary: "Say something to a profile or an agent, in the form of the OpenAI Responses API",
  body: responseSchema,
  accepts: true,
  answers: { status: 200, holds: "a response, or its events as server-sent events where `stream` is true" },
  async handle(call) {
    const { context, body, principal } = call;
    if (typeof body.previous_response_id === "string") {
      throw new HttpError(400, "unsupported", "previous_response_id is not understood here.", {
        param: "previous_response_id",
        hint: "Name the conversation with `user`: its agent remembers.",
      });
    }
    const asking = { model: body.model, user: body.user ?? undefined };
    const spoken = await addressOf(context.config(), context.ports.store, principal, asking);
    const { text, system } = readSaid(messagesOf(body), spoken.fresh, "input");
    if (body.stream) requireRoom(call);
    const asked = await ask(call, { spoken, text, system });
    return body.stream ? await stream(call, body, asked) : await whole(call, body, asked);
  },
});

function messagesOf({ input, instructions }: Body): readonly SpokenMessage[] {
  const items = typeof input === "string" ? [{ role: "user", content: input }] : input;
  const messages = items.flatMap((item): readonly SpokenMessage[] => {
    const type = "type" in item ? item.type : undefined;
    if (type !== undefined && type !== "message") return [];
    return [{ role: item.role ?? "user", content: item.content }];
  });
  return instructions ? [{ role: "system", content: instructions }, ...messages] : messages;
}

async function whole({ context }: Call, body: Body, asked: Asked): Promise<Reply> {
  const answer = await asked.answer();
  const error = errorOf(answer);
  if (error) throw error;
  return { json: responseOf(body, asked, context.ports.clock.now(), answer), headers: headersOf(asked, answer) };
}

async function stream(call: Call, body: Body, asked: Asked): Promise<Reply> {
  const writer = openEventStream(call);
  const created = call.context.ports.clock.now();
  let number = 0;
  const event = (type: string, data: object): Frame => ({
    text: "",
    render: () => `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number++, ...data })}\n\n`,
  });
  const place = { item_id: itemId(asked), output_index: 0, content_index: 0 };
  const delta = (text: string): Frame => ({
    joins: "text",
    text,
    render: (all) => event("response.output_text.delta", { ...place, delta: all, logprobs: [] }).render(""),
  });
  const streamed = new StreamedText();
  let isVoid = false;
  const send = (next: ReturnType<StreamedText["told"]>): void => {
    if ("void" in next) isVoid = true;
    else if (next.send !== "" && !isVoid) writer.write(delta(next.send));
  };
  const begun = responseOf(body, asked, created, undefined);
  writer.write(event("response.created", { response: begun }));
  writer.write(event("response.in_progress", { response: begun }));
  const empty = { id: itemId(asked), type: "message", role: "assistant", status: "in_progress", content: [] };
  writer.write(event("response.output_item.added", { output_index: 0, item: empty }));
  writer.write(event("response.content_part.added", { ...place, part: textPart("") }));
  try {
    const answer = await asked.answer((told) => send(streamed.told(told)));
    const error = errorOf(answer);
    if (error) throw error;
    send(streamed.ended(answer.text));
    if (isVoid) throw voidError();
    const { text } = answer;
    writer.write(event("response.output_text.done", { ...place, text, logprobs: [] }));
    writer.write(event("response.content_part.done", { ...place, part: textPart(text) }));
    writer.write(event("response.output_item.done", { output_index: 0, item: itemOf(asked, text) }));
    writer.write(event("response.completed", { response: responseOf(body, asked, created, answer) }));
  } catch (error) {
    const { error: told } = errorBody(error);
    const response = { ...begun, status: "failed", error: { code: told.code, message: told.message } };
    writer.write(event("response.failed", { response }));
  }
  writer.close("done");
  return ANSWERED;
}

const itemId = ({ agentId, seq }: Asked): string => `msg_${agentId}_${seq}`;
const textPart = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });
const itemOf = (asked: Asked, text: string) => ({
  id: itemId(asked),
  type: "message",
  role: "assistant",
  status: "completed",
  content: [textPart(text)],
});

function responseOf(body: Body, asked: Asked, created: number, answer: Answer | undefined) {
  const cut = answer?.stopReason === "length";
  return {
    id: `resp_${asked.agentId}_${asked.seq}`,
    object: "response",
    created_at: Math.floor(created / 1000),
    status: answer ? (cut ? "incomplete" : "completed") : "in_progress",
    error: null,
    incomplete_details: cut ? { reason: "max_output_tokens" } : null,
    instructions: body.instructions ?? null,
    metadata: {},
    model: body.model,
    output: answer ? [itemOf(asked, answer.text)] : [],
    parallel_tool_calls: false,
    previous_response_id: null,
    temperature: null,
    top_p: null,
    tool_choice: "auto",
    tools: [],
    user: body.user ?? null,
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

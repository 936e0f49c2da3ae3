/** `POST /v1/chat/completions`: the last user message goes to the agent, its answer comes back whole or in pieces. */
import { z } from "zod";
import type { Frame } from "../events/event-stream-writer.ts";
import { openEventStream, requireRoom } from "../events/open-event-stream.ts";
import { errorBody, HttpError } from "../http/http-error.ts";
import { ANSWERED, type Call, defineRoute, type Reply } from "../http/route.ts";
import { addressOf } from "./address.ts";
import type { Answer } from "./answer.ts";
import { type Asked, ask } from "./ask.ts";
import { errorOf } from "./outcome.ts";
import { readSaid, spokenSchema } from "./spoken-text.ts";
import { StreamedText } from "./streamed-text.ts";

export const userSchema = z.string().trim().min(1).max(256).nullish();

const chatSchema = z.looseObject({
  model: z.string().min(1).max(512),
  messages: z.array(spokenSchema).min(1).max(10_000),
  user: userSchema,
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  n: z.literal(1, { error: "only one answer is given" }).nullish(),
});
type Chat = z.infer<typeof chatSchema>;

export const chatCompletionsRoute = defineRoute({
  method: "POST",
  path: "/v1/chat/completions",
  access: "chat",
  tag: "openai",
  summary: "Say something to a profile or an agent, in the form of the OpenAI Chat Completions API",
  body: chatSchema,
  accepts: true,
  answers: { status: 200, holds: "a chat completion, or its chunks as server-sent events where `stream` is true" },
  async handle(call) {
    const { context, body, principal } = call;
    const asking = { model: body.model, user: body.user ?? undefined };
    const spoken = await addressOf(context.config(), context.ports.store, principal, asking);
    const { text, system } = readSaid(body.messages, spoken.fresh, "messages");
    if (body.stream) requireRoom(call);
    const asked = await ask(call, { spoken, text, system });
    return body.stream ? await stream(call, body, asked) : await whole(call, body, asked);
  },
});

async function whole({ context }: Call, { model }: Chat, asked: Asked): Promise<Reply> {
  const answer = await asked.answer();
  const error = errorOf(answer);
  if (error) throw error;
  return {
    json: {
      id: completionId(answer),
      object: "chat.completion",
      created: Math.floor(context.ports.clock.now() / 1000),
      model,
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: answer.text, refusal: null },
          logprobs: null,
          finish_reason: finishReason(answer),
        },
      ],
      usage: usageOf(answer),
    },
    headers: headersOf(asked, answer),
  };
}

async function stream(call: Call, { model, stream_options }: Chat, asked: Asked): Promise<Reply> {
  const writer = openEventStream(call);
  const common = {
    id: `chatcmpl-${asked.agentId}-${asked.seq}`,
    object: "chat.completion.chunk",
    created: Math.floor(call.context.ports.clock.now() / 1000),
    model,
  };
  const chunk = (delta: object, finish: string | null = null): string =>
    `data: ${JSON.stringify({ ...common, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const say = (text: string): Frame => ({ joins: "text", text, render: (all) => chunk({ content: all }) });
  const raw = (text: string): Frame => ({ text, render: (all) => all });
  const streamed = new StreamedText();
  let isVoid = false;
  const send = (next: ReturnType<StreamedText["told"]>): void => {
    if ("void" in next) isVoid = true;
    else if (next.send !== "" && !isVoid) writer.write(say(next.send));
  };
  writer.write(raw(chunk({ role: "assistant", content: "" })));
  try {
    const answer = await asked.answer((event) => send(streamed.told(event)));
    const error = errorOf(answer);
    if (error) throw error;
    send(streamed.ended(answer.text));
    if (isVoid) throw voidError();
    writer.write(raw(chunk({}, finishReason(answer))));
    if (stream_options?.include_usage) {
      writer.write(raw(`data: ${JSON.stringify({ ...common, choices: [], usage: usageOf(answer) })}\n\n`));
    }
    writer.write(raw("data: [DONE]\n\n"));
  } catch (error) {
    writer.write(raw(`data: ${JSON.stringify(errorBody(error))}\n\n`));
  }
  writer.close("done");
  return ANSWERED;
}

export const completionId = ({ agentId, seq }: Pick<Answer, "agentId" | "seq">): string => `chatcmpl-${agentId}-${seq}`;

/** Which agent and run answered, for whoever wants to look closer. */
export const headersOf = ({ agentId }: Asked, { runId }: Answer): Readonly<Record<string, string>> => ({
  "x-rookery-agent": agentId,
  ...(runId ? { "x-rookery-run": runId } : {}),
});

export const finishReason = ({ stopReason }: Answer): string => (stopReason === "length" ? "length" : "stop");

function usageOf({ usage }: Answer): object {
  const prompt = (usage?.input ?? 0) + (usage?.cacheRead ?? 0) + (usage?.cacheWrite ?? 0);
  const completion = usage?.output ?? 0;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: usage?.cacheRead ?? 0 },
  };
}

export const voidError = (): HttpError =>
  new HttpError(502, "restarted", "The model had to begin anew, and what was streamed is not its answer.", {
    hint: "Ask again with the same Idempotency-Key, or as a retry, for the whole answer.",
  });

/** Answers a request of the OpenAI APIs: posts the prompt to an agent and returns the answer, whole or as a stream. */
import { z } from "zod";
import { assertStreamAllowed } from "../events/open-event-stream.ts";
import { type JsonReply, type MediaReply, REPLAYED } from "../http/send-reply.ts";
import { senderNamed } from "../messages/address.ts";
import type { Call } from "../routing/route.ts";
import type { Answer } from "../schemas/message.ts";
import { errorOfAnswer } from "./answer-error.ts";
import { ask, type PostedQuestion } from "./ask.ts";
import { continuedConversation, conversationOfResults } from "./continued-conversation.ts";
import { promptFileDigests } from "./prompt-files.ts";
import { type PromptMessage, readPrompt, resultsIn } from "./read-prompt.ts";
import { assertFormat, formatPrompt, type RequestSettings, readSettings } from "./request-settings.ts";
import { type Conversation, resolveConversation, targetOf } from "./resolve-conversation.ts";
import { type AnswerFrames, streamAnswer } from "./stream-answer.ts";

/** The fields that both APIs have. */
export const commonFields = {
  model: z.string().min(1).max(512),
  user: z.string().trim().min(1).max(256).nullish(),
  stream: z.boolean().nullish(),
};

interface CommonRequest {
  readonly model: string;
  readonly user?: string | null;
  readonly stream?: boolean | null;
  readonly previous_response_id?: unknown;
}

/** How one API writes an answer. `createdAt` is in milliseconds. */
export interface Protocol<Body> {
  body(question: PostedQuestion, answer: Answer, createdAt: number): Body;
  frames(question: PostedQuestion, createdAt: number): AnswerFrames;
}

interface RequestPrompt {
  readonly messages: readonly PromptMessage[];
  /** The field of the messages, for errors. */
  readonly param: string;
  /** Everything that the request says, except how its caller waits. */
  readonly said: object;
}

export async function answerRequest<Body>(
  call: Call<unknown, unknown, CommonRequest>,
  prompt: RequestPrompt,
  protocol: Protocol<Body>,
): Promise<MediaReply | { readonly json: Body; readonly headers: JsonReply["headers"] }> {
  if (call.body.stream) return streamRequest(call, prompt, protocol.frames);
  const question = await postPrompt(call, prompt);
  const answer = await question.answer();
  const error = errorOfAnswer(answer);
  if (error) throw error;
  return {
    json: protocol.body(question, answer, question.acceptedAt),
    // For callers that continue with the engine's API.
    headers: {
      "x-rookery-agent": question.agentId,
      "x-rookery-run": answer.runId,
      ...(question.isRepeated ? REPLAYED : undefined),
    },
  };
}

/** As `answerRequest`, always as a stream. */
export async function streamRequest(
  call: Call<unknown, unknown, CommonRequest>,
  prompt: RequestPrompt,
  frames: Protocol<unknown>["frames"],
): Promise<MediaReply> {
  const question = await postPrompt(call, prompt);
  return streamAnswer(call, question, frames(question, question.acceptedAt));
}

async function postPrompt(call: Call<unknown, unknown, CommonRequest>, prompt: RequestPrompt): Promise<PostedQuestion> {
  const { context, principal, body } = call;
  const { store } = context.ports;
  const request = { model: body.model, user: body.user ?? undefined };
  const previous = body.previous_response_id;
  const given = resultsIn(prompt.messages, prompt.param);
  const { conversation, results } =
    given.length > 0
      ? await conversationOfResults(store, principal, given, { user: request.user, previous })
      : { results: undefined, conversation: await conversationNamed(call, request, previous) };
  const settings = readSettings(
    context.settings.current,
    conversation.profile,
    body as unknown as Record<string, unknown>,
  );
  const { text, files, system } = readPrompt(prompt.messages, conversation.isNew, prompt.param);
  if (body.stream) assertStreamAllowed(call);
  const told = [system ?? [], formatPrompt(settings) ?? []].flat().join("\n\n");
  const { temperature, tools } = settings;
  const asked = await ask(call, {
    ...{ conversation, text, files, results, temperature, tools, system: told === "" ? undefined : told },
    identity: {
      sender: senderNamed(principal, request.user),
      target: targetOf(context.settings.current, principal, request),
      said: prompt.said,
      content: async () => ({
        text: text.trim(),
        files: await promptFileDigests(call, files),
        output: settings.json,
        overrides: isEmpty({ system, temperature, tools }) ? undefined : { system, temperature, tools },
        toolResults: results,
        after: typeof previous === "string" ? previous : undefined,
      }),
    },
  });
  return withFormat(asked, settings);
}

const isEmpty = (fields: object): boolean => Object.values(fields).every((value) => value === undefined);

const conversationNamed = (
  { context, principal }: Pick<Call, "context" | "principal">,
  request: { readonly model: string; readonly user: string | undefined },
  previous: unknown,
): Promise<Conversation> =>
  typeof previous === "string"
    ? continuedConversation(context.ports.store, principal, previous, request.user)
    : resolveConversation(context.settings.current, context.ports.store, principal, request);

/** An answer that is not of the form that was asked for is an error, whole and as a stream. */
const withFormat = (question: PostedQuestion, settings: RequestSettings): PostedQuestion => ({
  ...question,
  async answer(onEvent) {
    const answer = await question.answer(onEvent);
    if (!errorOfAnswer(answer) && !answer.calls) await assertFormat(settings, answer.text);
    return answer;
  },
});

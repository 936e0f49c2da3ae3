/**
 * Posts one question durably, waits for the run that takes it, and returns the answer of that run. A caller that
 * disconnects aborts nothing; a caller that repeats the request gets the same run and the same answer (M18).
 */
import { TimeoutError } from "../../../core/errors.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { RunEvent } from "../../../engine/runtime/run-events.ts";
import { followMessage } from "../events/follow-message.ts";
import { HttpError } from "../http/http-error.ts";
import { acceptOnce } from "../messages/accept-once.ts";
import { answerOfResult, readAnswer } from "../messages/answer.ts";
import type { MessageIdentity } from "../messages/request-entry.ts";
import type { Call } from "../routing/route.ts";
import type { Answer } from "../schemas/message.ts";
import type { CallerTools, ToolResults } from "./caller-tools.ts";
import { type PromptFile, storePromptFiles } from "./prompt-files.ts";
import type { Conversation } from "./resolve-conversation.ts";

interface Question {
  readonly conversation: Conversation;
  readonly identity: MessageIdentity;
  readonly text: string;
  readonly files?: readonly PromptFile[];
  readonly temperature?: number;
  /** Tools that the client executes. */
  readonly tools?: CallerTools;
  /** The results of calls of such tools. */
  readonly results?: ToolResults;
  /** Added to the system prompt of this run only. */
  readonly system: string | undefined;
}

/** A question that is durable in an agent's inbox. */
export interface PostedQuestion {
  readonly agentId: AgentId;
  readonly seq: number;
  /** The same for a request that is repeated. */
  readonly acceptedAt: number;
  readonly isRepeated: boolean;
  /** Rejects on a timeout and when the gateway stops. The run continues, and the same request gets its answer later. */
  answer(onEvent?: (event: RunEvent) => void): Promise<Answer>;
}

/** Durable when it resolves. */
export async function ask(call: Call, question: Question): Promise<PostedQuestion> {
  const { conversation, identity, text, files = [], system, temperature, tools, results } = question;
  const { context } = call;
  const { clock, store } = context.ports;
  const { to, person, user } = conversation;
  let answered = false;
  // No `delivery`: the answer goes back over this request and never through the outbox.
  const message = async () => ({
    to,
    body: {
      kind: "user" as const,
      text,
      files: await storePromptFiles(call, files, { person }),
      queue: { mode: "queue" as const },
      sender: user === undefined ? undefined : { id: user },
      wishes: [system, temperature, tools].every((wish) => wish === undefined)
        ? undefined
        : { extraSystemPrompt: system, temperature, tools },
      after: conversation.after,
      toolResults: results,
    },
  });
  const speaker = { person, isNamed: user !== undefined };
  const options = { identity, speaker, isAnswered: () => answered };
  const { agentId, seq, isRepeated, acceptedAt } = await acceptOnce(call, message, options);
  context.metrics.count(isRepeated ? "api_joined" : "api_accepted");
  return {
    agentId,
    seq,
    isRepeated,
    acceptedAt: acceptedAt ?? (await store.message(agentId, seq))?.acceptedAt ?? clock.now(),
    async answer(onEvent) {
      const answer = await waitForAnswer(call, agentId, seq, onEvent);
      answered = true;
      return answer;
    },
  };
}

/** A question that an earlier request has posted. */
export async function joinQuestion(call: Call, agentId: AgentId, seq: number): Promise<PostedQuestion> {
  const { clock, store } = call.context.ports;
  return {
    agentId,
    seq,
    isRepeated: true,
    acceptedAt: (await store.message(agentId, seq))?.acceptedAt ?? clock.now(),
    answer: (onEvent) => waitForAnswer(call, agentId, seq, onEvent),
  };
}

async function waitForAnswer(
  { context }: Call,
  agentId: AgentId,
  seq: number,
  onEvent: ((event: RunEvent) => void) | undefined,
): Promise<Answer> {
  const unfollow = onEvent && followMessage(context, { agentId, seq }, onEvent);
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const onStop = (): void =>
    reject(
      new HttpError(503, "restarting", "The server is stopping.", {
        hint: "Repeat the request; the answer is not lost.",
        retryAfterMs: 1_000,
      }),
    );
  if (context.stopping.aborted) onStop();
  context.stopping.addEventListener("abort", onStop, { once: true });
  try {
    const timeoutMs = context.settings.current.runs.timeoutSeconds * 1000;
    const { result } = await Promise.race([context.agents.waitForMessage({ agentId, seq }, timeoutMs), stopped]);
    const answer = result ? answerOfResult(result, seq) : await readAnswer(context.ports, agentId, seq);
    if (answer) return answer;
    throw new TimeoutError("The answer is not ready yet.", { hint: "Repeat the request; the answer is not lost." });
  } finally {
    context.stopping.removeEventListener("abort", onStop);
    unfollow?.();
  }
}

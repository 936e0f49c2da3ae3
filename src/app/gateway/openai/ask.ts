/**
 * Posts one question durably, waits for the run that takes it, and returns the answer of that run. A caller that
 * disconnects aborts nothing; a caller that repeats the request gets the same run and the same answer (M18).
 */
import { ConflictError, TimeoutError } from "../../../core/errors.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { PostRequest } from "../../../engine/agents/message-ingress.ts";
import type { RunEvent } from "../../../engine/runtime/run-events.ts";
import { followMessage } from "../events/follow-message.ts";
import { HttpError } from "../http/http-error.ts";
import { staleError } from "../messages/accept-once.ts";
import { API_CONNECTOR } from "../messages/address.ts";
import { type Answer, answerOfResult, readAnswer } from "../messages/answer.ts";
import { assertSameRequest, idempotencyKey, KEY_HORIZON_MS, requestHash } from "../messages/idempotency.ts";
import type { RegisteredRequest } from "../messages/request-ledger.ts";
import type { Call } from "../routing/route.ts";
import type { Conversation } from "./resolve-conversation.ts";

export interface Question {
  readonly conversation: Conversation;
  readonly text: string;
  /** Added to the system prompt of this run only. */
  readonly system: string | undefined;
}

const MAX_TRIES = 20;

/** A question that is durable in an agent's inbox. */
export interface PostedQuestion {
  readonly agentId: AgentId;
  readonly seq: number;
  /** Rejects on a timeout and when the gateway stops. The run continues, and the same request gets its answer later. */
  answer(onEvent?: (event: RunEvent) => void): Promise<Answer>;
}

/** Durable when it resolves. */
export async function ask(call: Call, question: Question): Promise<PostedQuestion> {
  const { context, principal, outgoing } = call;
  const { user } = question.conversation;
  await context.limiter.admit(principal, user);
  const key = idempotencyKey(call);
  const hash = requestHash(call);
  const { registered, posted } = await postOnce(call, question, key, hash);
  if (posted.status === "stale") throw staleError();
  const { agentId, seq } = posted;
  if (posted.duplicate && key !== undefined) await assertSameRequest(context.ports.store, posted, hash);
  context.metrics.count(posted.status === "duplicate" ? "api_joined" : "api_accepted");
  let answered = false;
  // A caller that did not get the whole answer may repeat the request and joins this one.
  outgoing.on("close", () => registered.ended(answered && outgoing.writableFinished));
  if (outgoing.destroyed) registered.ended(false);
  return {
    agentId,
    seq,
    async answer(onEvent) {
      const answer = await waitForAnswer(call, agentId, seq, onEvent);
      if (answer.runId) await context.limiter.charge(principal, user, answer.runId);
      answered = true;
      return answer;
    },
  };
}

/** Without an idempotency key the ledger decides whether the question is new. Registers again when another node was first. */
async function postOnce(call: Call, question: Question, key: string | undefined, hash: string) {
  const { context, principal } = call;
  const { to, user } = question.conversation;
  for (let tries = 1; ; tries++) {
    const registered: RegisteredRequest =
      key === undefined
        ? await context.ledger.register({
            token: principal.id,
            user,
            body: call.raw,
            isRetry: Number(call.header("x-stainless-retry-count") ?? 0) > 0,
          })
        : { key, ops: [], ended() {} };
    const request: PostRequest = {
      to,
      body: {
        kind: "user",
        text: question.text,
        queue: { mode: "queue" },
        sender: user === undefined ? undefined : { id: user },
        wishes: question.system === undefined ? undefined : { extraSystemPrompt: question.system },
      },
      // No `delivery`: the answer goes back over this request and never through the outbox.
      source: { connector: API_CONNECTOR, accountId: principal.id, messageId: hash },
      key: registered.key,
      also: registered.ops,
      replayHorizonMs: KEY_HORIZON_MS,
    };
    try {
      return { registered, posted: await context.agents.post(request) };
    } catch (error) {
      registered.ended(false);
      if (!(error instanceof ConflictError) || key !== undefined || tries >= MAX_TRIES) throw error;
    }
  }
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
    const timeoutMs = context.config().gateway.limits.answerSeconds * 1000;
    const { result } = await Promise.race([context.agents.waitForMessage({ agentId, seq }, timeoutMs), stopped]);
    const answer = result ? answerOfResult(result, seq) : await readAnswer(context.ports, agentId, seq);
    if (answer) return answer;
    throw new TimeoutError("The answer is not ready yet.", { hint: "Repeat the request; the answer is not lost." });
  } finally {
    context.stopping.removeEventListener("abort", onStop);
    unfollow?.();
  }
}

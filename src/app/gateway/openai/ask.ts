/**
 * One question through the API: posted durably, waited for, answered from its run. A caller that goes away ends nothing,
 * and one that asks again gets the same run and the same answer (M18).
 */

import { ConflictError, TimeoutError } from "../../../core/errors.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import type { PostRequest } from "../../../engine/agents/message-ingress.ts";
import type { RunEvent } from "../../../engine/runtime/run-events.ts";
import { idempotencyKey, refuseOtherBody, requestHash } from "../api/accept-once.ts";
import { HttpError } from "../http/http-error.ts";
import type { Call } from "../http/route.ts";
import { API_CONNECTOR, type Spoken } from "./address.ts";
import { type Answer, answerOfResult, readAnswer } from "./answer.ts";
import type { Registered } from "./request-ledger.ts";

export interface Question {
  readonly spoken: Spoken;
  readonly text: string;
  /** Holds for this run only. */
  readonly system: string | undefined;
}

/** How long a key is remembered. */
const KEY_HORIZON_MS = 24 * 3600_000;
const MAX_TRIES = 20;

export interface Asked {
  readonly agentId: AgentId;
  readonly seq: number;
  /** Resolves with the answer; rejects where the time is up or the gateway stops. Nothing is lost by either. */
  answer(onEvent?: (event: RunEvent) => void): Promise<Answer>;
}

/** Durable when it resolves. */
export async function ask(call: Call, question: Question): Promise<Asked> {
  const { context, principal } = call;
  const { spoken } = question;
  await context.allowances.admit(principal, spoken.user);
  const key = idempotencyKey(call);
  const hash = requestHash(call);
  const { registered, posted } = await postOnce(call, question, key, hash);
  if (posted.status === "stale") throw new HttpError(409, "stale", "The message is too old.");
  const { agentId, seq } = posted;
  if (posted.duplicate && key !== undefined) await refuseOtherBody(call, posted, hash);
  context.metrics.count(posted.status === "duplicate" ? "api_joined" : "api_accepted");
  let answered = false;
  // Who was sent away without an answer, or went away before the last byte of it, asks again for the same one.
  call.outgoing.on("close", () => registered.ended(answered && call.outgoing.writableFinished));
  if (call.outgoing.destroyed) registered.ended(false);
  return {
    agentId,
    seq,
    async answer(onEvent) {
      const answer = await wait(call, spoken, agentId, seq, onEvent);
      answered = true;
      return answer;
    },
  };
}

/** A question without a key is one that was asked before, or a new one; who asks the same elsewhere at once comes first or after. */
async function postOnce(call: Call, question: Question, key: string | undefined, hash: string) {
  const { context, principal } = call;
  const { spoken, text } = question;
  for (let tries = 1; ; tries++) {
    const registered: Registered =
      key === undefined
        ? await context.ledger.register({
            token: principal.id,
            user: spoken.user,
            body: call.raw,
            isRetry: Number(call.header("x-stainless-retry-count") ?? 0) > 0,
          })
        : { key, also: [], ended() {} };
    const posting: PostRequest = {
      to: spoken.to,
      body: {
        kind: "user",
        text,
        queue: { mode: "queue" },
        ...(spoken.user === undefined ? {} : { sender: { id: spoken.user } }),
        ...(question.system === undefined ? {} : { wishes: { extraSystemPrompt: question.system } }),
      },
      // Nobody is written to: whoever asks reads the answer from the run.
      source: { connector: API_CONNECTOR, accountId: principal.id, messageId: hash },
      key: registered.key,
      also: registered.also,
      replayHorizonMs: KEY_HORIZON_MS,
    };
    try {
      return { registered, posted: await context.agents.post(posting) };
    } catch (error) {
      registered.ended(false);
      if (!(error instanceof ConflictError) || key !== undefined || tries >= MAX_TRIES) throw error;
    }
  }
}

async function wait(
  { context, principal }: Call,
  { user }: Spoken,
  agentId: AgentId,
  seq: number,
  onEvent: ((event: RunEvent) => void) | undefined,
): Promise<Answer> {
  const stop = onEvent ? followRun(context, agentId, seq, onEvent) : undefined;
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const onStop = (): void =>
    reject(
      new HttpError(503, "restarting", "The server is stopping.", {
        hint: "Ask again; the answer is not lost.",
        retryAfterMs: 1_000,
      }),
    );
  if (context.stopping.aborted) onStop();
  context.stopping.addEventListener("abort", onStop, { once: true });
  try {
    const timeoutMs = context.config().gateway.limits.answerSeconds * 1000;
    const { result } = await Promise.race([context.agents.waitForMessage({ agentId, seq }, timeoutMs), stopped]);
    const answer = result ? answerOfResult(result, seq) : await readAnswer(context.ports, agentId, seq);
    if (!answer) throw new TimeoutError("The answer is not there yet.", { hint: "Ask again; it is not lost." });
    if (answer.runId) await context.allowances.charge(principal, user, answer.runId);
    return answer;
  } finally {
    context.stopping.removeEventListener("abort", onStop);
    stop?.();
  }
}

/**
 * Events of the run that took the message, and of no other; what it said before somebody listened comes first. Of a run on
 * another node the store says which messages it took: what comes meanwhile is kept.
 */
function followRun(
  context: Call["context"],
  agentId: AgentId,
  seq: number,
  onEvent: (event: RunEvent) => void,
): () => void {
  let ours: RunId | undefined;
  const isOurs = (runId: RunId): boolean => {
    if (ours) return ours === runId;
    const run = context.agents.runs.live(agentId);
    if (run?.id !== runId || !run.body.seqs.includes(seq)) return false;
    ours = runId;
    return true;
  };
  let kept: RunEvent[] | undefined;
  /** Steps of runs the store was asked about: a message may join a run at each. */
  const looked = new Set<string>();
  const look = async (event: RunEvent): Promise<void> => {
    kept = [event];
    const run = await context.ports.store.run(event.runId).catch(() => undefined);
    if (run?.body.seqs.includes(seq)) ours ??= event.runId;
    const told = kept;
    kept = undefined;
    for (const one of told) hear(one);
  };
  const hear = (event: RunEvent): void => {
    const place = `${event.runId} ${event.step}`;
    if (isOurs(event.runId)) onEvent(event);
    else if (kept) kept.push(event);
    else if (context.feed.isShared && !ours && !looked.has(place) && !context.agents.runs.live(agentId)) {
      looked.add(place);
      void look(event);
    }
  };
  const tail = context.feed.tailOf(agentId);
  for (const event of tail?.tail.events() ?? []) hear(event);
  return context.feed.follow(agentId, hear);
}

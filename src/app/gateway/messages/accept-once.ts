/** Accepts a message over HTTP: counts it against the limits, posts it at most once per `Idempotency-Key`, answers 202. */
import { messageId } from "../../../core/ids.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { Posted } from "../../../core/store/change.ts";
import type { AgentSystem } from "../../../engine/agents/agent-system.ts";
import type { PostRequest } from "../../../engine/agents/message-ingress.ts";
import type { UsageLimiter } from "../auth/usage-limiter.ts";
import { HttpError } from "../http/http-error.ts";
import { API_CONNECTOR } from "./address.ts";
import { assertSameRequest, idempotencyKey, KEY_HORIZON_MS, type KeyedRequest, requestHash } from "./idempotency.ts";

export interface AcceptRequest extends KeyedRequest {
  readonly context: {
    readonly agents: Pick<AgentSystem, "post">;
    readonly ports: Pick<Ports, "store">;
    readonly limiter: UsageLimiter;
  };
}

/** Durable when it resolves. */
export async function acceptOnce(
  request: AcceptRequest,
  message: Pick<PostRequest, "to" | "body" | "delivery">,
): Promise<Posted> {
  const { context, principal } = request;
  await context.limiter.admit(principal, undefined);
  const key = idempotencyKey(request);
  const hash = requestHash(request);
  const source = { connector: API_CONNECTOR, accountId: principal.id, messageId: key ? hash : undefined };
  const posted = await context.agents.post({ ...message, source, key, replayHorizonMs: KEY_HORIZON_MS });
  if (posted.status === "stale") throw staleError();
  if (posted.duplicate && key) await assertSameRequest(context.ports.store, posted, hash);
  return posted;
}

export const staleError = (): HttpError =>
  new HttpError(409, "stale", "The message is too old to be accepted. Send it as a new request.");

/** The answer of every route that accepts a message: where the message is, and whether it was accepted before. */
export const accepted = ({ agentId, seq, duplicate }: Pick<Posted, "agentId" | "seq" | "duplicate">) => ({
  status: 202,
  json: { agentId, seq, messageId: messageId(agentId, seq), duplicate },
});

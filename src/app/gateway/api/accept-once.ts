/** Posts for an accepting route: with an `Idempotency-Key` the same request is the same message, however often it comes. */
import { createHash } from "node:crypto";
import type { Posted } from "../../../core/store/change.ts";
import type { PostRequest } from "../../../engine/agents/message-ingress.ts";
import { HttpError } from "../http/http-error.ts";
import type { Call } from "../http/route.ts";

const MAX_KEY = 255;
const KEY_HORIZON_MS = 24 * 3600_000;

/** The caller's key, checked; undefined where it has none. */
export function idempotencyKey(call: Call): string | undefined {
  const named = call.header("idempotency-key");
  if (named === undefined) return undefined;
  if (named === "" || named.length > MAX_KEY) {
    throw new HttpError(400, "invalid_input", `An Idempotency-Key has 1 to ${MAX_KEY} characters.`);
  }
  return `api:${call.principal.id}:${createHash("sha256").update(named).digest("hex")}`;
}

/** What of a request makes it the same one: where it goes and what it says. */
export const requestHash = ({ raw, incoming }: Call): string =>
  createHash("sha256")
    .update(incoming.url ?? "")
    .update("\n")
    .update(raw)
    .digest("hex");

export async function acceptOnce(call: Call, posting: Pick<PostRequest, "to" | "body" | "also">): Promise<Posted> {
  const { context, principal } = call;
  await context.allowances.admit(principal, undefined);
  const key = idempotencyKey(call);
  const hash = requestHash(call);
  const source = { connector: "api", accountId: principal.id, ...(key ? { messageId: hash } : {}) };
  const posted = await context.agents.post({ ...posting, source, key, replayHorizonMs: KEY_HORIZON_MS });
  if (posted.status === "stale") throw new HttpError(409, "stale", "The message is too old.");
  if (posted.duplicate && key) await refuseOtherBody(call, posted, hash);
  return posted;
}

/** The same key with another body is a mistake of the caller's (M18). */
export async function refuseOtherBody(
  { context }: Call,
  { agentId, seq }: Pick<Posted, "agentId" | "seq">,
  hash: string,
) {
  const message = await context.ports.store.message(agentId, seq);
  if (!message || message.source?.messageId === hash) return;
  throw new HttpError(422, "idempotency_key_reused", "This Idempotency-Key was used with another request.", {
    hint: "Use a new key for a new request.",
  });
}

/**
 * Calls of webhooks that were seen: a signed call takes effect once, under any key that comes with it. The row is written in the
 * commit that accepts the message, and kept as long as the call would be accepted.
 */
import { createHash } from "node:crypto";
import type { Config } from "../../../config/config-schema.ts";
import type { Secret } from "../../../config/secret.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { Op } from "../../../core/store/change.ts";
import type { KeyedEntry } from "../../../core/store/request.ts";
import { checkSignature, type SignedCall, type SignedRequest, sameText } from "./check-signature.ts";

type Hook = Config["hooks"][string];

interface CheckPorts extends Pick<Ports, "clock"> {
  /** Reads a secret at the moment of use. Absent: every call is refused. */
  reveal?(secret: Secret): string;
}

type Checked =
  | { readonly status: "refused"; readonly error: string }
  | { readonly status: "allowed"; readonly call?: SignedCall };

/** Every configured check must pass: the token, the signature with its time, or both. */
export function checkCall({ reveal, clock }: CheckPorts, { token, hmac }: Hook, request: SignedRequest): Checked {
  if (!reveal || (!token && !hmac)) return WRONG;
  if (token) {
    const given = /^bearer\s(.+)$/iu.exec(request.headers.authorization ?? "")?.[1] ?? "";
    if (!sameText(given.trim(), reveal(token))) return WRONG;
  }
  if (!hmac) return { status: "allowed" };
  const call = checkSignature({ ...hmac, secret: reveal(hmac.secret) }, request);
  if (!call) return WRONG;
  if (call.at !== undefined && Math.abs(clock.now() - call.at) > hmac.toleranceSeconds * 1_000) {
    const error = `The timestamp is more than ${hmac.toleranceSeconds} seconds from the clock of this server.`;
    return { status: "refused", error };
  }
  return { status: "allowed", call };
}

const WRONG: Checked = { status: "refused", error: "The token or the signature is wrong." };

export interface Seen {
  readonly key: string;
  readonly keepUntil: number;
}

/** A call with a timestamp is remembered until its time is refused. */
export function seenOf(name: string, hook: Hook, { signature, at, id }: SignedCall, now: number): Seen {
  const toleranceMs = (hook.hmac?.toleranceSeconds ?? 0) * 1_000;
  // The same id may be signed again with a new time; the entry of the id recognises that.
  const digest = createHash("sha256")
    .update(JSON.stringify([name, id ?? "", signature]))
    .digest("hex");
  return { key: `hook-seen:${digest}`, keepUntil: (at ?? now) + toleranceMs + 1 };
}

/** Refused as a conflict if the call was seen. Names the entry of the message, which is committed with it. */
export const seenOp = ({ key, keepUntil }: Seen, entry: KeyedEntry): Op => ({
  op: "request.put",
  request: { by: "key", key, digest: entry.digest, keepUntil },
  reply: JSON.stringify({ entry: entry.key }),
});

/** The message of the call that was seen; undefined if it was not. */
export async function earlierCall(
  { store, clock }: Pick<Ports, "store" | "clock">,
  { key }: Seen,
): Promise<{ readonly agentId: AgentId; readonly seq: number } | undefined> {
  const row = await store.request(key);
  if (row?.reply === undefined || row.keepUntil <= clock.now()) return undefined;
  const { entry } = JSON.parse(row.reply) as { entry: string };
  return (await store.request(entry))?.message;
}

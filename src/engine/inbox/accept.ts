/**
 * Accepts a message into an agent's inbox. When the promise resolves the message is durable. A message with an origin and id
 * seen before is acknowledged and not stored twice (L1). A connector acknowledges to its channel after this.
 */

import { z } from "zod";
import type { AgentSeed } from "../../core/agent/agent.ts";
import {
  ConflictError,
  InvalidInputError,
  InvariantError,
  NotFoundError,
  QueueFullError,
  WaitCycleError,
} from "../../core/errors.ts";
import { messageId } from "../../core/ids.ts";
import { dedupeKey, type Message, type NewMessage, newMessageSchema } from "../../core/message/message.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Op, Owner, Posted, Recipient } from "../../core/store/change.ts";
import type { RequestEntry } from "../../core/store/request.ts";
import { assertMessageFits } from "../../core/text-limits.ts";
import { submit } from "../commit/submit.ts";

type AcceptPorts = Pick<Ports, "store" | "ids" | "clock">;

interface Accepting {
  readonly to: Recipient;
  readonly message: NewMessage;
  /** How long the channel may send the same message again. */
  readonly replayHorizonMs: number;
  /** The node that claims the agent if no node holds it. */
  readonly claimFor?: number;
  /** The caller's key, if the message has no id of a channel (a tool's call, an HTTP request). */
  readonly key?: string;
  /** The HTTP request that posts it. It decides alone whether the message was accepted before (M18). */
  readonly request?: RequestEntry;
  /** Throws `QueueFullError` if as many messages wait already, unless this one was accepted before (M18a). */
  readonly maxWaiting?: number;
  /** Ops that are committed before the message. */
  readonly first?: readonly Op[];
  /** Ops that are committed with the message, for example a channel's offset. */
  readonly also?: readonly Op[];
  /** The most characters of the message. Default: that of `DEFAULT_TEXT_LIMITS`. */
  readonly maxCharacters?: number;
  /** The run that posts and waits. A commit with an unknown outcome is refused after the next step of the run. */
  readonly owner?: Owner;
}

export type AcceptResult =
  | ({
      readonly status: "accepted" | "duplicate";
      /** Absent of a duplicate. */
      readonly acceptedAt?: number;
      /** The message, if it is the only one that waits: the agent's owner need not read it. */
      readonly waits?: Message;
    } & Posted)
  | { readonly status: "stale" };

export async function accept(ports: AcceptPorts, accepting: Accepting): Promise<AcceptResult> {
  const { request } = accepting;
  const own = request?.by === "key" ? request.key : accepting.key;
  const parsed = newMessageSchema.safeParse(own === undefined ? accepting.message : { ...accepting.message, key: own });
  if (!parsed.success) {
    throw new InvalidInputError(`Invalid message: ${z.prettifyError(parsed.error)}`, { cause: parsed.error });
  }
  const message = parsed.data;
  assertMessageFits(message.body, accepting.maxCharacters);
  const now = ports.clock.now();
  const { source } = message;
  if (source?.sentAt !== undefined && source.sentAt < now - accepting.replayHorizonMs) {
    await traceStale(ports, message);
    return { status: "stale" };
  }
  const key = request ? undefined : dedupeKey(message);
  const post: Op = {
    op: "message.post",
    to: accepting.to,
    message,
    dedupe: key === undefined ? undefined : { key, keepUntil: now + accepting.replayHorizonMs },
    request,
    maxWaiting: accepting.maxWaiting,
    claimFor: accepting.claimFor,
  };
  const { owner, also = [], first = [] } = accepting;
  const result = await submit(ports, "accept", [...first, post, ...also], { owner, at: now });
  if (!result.ok && result.refused === "conflict") throw new ConflictError(result.detail);
  if (!result.ok) {
    if (result.refused === "full") {
      throw new QueueFullError(result.detail, { hint: "Nothing was stored. Send the message again later." });
    }
    if (result.refused === "cycle") {
      throw new WaitCycleError(result.detail, { hint: "Send the message without waiting for its answer." });
    }
    throw new NotFoundError(`The message was not accepted: ${result.detail}`, {
      hint: "Nothing was stored; check the address.",
    });
  }
  const posted = result.results[first.length];
  if (posted?.op !== "message.post") throw new InvariantError("The store did not return where it stored the message.");
  const { agentId, seq } = posted;
  const waits = posted.alone && { ...message, id: messageId(agentId, seq), agentId, seq, state: "waiting" as const };
  if (posted.duplicate) return { ...posted, status: "duplicate" };
  return { ...posted, status: "accepted", acceptedAt: message.acceptedAt, waits };
}

/** How many traces of stale messages are kept. A newer one replaces an older one. */
const STALE_TRACES = 1_000;

/** The key of a trace; the same for the same message. */
export function staleTraceKey(name: string): string {
  let hash = 0;
  for (const letter of name) hash = (hash * 31 + Number(letter.codePointAt(0))) >>> 0;
  return `stale:${hash % STALE_TRACES}`;
}

/** A message that is older than its channel may redeliver is refused, and leaves a trace (M5). */
async function traceStale(ports: AcceptPorts, message: NewMessage): Promise<void> {
  const key = staleTraceKey(dedupeKey(message) ?? ports.ids.uuid());
  const value = JSON.stringify({ source: message.source, refusedAt: ports.clock.now() });
  await submit(ports, "accept.stale", [{ op: "fact.put", key, value }]);
}

/** A recipient by the seed's key; created from the seed if it does not exist. */
export const recipientOf = (seed: AgentSeed): Recipient => ({ sessionKey: seed.sessionKey, create: seed });

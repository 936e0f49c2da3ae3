/**
 * Accepts a message over HTTP: counts it against the limits of its token and person, reads commands if they are on for the API, and
 * posts it once, even if the request is repeated (M18). Every route that accepts a message goes through here.
 */

import type { ServerResponse } from "node:http";
import type { Config } from "../../../config/config-schema.ts";
import type { Current } from "../../../core/current.ts";
import { type AgentId, messageId } from "../../../core/ids.ts";
import type { Behalf } from "../../../core/people/behalf.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import { joinsEarlier, type KeyedEntry, type RequestEntry } from "../../../core/store/request.ts";
import type { AgentSystem } from "../../../engine/agents/agent-system.ts";
import type { PostRequest } from "../../../engine/agents/message-ingress.ts";
import type { Principal } from "../auth/principal.ts";
import { behalfOf } from "../auth/speaker.ts";
import type { UsageLimiter } from "../auth/usage-limiter.ts";
import { HttpError } from "../http/http-error.ts";
import { REPLAYED } from "../http/send-reply.ts";
import { API_CONNECTOR } from "./address.ts";
import { chatBody } from "./chat-body.ts";
import { findEarlier, type IdentifiedRequest, type MessageIdentity, messageEntry } from "./request-entry.ts";
import type { RequestLedger } from "./request-ledger.ts";

export interface AcceptingCall extends IdentifiedRequest {
  readonly context: {
    readonly agents: Pick<AgentSystem, "post">;
    readonly ports: Pick<Ports, "store" | "clock">;
    readonly limiter: UsageLimiter;
    readonly ledger: RequestLedger;
    readonly settings: Current<Pick<Config, "commands" | "session">>;
  };
  readonly outgoing: ServerResponse;
  readonly keyed?: KeyedEntry;
  readonly before?: { readonly agentId: AgentId; readonly seq: number };
}

/** Who speaks. If the request named them, their limits count in addition to the token's. */
export interface Speaking {
  readonly person: PersonId;
  readonly isNamed: boolean;
}

interface AcceptOptions {
  /** Given by a route that accepts a `message`. Absent: the token and the key identify the request, and one without a key is new. */
  readonly identity?: MessageIdentity;
  readonly speaker?: Speaking;
  /** Whether what was sent is the response, and not an error on the way to it. */
  readonly isAnswered?: () => boolean;
}

/** A message that was accepted now, or by an earlier request that this one repeats. */
export interface AcceptedOnce {
  readonly agentId: AgentId;
  readonly seq: number;
  readonly isRepeated: boolean;
  /** Absent if it is repeated. */
  readonly acceptedAt?: number;
}

export interface AcceptedMessage extends Pick<PostRequest, "to" | "body" | "delivery" | "behalf"> {
  /** Replaces the one of the options. */
  readonly speaker?: Speaking;
}

/**
 * Durable when it resolves. `message` is not called for a request that repeats one with the same key. Throws a 422 if that one said
 * something else.
 */
export async function acceptOnce(
  call: AcceptingCall,
  message: () => AcceptedMessage | Promise<AcceptedMessage>,
  options: AcceptOptions = {},
): Promise<AcceptedOnce> {
  const { context, outgoing } = call;
  const { identity } = options;
  const request = identity ? await messageEntry(call, identity, context.ports.clock.now()) : call.keyed;
  const earlier = async () =>
    request?.by === "key" ? (await findEarlier(context.ports, request))?.message : undefined;
  const before = identity ? await earlier() : call.before;
  if (before) return { ...before, isRepeated: true };
  const { speaker = options.speaker, ...made } = await message();
  const [body, command] = chatBody(context.settings.current, made.body, API_CONNECTOR);
  const posting = { ...(await postingOf(call, speaker, request)), ...made, body };
  if (command) await postCommand(call, { ...posting, body: command });
  const posted = await context.agents.post(posting).catch(async (error) => {
    // Another request may have committed the key in between, or this one if the answer to its commit was lost.
    const committed = identity && (await earlier());
    if (!committed) throw error;
    return { ...committed, status: "duplicate", duplicate: true, acceptedAt: undefined } as const;
  });
  if (posted.status === "stale") throw staleError();
  const { agentId, seq, duplicate: isRepeated, acceptedAt } = posted;
  if (request?.by === "content") {
    const { isAnswered = () => outgoing.statusCode < 500 } = options;
    // A caller that did not get the whole response may repeat the request and joins this one.
    outgoing.on("close", () => {
      if (outgoing.writableFinished && isAnswered()) context.ledger.finished(request.key, { agentId, seq });
    });
  }
  return { agentId, seq, isRepeated, acceptedAt };
}

/** The command before a message. A request that is repeated does not carry it out again. */
async function postCommand(call: AcceptingCall, { to, body, source, behalf, request }: PostRequest): Promise<void> {
  if (request?.by === "content" && (await isRepeated(call, request))) return;
  const key = request?.by === "key" ? `${request.key}#command` : undefined;
  await call.context.agents.post({ to, body, source, behalf, key });
}

/** The common fields of a message of this call. Throws a 429 if a limit is reached, unless the call repeats an earlier one. */
export async function postingOf(
  call: AcceptingCall,
  speaker?: Speaking,
  request: RequestEntry | undefined = call.keyed,
): Promise<Pick<PostRequest, "source" | "request" | "behalf" | "first" | "longText">> {
  const { context, principal } = call;
  await context.limiter.admit(principal, named(speaker), () => isRepeated(call, request));
  return {
    source: { connector: API_CONNECTOR, accountId: principal.id },
    request,
    behalf: limitedBehalf(call, speaker),
    longText: "file",
    first: request && context.ledger.unwritten(request.key),
  };
}

/** Who the message is for, with the limits that count for everything it leads to. */
export function limitedBehalf(
  {
    context,
    principal,
  }: { readonly context: Pick<AcceptingCall["context"], "limiter">; readonly principal: Principal },
  speaker?: Speaking,
): Behalf {
  const { person } = speaker ?? behalfOf(principal);
  return { person, limits: context.limiter.dayLimitsOf(principal, named(speaker)) };
}

const named = (speaker: Speaking | undefined): PersonId | undefined => (speaker?.isNamed ? speaker.person : undefined);

/** Whether a request will join an earlier one, or has the key of one. The commit decides; here it only decides what is counted. */
async function isRepeated({ context, before }: AcceptingCall, request: RequestEntry | undefined): Promise<boolean> {
  if (before) return true;
  if (!request) return false;
  const { store, clock } = context.ports;
  if (request.by === "key") {
    // A request of several messages has a row for each.
    const row = (await store.request(request.key)) ?? (await store.request(`${request.key}#0`));
    return row !== undefined && row.keepUntil > clock.now();
  }
  const row = await store.request(request.key);
  if (!row?.message || row.keepUntil <= clock.now()) return false;
  const { seq } = row.message;
  const ended = context.ledger.unwritten(request.key).some((op) => op.seq === seq);
  return joinsEarlier({ ...row, isRetry: request.isRetry, finished: row.finished || ended });
}

export const staleError = (): HttpError =>
  new HttpError(409, "stale", "The message is too old to be accepted. Send it as a new request.");

/** The reply of every route that accepts a message. The same for a request that is repeated. */
export const accepted = ({ agentId, seq, isRepeated }: AcceptedOnce) => ({
  status: 202 as const,
  json: { agentId, seq, messageId: messageId(agentId, seq) },
  headers: isRepeated ? REPLAYED : undefined,
});

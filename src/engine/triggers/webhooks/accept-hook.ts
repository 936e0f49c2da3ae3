/**
 * Accepts a webhook call as a message. The response 202 comes after the commit: a caller that got it is done; a caller that
 * did not may repeat the call with the same key (M18).
 */
import { createHash } from "node:crypto";
import type { Config } from "../../../config/config-schema.ts";
import type { Secret } from "../../../config/secret.ts";
import { DEFAULT_PROFILE } from "../../../core/agent/agent.ts";
import { cutText } from "../../../core/cut-text.ts";
import type { DeliveryContext } from "../../../core/delivery/delivery.ts";
import { ConflictError, errorText, QueueFullError, RookeryError, TooLargeError } from "../../../core/errors.ts";
import { messageId } from "../../../core/ids.ts";
import { OWNER } from "../../../core/people/person.ts";
import { DEFAULT_REPLAY_HORIZON_MS } from "../../../core/ports/connector.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { KeyedEntry } from "../../../core/store/request.ts";
import type { PostRequest } from "../../agents/message-ingress.ts";
import type { AcceptResult } from "../../inbox/accept.ts";
import { addressFrom, type JobPorts, type JobScope, mainAddress, mainKeyOf } from "../cron/job-message.ts";
import { fillTemplate } from "./fill-template.ts";
import { checkCall, earlierCall, type Seen, seenOf, seenOp } from "./seen-calls.ts";

export interface HookPorts extends Pick<Ports, "store" | "log" | "clock">, Omit<JobPorts, "store"> {
  post(request: PostRequest): Promise<AcceptResult>;
  /** Reads a secret at the moment of use. Absent: every call is refused. */
  reveal?(secret: Secret): string;
}

export interface HookRequest {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** As received: the signature covers these bytes. */
  readonly body: string;
}

/** `isRepeated`: the call was accepted before. */
export type HookAnswer =
  | {
      readonly status: 202;
      readonly body: { readonly ok: true; readonly messageId: string };
      readonly isRepeated?: boolean;
    }
  | {
      readonly status: 400 | 401 | 404 | 413 | 422 | 503;
      readonly body: { readonly error: string };
      readonly isRepeated?: undefined;
    };

const MAX_HOOK_BODY = 256 * 1024;
const MAX_PROMPT = 32_000;
const MAX_KEY = 200;

type Hook = Config["hooks"][string];

const answer = (status: Exclude<HookAnswer["status"], 202>, error: string): HookAnswer => ({ status, body: { error } });

/** Durable when it resolves with 202. Throws `QueueFullError`. */
export async function acceptHook(
  ports: HookPorts,
  hooks: Config["hooks"],
  name: string,
  request: HookRequest,
  { mainKey }: { readonly mainKey?: string },
): Promise<HookAnswer> {
  const hook = Object.hasOwn(hooks, name) ? hooks[name] : undefined;
  if (!hook) return answer(404, `There is no hook ${name}.`);
  if (Buffer.byteLength(request.body) > MAX_HOOK_BODY) return answer(413, `A body has at most ${MAX_HOOK_BODY} bytes.`);
  try {
    const checked = checkCall(ports, hook, request);
    if (checked.status === "refused") return answer(401, checked.error);
    const { call } = checked;
    const key = call?.id ?? keyOf(hook, request);
    if (key !== undefined && key.length > MAX_KEY) return answer(400, `A key has at most ${MAX_KEY} characters.`);
    const seen = call && seenOf(name, hook, call, ports.clock.now());
    return await take(ports, hook, name, { ...request, key, seen }, mainKey);
  } catch (error) {
    if (error instanceof ConflictError) return answer(422, "The same key was used for another body.");
    if (error instanceof QueueFullError) throw error;
    if (error instanceof TooLargeError) return answer(413, errorText(error));
    ports.log.warn("cannot accept a webhook call", { hook: name, error: errorText(error) });
    return answer(503, error instanceof RookeryError && !error.retryable ? error.message : "Try again later.");
  }
}

interface CheckedRequest extends HookRequest {
  readonly key: string | undefined;
  /** Set for a signed call. */
  readonly seen: Seen | undefined;
}

async function take(
  ports: HookPorts,
  hook: Hook,
  name: string,
  request: CheckedRequest,
  mainKey: string | undefined,
): Promise<HookAnswer> {
  const { clock, people, post } = ports;
  const { key, seen } = request;
  const text = promptOf(hook, name, request.body);
  const profile = hook.profile ?? DEFAULT_PROFILE;
  const main: JobScope = { agentId: profile };
  const entry = entryOf(name, request, clock.now());
  const posting = post({
    to:
      hook.target === "main"
        ? mainAddress(main, mainKey)
        : { descriptor: { type: "cron", id: `hook:${name}`, name }, profile },
    body: {
      kind: "trigger",
      text,
      trigger: { type: "webhook", id: name, slot: key },
    },
    delivery: await deliveryOf(people, hook, main, mainKey),
    // The owner set the hook up. Its calls come from the network (M32).
    behalf: { person: OWNER, untrusted: true },
    request: entry,
    first: seen && entry && [seenOp(seen, entry)],
  });
  const accepted = await posting.catch(async (error) => {
    const earlier = seen && error instanceof ConflictError ? await earlierCall(ports, seen) : undefined;
    if (!earlier) throw error;
    return { status: "duplicate", duplicate: true, ...earlier } as const;
  });
  if (accepted.status === "stale") return answer(400, "This call is too old.");
  const { agentId, seq, duplicate: isRepeated } = accepted;
  return { status: 202, body: { ok: true, messageId: messageId(agentId, seq) }, isRepeated };
}

/** By its key, which is kept longer than those of other requests: a person may ask a sender for a call of the last days again. */
function entryOf(name: string, { key, seen, body }: CheckedRequest, now: number): KeyedEntry | undefined {
  const digest = createHash("sha256").update(body).digest("hex");
  if (key !== undefined) {
    return { by: "key", key: `hook:${name}:${key}`, digest, keepUntil: now + DEFAULT_REPLAY_HORIZON_MS };
  }
  // A signed call without a key is known by its signature, as long as it is remembered.
  return seen && { by: "key", key: `signed:${seen.key}`, digest, keepUntil: seen.keepUntil };
}

function promptOf(hook: Hook, name: string, raw: string): string {
  const body = parsed(raw);
  const template = hook.prompt ?? "{{body}}";
  const text = `[webhook:${name}] ${fillTemplate(template, { body, name })}`;
  return text.length <= MAX_PROMPT ? text : `${cutText(text, MAX_PROMPT)}…`;
}

function parsed(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return raw;
  }
}

function keyOf(hook: Hook, { headers }: HookRequest): string | undefined {
  const own = hook.idempotencyHeader && headers[hook.idempotencyHeader.toLowerCase()]?.trim();
  return own || headers["idempotency-key"]?.trim() || undefined;
}

async function deliveryOf(
  people: HookPorts["people"],
  hook: Hook,
  main: JobScope,
  mainKey: string | undefined,
): Promise<DeliveryContext | undefined> {
  const { deliver, target } = hook;
  if (deliver === undefined && target !== "main") return undefined;
  if (deliver === undefined || deliver === "last") return people.addressOfConversation(mainKeyOf(main, mainKey));
  return addressFrom(deliver);
}

/**
 * Carries out a POST once per `Idempotency-Key` (M18). A handler commits the key with what it changes: `acceptOnce` with the
 * message, `call.record` with any other change. A request with the same key then gets the recorded reply, or the reply that
 * the handler makes of the same message. A change outside of the store is recorded after it. A message has an
 * identity of its own, which its route states to `acceptOnce`.
 */
import { ConflictError } from "../../../core/errors.ts";
import type { KeyedEntry, RequestRecord } from "../../../core/store/request.ts";
import { submit } from "../../../engine/commit/submit.ts";
import { type JsonReply, REPLAYED, type Reply } from "../http/send-reply.ts";
import { findEarlier, keyedEntry } from "../messages/request-entry.ts";
import type { Call, Route } from "./route.ts";

export async function replyOnce(route: Route, call: Call): Promise<Reply> {
  if (route.accepts === "message") return route.handle(call);
  const { ports } = call.context;
  const keyed = keyedEntry(call, ports.clock.now());
  if (!keyed) return route.handle(call);
  const earlier = await findEarlier(ports, keyed);
  if (earlier?.reply !== undefined) return replayOf(earlier.reply);
  const recording = new Recording(call, keyed, earlier);
  try {
    const reply = await route.handle(recording.call);
    if (!route.accepts) await recording.complete(reply);
    return reply;
  } catch (error) {
    // The key may have been committed by another request in between, or by this one if the answer to the commit was lost.
    const committed = await findEarlier(ports, keyed);
    if (committed?.reply !== undefined) return replayOf(committed.reply);
    if (earlier || !committed?.message) throw error;
    return route.handle(new Recording(call, keyed, committed).call);
  }
}

/** The call as its handler sees it, and whether the handler committed the key. */
class Recording {
  readonly call: Call;
  readonly #keyed: KeyedEntry;
  #isRecorded = false;

  constructor(call: Call, keyed: KeyedEntry, earlier: RequestRecord | undefined) {
    this.#keyed = keyed;
    const record: Call["record"] = (reply) => {
      this.#isRecorded = true;
      return [this.#op(reply)];
    };
    this.call = { ...call, keyed, before: earlier?.message, record };
  }

  /** Records the reply of a handler that changed nothing in the store. */
  async complete(reply: Reply): Promise<void> {
    if (this.#isRecorded || !("json" in reply)) return;
    const done = await submit(this.call.context.ports, "api.reply", [this.#op(reply)]);
    if (!done.ok) throw new ConflictError(done.detail);
  }

  #op({ status, json }: JsonReply) {
    return { op: "request.put", request: this.#keyed, reply: JSON.stringify({ status, json }) } as const;
  }
}

const replayOf = (reply: string): Reply => ({ ...(JSON.parse(reply) as JsonReply), headers: REPLAYED });

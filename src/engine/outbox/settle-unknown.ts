/** Decides what to do about a send whose outcome is unknown (M16, L12): by the sending class of its channel. */

import type { SendingClass } from "../../core/delivery/delivery.ts";
import type { Connector } from "../../core/ports/connector.ts";
import { backoffMs } from "./backoff.ts";

interface UnknownSend {
  readonly id: string;
  /** The delivery has reached the age at which the outbox gives it up. */
  readonly tooOld: boolean;
  /** It may be sent again although it may have arrived. */
  readonly repeats?: boolean;
  /** Undefined: the channel is not connected to this node. */
  readonly channel: { readonly sendingClass: SendingClass; readonly canLookUp: boolean } | undefined;
}

/** The answer of the channel about the delivery; undefined: no answer. */
export interface LookupAnswer {
  readonly found: Awaited<ReturnType<NonNullable<Connector["lookup"]>>> | undefined;
  /** How many lookups were made before. */
  readonly times: number;
  /** The time since the first lookup. */
  readonly forMs: number;
  /** "absent" counts only after this time: before it, the delivery may still be on its way. */
  readonly absentAfterMs: number;
}

type UnknownDecision =
  | { readonly do: "retry" | "look-up" | "mark-sent" | "mark-unconfirmed" }
  | { readonly do: "wait"; readonly ms: number };

/** How long a delivery waits before the outbox checks again whether its channel is connected. */
export const NO_CHANNEL_WAIT_MS = 30_000;

/** Retry if idempotent, look up if reconcilable, otherwise mark unconfirmed. After "look-up": call again with the answer. */
export function settleUnknown({ id, tooOld, repeats, channel }: UnknownSend, answer?: LookupAnswer): UnknownDecision {
  if (!channel) return tooOld ? { do: "mark-unconfirmed" } : { do: "wait", ms: NO_CHANNEL_WAIT_MS };
  if (channel.sendingClass === "idempotent") return { do: "retry" };
  if (channel.sendingClass === "ambiguous" || !channel.canLookUp) {
    return { do: repeats && !tooOld ? "retry" : "mark-unconfirmed" };
  }
  if (!answer) return { do: "look-up" };
  const { found, times, forMs, absentAfterMs } = answer;
  if (found === "arrived") return { do: "mark-sent" };
  if (found === "absent") {
    return forMs >= absentAfterMs ? { do: "retry" } : { do: "wait", ms: absentAfterMs - forMs };
  }
  return tooOld ? { do: "mark-unconfirmed" } : { do: "wait", ms: backoffMs(id, times + 1) };
}

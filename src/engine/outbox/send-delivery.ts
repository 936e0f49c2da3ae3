/**
 * The steps of one attempt to send: the commits that move a delivery from state to state, and the calls to its channel. A move
 * is refused if the delivery is no longer in the state that was read (L12). A call ends in bounded time and throws nothing.
 */
import { contentOf, type Delivery } from "../../core/delivery/delivery.ts";
import { errorText } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/clock.ts";
import { sleep } from "../../core/ports/clock.ts";
import type { Connector, OutgoingDelivery, SendResult } from "../../core/ports/connector.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Change, CommitResult, Op } from "../../core/store/change.ts";
import type { CommitSite } from "../../core/store/commit-sites.ts";
import { commitKnown } from "../commit/submit.ts";
import { withFileLines } from "./create-deliveries.ts";
import { withoutLane } from "./question-lane.ts";

type Move = Extract<Op, { op: "delivery.move" }>;
export type DeliveryMove = Omit<Move, "op" | "id" | "from" | "attempts">;

type MovePorts = Pick<Ports, "store" | "ids" | "clock">;

const MAX_WAIT_MS = 10_000;

/** Refused if the delivery is no longer in the state that was read. */
export const moveOp = ({ id, state: from, attempts }: Delivery, move: DeliveryMove): Move => ({
  op: "delivery.move",
  ...{ id, from, attempts },
  ...move,
});

/** `also`: further ops of the same commit. */
export function moveChange(
  { ids, clock }: Pick<MovePorts, "ids" | "clock">,
  site: CommitSite,
  delivery: Delivery,
  move: DeliveryMove,
  also: readonly Op[] = [],
): Change {
  return { id: ids.change(), site, at: clock.now(), ops: [moveOp(delivery, move), ...also] };
}

/**
 * Commits until it is known whether the change was applied: a full disk must not make a sent delivery unsent. Throws only
 * after `signal` has aborted.
 */
export async function commitUntilKnown(
  { store, clock, log }: Pick<Ports, "store" | "clock" | "log">,
  change: Change,
  signal: AbortSignal,
): Promise<CommitResult> {
  for (let tries = 1; ; tries++) {
    try {
      return await commitKnown(store, change);
    } catch (error) {
      if (signal.aborted) throw error;
      log.warn("a commit of the outbox failed, trying again", { site: change.site, error: errorText(error) });
      await sleep(clock, Math.min(100 * 2 ** tries, MAX_WAIT_MS));
      const outcome = await store.outcome(change.id).catch(() => undefined);
      if (outcome) return outcome;
    }
  }
}

export async function send(
  clock: Clock,
  connector: Connector,
  delivery: Delivery,
  timeoutMs: number,
): Promise<SendResult> {
  const timedOut: SendResult = { status: "unknown", reason: "timed out" };
  try {
    return await withTimeout(
      clock,
      timeoutMs,
      (signal) => connector.send(outgoing(connector, delivery), signal),
      timedOut,
    );
  } catch (error) {
    return { status: "unknown", reason: errorText(error) };
  }
}

/** Whether a delivery has arrived. Undefined: the channel did not answer. */
export async function lookUp(clock: Clock, connector: Connector, delivery: Delivery, timeoutMs: number) {
  const call = async () => connector.lookup?.(outgoing(connector, delivery));
  return withTimeout(clock, timeoutMs, call, undefined).catch(() => undefined);
}

/** The channel gets everything but the trigger's slot. Files that had no route when they were sent may come to one that cannot carry them. */
function outgoing({ capabilities }: Connector, { id, attempts: attempt, target, payload }: Delivery): OutgoingDelivery {
  const content = contentOf(payload);
  const isBare = !capabilities.sendFiles && content.files?.length && !content.text;
  return {
    id,
    attempt,
    target: withoutLane(target),
    payload: isBare ? { ...content, text: withFileLines(content) } : content,
  };
}

async function withTimeout<T>(
  clock: Clock,
  ms: number,
  call: (signal: AbortSignal) => Promise<T>,
  onTimeout: T,
): Promise<T> {
  const timeout = new AbortController();
  const cancel = clock.after(ms, () => timeout.abort());
  const timedOut = new Promise<T>((resolve) => {
    timeout.signal.addEventListener("abort", () => resolve(onTimeout), { once: true });
  });
  try {
    return await Promise.race([call(timeout.signal), timedOut]);
  } finally {
    cancel();
  }
}

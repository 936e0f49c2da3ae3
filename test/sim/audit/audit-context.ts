/**
 * Every request is one a provider accepts, and a history builds the same bytes each time it is read, by any process and after any
 * crash (L11). Judged from the requests to the model.
 */

import type { ModelCall } from "../world/model-call.ts";
import { SUMMARY_OPENS } from "../world/scripted-model.ts";
import { broken, parsed, push, type View, type Violation } from "./audit-view.ts";

export function* context(view: View): Iterable<Violation> {
  yield* lawfulRequests(view);
  const sessions = new Map<string, ModelCall[]>();
  for (const call of view.calls) {
    const known = sessions.get(call.sessionId);
    if (known) known.push(call);
    else sessions.set(call.sessionId, [call]);
  }
  // After going back a request is shorter than before: the law of branches judges it.
  const back = new Set(view.branches.map(({ agentId }) => agentId));
  const left = new Set(
    view.listed.flatMap(({ agent, lines }) =>
      back.has(agent.id) ? lines.flatMap((line) => parsed(line).sessionId ?? []) : [],
    ),
  );
  for (const [sessionId, calls] of sessions) {
    if (left.has(sessionId)) continue;
    const stretches = bySummary(calls);
    for (const stretch of stretches.values()) yield* sameBytes(view, stretch);
    yield* onlyForward(view, calls);
  }
}

/** The summary at the beginning of a call's context: each compaction begins a new stretch. */
const summaryOf = ({ bytes }: ModelCall): string => (bytes[1]?.includes(SUMMARY_OPENS) ? bytes[1] : "");

function bySummary(calls: readonly ModelCall[]): ReadonlyMap<string, readonly ModelCall[]> {
  const stretches = new Map<string, ModelCall[]>();
  for (const call of calls) push(stretches, summaryOf(call), call);
  return stretches;
}

/** Once a context was compacted, no request contains the earlier context, except from a node that lost its lease (L10). */
function* onlyForward({ nodes }: View, calls: readonly ModelCall[]): Iterable<Violation> {
  const order: string[] = [];
  const last = new Map<string, number>();
  for (const call of calls) {
    const summary = summaryOf(call);
    if (!order.includes(summary)) order.push(summary);
    const place = order.indexOf(summary);
    const before = nodes > 1 ? (last.get(call.process) ?? 0) : order.length - 1;
    if (place < before)
      yield broken("L10", `model call ${call.n} (${call.process}) contains text that was already compacted`);
    last.set(call.process, Math.max(place, last.get(call.process) ?? 0));
  }
}

/** After every restore the requests are ones a provider accepts, and no message is in one twice. */
function* lawfulRequests({ calls }: View): Iterable<Violation> {
  for (const { n, process, unlawful, tokens } of calls) {
    if (unlawful) yield broken("L11", `model call ${n} (${process}): ${unlawful}`);
    const twice = tokens.find((token, index) => tokens.indexOf(token) !== index);
    if (twice) yield broken("L11", `model call ${n} (${process}): ${twice} is in the context twice`);
  }
}

/**
 * Within a session nothing of an earlier request changes: each call begins with the exact bytes of the one before. A call
 * whose result was not kept (a crash, an error, a lost lease) is followed by one of exactly the same bytes.
 */
function* sameBytes({ calls: all, nodes }: View, calls: readonly ModelCall[]): Iterable<Violation> {
  const kept = new Set(all.flatMap((call) => [...call.context]));
  /** The calls with the longest context so far: several if a node lost its agent without noticing. */
  let most: ModelCall[] = [];
  for (const call of calls) {
    const [before] = most;
    const known = before?.bytes ?? [];
    const where = `model call ${call.n} (${call.process}), after call ${before?.n} (${before?.process})`;
    const shared = Math.min(known.length, call.bytes.length);
    const at = call.bytes.findIndex((bytes, index) => index < shared && bytes !== known[index]);
    if (at !== -1) return yield broken("L11", `${where}: was "${known[at]}", is "${call.bytes[at]}"`);
    if (call.bytes.length < known.length) {
      // Only a node that lost its agent may repeat an earlier request, and only beside another node.
      const beside = nodes > 1 && most.every(({ process }) => process !== call.process);
      if (!beside) yield broken("L11", `${where}: has a shorter context than before`);
    } else if (call.bytes.length === known.length) {
      most.push(call);
    } else {
      const same = before !== undefined && call.fresh.join() === before.fresh.join();
      const nothing = !most.flatMap(marksOf).some((mark) => kept.has(mark));
      if (same && nothing) yield broken("L11", `${where}: has a longer context, but nothing was stored in between`);
      most = [call];
    }
  }
}

const marksOf = ({ answer, asked }: ModelCall): readonly string[] => (answer === undefined ? asked : [answer]);

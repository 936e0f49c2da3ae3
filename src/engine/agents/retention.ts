/**
 * Prunes rows that are older than their limit, in the background, in bounded portions with pauses in between. A row that has
 * not ended is kept at every age. History is never pruned.
 */

import { errorText } from "../../core/errors.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Prunable } from "../../core/store/change.ts";
import { submit } from "../commit/submit.ts";
import type { FileService } from "../files/file-service.ts";
import { QUESTION_MS } from "../people/open-question.ts";

export interface RetentionLimits {
  readonly messagesMs: number;
  readonly deliveriesMs: number;
  readonly runsMs: number;
  readonly changesMs: number;
  readonly auditMs: number;
}

const PORTION = 200;
const PAUSE_MS = 50;
const ROUND_MS = 3600_000;

/** Starts the rounds. Returns how to stop them. */
export function startRetention(
  ports: Pick<Ports, "store" | "ids" | "clock" | "log">,
  /** Called for each round: the limits may change. */
  limits: () => RetentionLimits,
  /** Files that nothing refers to any more are removed in the same rounds. */
  files?: Pick<FileService, "sweep">,
): () => void {
  let stopped = false;
  let cancel = (): void => {};
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      cancel = ports.clock.after(ms, resolve);
    });
  const rounds = async (): Promise<void> => {
    while (!stopped) {
      await pause(ROUND_MS);
      if (stopped) return;
      try {
        await pruneRound(ports, limits(), () => pause(PAUSE_MS));
        // Afterwards: a delivery that was pruned holds its files no longer.
        await files?.sweep(() => pause(PAUSE_MS));
      } catch (error) {
        ports.log.warn("pruning failed and will be tried again", { error: errorText(error) });
      }
    }
  };
  void rounds();
  return () => {
    stopped = true;
    cancel();
  };
}

/** How old the rows of each table may become. */
export const agesOf = (limits: RetentionLimits): readonly (readonly [Prunable, number])[] => [
  ["messages", limits.messagesMs],
  ["deliveries", limits.deliveriesMs],
  ["runs", limits.runsMs],
  ["changes", limits.changesMs],
  ["slots", limits.runsMs],
  ["audit", limits.auditMs],
  ["approvals", limits.runsMs],
  ["questions", QUESTION_MS],
  // Each key stores how long it is kept.
  ["dedupe", 0],
  ["requests", 0],
];

/** One pass over all tables. Returns how many rows it removed from each. */
export async function pruneRound(
  { store, ids, clock }: Pick<Ports, "store" | "ids" | "clock">,
  limits: RetentionLimits,
  pause: () => Promise<void>,
): Promise<Readonly<Record<Prunable, number>>> {
  const removed: Record<Prunable, number> = {
    messages: 0,
    deliveries: 0,
    runs: 0,
    changes: 0,
    slots: 0,
    dedupe: 0,
    requests: 0,
    audit: 0,
    approvals: 0,
    questions: 0,
  };
  for (const [what, age] of agesOf(limits)) {
    let after: string | undefined;
    do {
      const at = clock.now();
      const ops = [{ op: "prune", what, before: at - age, limit: PORTION, after }] as const;
      const result = await submit({ store, ids, clock }, "prune", ops);
      const [pruned] = result.ok ? result.results : [];
      if (pruned?.op !== "prune") break;
      removed[what] += pruned.removed;
      after = pruned.next;
      await pause();
    } while (after !== undefined);
  }
  await sweepBudgets({ store, ids, clock }, limits.runsMs);
  return removed;
}

/** No call lasts a day: an older reservation belongs to a run that no node can resume. */
const MAX_CALL_MS = 24 * 3600_000;

async function sweepBudgets(
  { store, ids, clock }: Pick<Ports, "store" | "ids" | "clock">,
  keptMs: number,
): Promise<void> {
  const at = clock.now();
  const ops = [{ op: "budget.sweep", reservedBefore: at - MAX_CALL_MS, rowsBefore: at - keptMs }] as const;
  await submit({ store, ids, clock }, "budget.sweep", ops);
}

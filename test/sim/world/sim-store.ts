/**
 * The store under simulation: the real statements on a database in memory, behind a wire. Commits travel, wait, are
 * grouped by chance across nodes and answered late, wrongly or never; reads are a little stale. Without this a
 * synchronous store hides every interleaving.
 */

import { CommitUnknownError, StoreFullError, TimeoutError } from "../../../src/core/errors.ts";
import type { AgentId, ChangeId } from "../../../src/core/ids.ts";
import type { Change, CommitResult } from "../../../src/core/store/change.ts";
import type { Store, StoreReader } from "../../../src/core/store/store.ts";
import type { Random } from "../../kit/random.ts";
import type { EventLog } from "./event-log.ts";
import type { Faults } from "./faults.ts";
import type { Outcome, SimProcess } from "./process.ts";
import type { Scheduler } from "./scheduler.ts";

export type Applied = (CommitResult | Error)[];

/** Goes on with what was applied: at once where it was. */
export function afterwards(applied: Applied | Promise<Applied>, go: (results: Applied) => void): void {
  if (applied instanceof Promise) void applied.then(go);
  else go(applied);
}

/** What lies behind the wire. Mutations of the store wrap it. */
export interface Backend {
  readonly reader: StoreReader;
  apply(changes: readonly Change[]): Applied;
  outcome(id: ChangeId): CommitResult | undefined;
}

/** The same with a real server behind it: answers come later, and virtual time stands still until then. */
export interface ServerBackend {
  readonly reader: StoreReader;
  apply(changes: readonly Change[]): Applied | Promise<Applied>;
  outcome(id: ChangeId): CommitResult | undefined | Promise<CommitResult | undefined>;
}

export interface SimStoreWorld {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly log: EventLog;
  readonly faults: Faults;
  readonly backend: ServerBackend;
  /** Dies with its process: what was queued and not applied is gone. Otherwise requests in flight may still arrive. */
  readonly embedded: boolean;
  /** Told before a process dies inside a batch, with the sites of its unanswered commits. */
  onBatchDeath(process: SimProcess, sites: readonly string[]): void;
}

interface Queued {
  readonly process: SimProcess;
  readonly change: Change;
  readonly answer: (outcome: Outcome<CommitResult>) => void;
}

export interface SimStore {
  /** The store as one process sees it. */
  view(process: SimProcess): Store;
  readonly commits: number;
  /** Process → when each of its leases began, by the store. */
  readonly leases: ReadonlyMap<string, readonly number[]>;
}

const READS = [
  "agent",
  "agentByKey",
  "agentFor",
  "agents",
  "agentsOfKind",
  "children",
  "roots",
  "busyAgents",
  "waiting",
  "message",
  "messages",
  "linesBack",
  "run",
  "runs",
  "delivery",
  "deliveryHead",
  "deliveries",
  "job",
  "jobs",
  "nextJobs",
  "jobSlots",
  "jobSlot",
  "subagentRun",
  "subagentRuns",
  "openSubagentRuns",
  "waits",
  "budget",
  "budgets",
  "reservations",
  "usageSince",
  "swarm",
  "swarms",
  "swarmContact",
  "swarmContacts",
  "fact",
  "nodes",
] as const satisfies readonly (keyof StoreReader)[];

export function makeSimStore(world: SimStoreWorld): SimStore {
  const { scheduler, random, log, faults, backend } = world;
  const listeners = new Map<SimProcess, Set<(agentId: AgentId) => void>>();
  let queue: Queued[] = [];
  let flushing = false;
  let commits = 0;
  const leases = new Map<string, number[]>();

  /** A wire is quick, and sometimes not. */
  const wire = (): number => (random.chance(0.05) ? random.int(20, 300) : random.int(0, 4));

  function scheduleFlush(): void {
    if (flushing) return;
    flushing = true;
    scheduler.after(random.int(0, 2), flush);
  }

  function flush(): void {
    flushing = false;
    // A dead process of the embedded store takes its queue along; a request on the wire to a server may still arrive.
    queue = queue.filter(({ process }) => process.state !== "dead" || (!world.embedded && random.chance(0.5)));
    const size = random.int(1, Math.min(queue.length, 8));
    const taken = queue.slice(0, size);
    queue = queue.slice(size);
    if (queue.length > 0) scheduleFlush();
    applyBatch(taken.filter((queued) => !failsFirst(queued)));
  }

  /** Commits that do not get through. */
  function failsFirst({ process, change, answer }: Queued): boolean {
    const fail = (error: Error, what: string, ms: number): true => {
      log.write(process.name, `commit ${change.site} ${change.id} ${what}`);
      scheduler.after(ms, () => answer({ error }));
      return true;
    };
    if (!faults.active) return false;
    if (faults.diskFull || random.chance(faults.store.full)) {
      return fail(new StoreFullError("The disk is full."), "finds the disk full", wire());
    }
    if (faults.outage ? random.chance(0.8) : random.chance(faults.store.lost)) {
      return fail(new CommitUnknownError("The store does not answer."), "is lost", random.int(5, 800));
    }
    if (random.chance(faults.store.late)) {
      // Mostly soon; sometimes when everybody has long stopped thinking of it.
      const ms = random.chance(0.7) ? random.int(20, 400) : random.int(400, 4_000);
      scheduler.after(ms, () => {
        afterwards(backend.apply([change]), ([result]) => {
          if (result && !(result instanceof Error) && result.ok) noteLease(process, change);
        });
      });
      return fail(new CommitUnknownError("The connection broke."), "is applied late", random.int(0, 60));
    }
    return false;
  }

  function applyBatch(batch: readonly Queued[]): void {
    if (batch.length === 0) return;
    afterwards(backend.apply(batch.map(({ change }) => change)), (results) => answerBatch(batch, results));
  }

  function answerBatch(batch: readonly Queued[], results: Applied): void {
    commits += batch.length;
    if (faults.active && random.chance(faults.store.batchDeath)) {
      const { process } = random.pick(batch);
      if (process.state !== "dead") {
        world.onBatchDeath(
          process,
          batch.filter((queued) => queued.process === process).map(({ change }) => change.site),
        );
      }
    }
    batch.forEach(({ process, change, answer }, index) => {
      const result = results[index];
      if (result === undefined) return;
      const told = result instanceof Error ? result.message : result.ok ? "ok" : result.refused;
      log.write(process.name, `commit ${change.site} ${change.id} ${told}`);
      if (!(result instanceof Error) && result.ok) {
        hint(process, result);
        noteLease(process, change);
      }
      const lost = faults.active && (faults.outage || random.chance(faults.store.unanswered));
      const outcome: Outcome<CommitResult> =
        result instanceof Error
          ? { error: result }
          : lost
            ? { error: new CommitUnknownError("The connection broke after the commit was sent.") }
            : { value: result };
      if (lost) log.write(process.name, `commit ${change.site} ${change.id} is not answered`);
      const hangs = faults.active && random.chance(faults.store.hangs);
      scheduler.after(hangs ? random.int(1_000, 12_000) : wire(), () => answer(outcome));
    });
  }

  function noteLease({ name }: SimProcess, { ops }: Change): void {
    if (!ops.some(({ op }) => op === "node.join" || op === "node.renew")) return;
    leases.set(name, [...(leases.get(name) ?? []), scheduler.time]);
  }

  /** Tells the other nodes whom a message was posted to: late, or not at all (M24). */
  function hint(from: SimProcess, result: CommitResult): void {
    if (!result.ok) return;
    for (const said of result.results) {
      if (said?.op !== "message.post" || said.duplicate) continue;
      for (const [process, heard] of listeners) {
        if (process === from || process.state === "dead" || random.chance(0.2)) continue;
        scheduler.after(random.int(1, 40), () =>
          process.enter(() => {
            for (const listener of heard) listener(said.agentId);
          }),
        );
      }
    }
  }

  function read<T>(process: SimProcess, name: string, ask: () => Promise<T> | T): Promise<T> {
    return process.call<T>("read", name, (answer) => {
      scheduler.after(random.int(0, 2), () => {
        if (faults.active && faults.outage) {
          const error = new TimeoutError("The store does not answer.");
          scheduler.after(random.int(50, 500), () => answer({ error }));
          return;
        }
        // Asked now, told later: what was read may be old when it arrives.
        const later = random.chance(0.03) ? random.int(10, 120) : random.int(0, 2);
        Promise.resolve(ask()).then(
          (value) => scheduler.after(later, () => answer({ value })),
          (error: Error) => scheduler.after(later, () => answer({ error })),
        );
      });
    });
  }

  return {
    leases,
    get commits() {
      return commits;
    },
    view(process) {
      const heard = new Set<(agentId: AgentId) => void>();
      listeners.set(process, heard);
      type Asking = Record<string, (...values: unknown[]) => Promise<unknown>>;
      const ask = (): Asking => backend.reader as unknown as Asking;
      const reads = Object.fromEntries(
        READS.map((name) => [
          name,
          (...values: unknown[]) => read(process, name, () => ask()[name]?.(...values) ?? Promise.resolve(undefined)),
        ]),
      ) as unknown as StoreReader;
      return {
        ...reads,
        commit: (change) =>
          process.call<CommitResult>("commit", change.site, (answer) => {
            scheduler.after(wire(), () => {
              queue.push({ process, change, answer });
              scheduleFlush();
            });
          }),
        outcome: (id) => read(process, "outcome", () => backend.outcome(id)),
        onHint(listener) {
          heard.add(listener);
          return () => void heard.delete(listener);
        },
        close: async () => {},
      };
    },
  };
}

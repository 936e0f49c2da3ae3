/**
 * The store under simulation: the real statements on a database in memory, behind a wire. Commits travel, wait, are
 * grouped at random across nodes and answered late, with an error or never; reads are a little stale. A synchronous store
 * without this wire would hide every interleaving.
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

/** Calls `go` with the results: at once if they are there, otherwise when they arrive. */
export function afterwards(applied: Applied | Promise<Applied>, go: (results: Applied) => void): void {
  if (applied instanceof Promise) void applied.then(go);
  else go(applied);
}

/** The database behind the wire. Mutations of the store wrap it. */
export interface Backend {
  readonly reader: StoreReader;
  apply(changes: readonly Change[]): Applied;
  outcome(id: ChangeId): CommitResult | undefined;
}

/** The same on a real server: answers come later, and virtual time stands still until then. */
export interface ServerBackend {
  readonly reader: StoreReader;
  apply(changes: readonly Change[]): Applied | Promise<Applied>;
  outcome(id: ChangeId): CommitResult | undefined | Promise<CommitResult | undefined>;
}

export interface SimStoreDeps {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly log: EventLog;
  readonly faults: Faults;
  readonly backend: ServerBackend;
  /** The queue dies with its process. Otherwise requests in flight may still arrive. */
  readonly embedded: boolean;
  /** Called before a process dies inside a batch, with the sites of its unanswered commits. */
  onBatchDeath(process: SimProcess, sites: readonly string[]): void;
}

interface Queued {
  readonly process: SimProcess;
  readonly change: Change;
  readonly answer: (outcome: Outcome<CommitResult>) => void;
}

const READS = [
  "agent",
  "agentByKey",
  "agentFor",
  "recentForeground",
  "agents",
  "agentsOfKind",
  "children",
  "roots",
  "busyAgents",
  "waiting",
  "message",
  "messages",
  "unanswered",
  "linesBack",
  "run",
  "runs",
  "heldBackRuns",
  "delivery",
  "deliveryHead",
  "unconfirmed",
  "deliveries",
  "mailbox",
  "mailboxesOf",
  "fullMailboxes",
  "waitingDeliveries",
  "workCounts",
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
  "people",
  "person",
  "personByAccount",
  "rightsRevision",
  "audit",
  "approval",
  "approvals",
  "approvalsDue",
  "file",
  "fileBySha",
  "fileBytes",
  "files",
  "holdsFile",
  "openApprovals",
] as const satisfies readonly (keyof StoreReader)[];

export class SimStore {
  /** How many commits were applied. */
  commits = 0;
  /** Process → when each of its leases began, by the store. */
  readonly leases = new Map<string, number[]>();
  readonly #deps: SimStoreDeps;
  readonly #listeners = new Map<SimProcess, Set<(agentId: AgentId) => void>>();
  #queue: Queued[] = [];
  #flushing = false;

  constructor(deps: SimStoreDeps) {
    this.#deps = deps;
  }

  /** The store as one process sees it. */
  view(process: SimProcess): Store {
    const { scheduler, backend } = this.#deps;
    const listeners = new Set<(agentId: AgentId) => void>();
    this.#listeners.set(process, listeners);
    return {
      ...this.#reader(process),
      commit: (change) =>
        process.call<CommitResult>("commit", change.site, (answer) => {
          scheduler.after(this.#wireMs(), () => {
            this.#queue.push({ process, change, answer });
            this.#scheduleFlush();
          });
        }),
      outcome: (id) => this.#read(process, "outcome", () => backend.outcome(id)),
      ready: async () => {},
      onHint(listener) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
      close: async () => {},
    };
  }

  #reader(process: SimProcess): StoreReader {
    const { backend } = this.#deps;
    type Methods = Record<string, (...values: unknown[]) => Promise<unknown>>;
    const methods = (): Methods => backend.reader as unknown as Methods;
    const reads = READS.map((name) => [
      name,
      (...values: unknown[]) =>
        this.#read(process, name, () => methods()[name]?.(...values) ?? Promise.resolve(undefined)),
    ]);
    return Object.fromEntries(reads) as unknown as StoreReader;
  }

  #read<T>(process: SimProcess, name: string, ask: () => Promise<T> | T): Promise<T> {
    const { scheduler, random, faults } = this.#deps;
    return process.call<T>("read", name, (answer) => {
      scheduler.after(random.int(0, 2), () => {
        if (faults.active && faults.outage) {
          const error = new TimeoutError("The store does not answer.");
          scheduler.after(random.int(50, 500), () => answer({ error }));
          return;
        }
        // Read now, answered later: the value may be old when it arrives.
        const later = random.chance(0.03) ? random.int(10, 120) : random.int(0, 2);
        Promise.resolve(ask()).then(
          (value) => scheduler.after(later, () => answer({ value })),
          (error: Error) => scheduler.after(later, () => answer({ error })),
        );
      });
    });
  }

  /** The wire is mostly quick. */
  #wireMs(): number {
    const { random } = this.#deps;
    return random.chance(0.05) ? random.int(20, 300) : random.int(0, 4);
  }

  #scheduleFlush(): void {
    const { scheduler, random } = this.#deps;
    if (this.#flushing) return;
    this.#flushing = true;
    scheduler.after(random.int(0, 2), () => this.#flush());
  }

  #flush(): void {
    const { random, embedded } = this.#deps;
    this.#flushing = false;
    // The queue of the embedded store dies with its process; a request on the wire to a server may still arrive.
    this.#queue = this.#queue.filter(({ process }) => process.state !== "dead" || (!embedded && random.chance(0.5)));
    const taken = this.#queue.splice(0, random.int(1, Math.min(this.#queue.length, 8)));
    if (this.#queue.length > 0) this.#scheduleFlush();
    this.#applyBatch(taken.filter((queued) => !this.#fails(queued)));
  }

  /** Answers a commit that does not get through with an error. True for such a commit. */
  #fails({ process, change, answer }: Queued): boolean {
    const { scheduler, random, log, faults, backend } = this.#deps;
    const fail = (error: Error, what: string, ms: number): true => {
      log.write(process.name, `commit ${change.site} ${change.id} ${what}`);
      scheduler.after(ms, () => answer({ error }));
      return true;
    };
    if (!faults.active) return false;
    if (faults.diskFull || random.chance(faults.store.full)) {
      return fail(new StoreFullError("The disk is full."), "finds the disk full", this.#wireMs());
    }
    if (faults.outage ? random.chance(0.8) : random.chance(faults.store.lost)) {
      return fail(new CommitUnknownError("The store does not answer."), "is lost", random.int(5, 800));
    }
    if (random.chance(faults.store.late)) {
      // Mostly soon; sometimes long after every process stopped expecting it.
      const ms = random.chance(0.7) ? random.int(20, 400) : random.int(400, 4_000);
      scheduler.after(ms, () => {
        afterwards(backend.apply([change]), ([result]) => {
          if (result && !(result instanceof Error) && result.ok) this.#noteLease(process, change);
        });
      });
      return fail(new CommitUnknownError("The connection broke."), "is applied late", random.int(0, 60));
    }
    return false;
  }

  #applyBatch(batch: readonly Queued[]): void {
    if (batch.length === 0) return;
    const changes = batch.map(({ change }) => change);
    afterwards(this.#deps.backend.apply(changes), (results) => this.#answerBatch(batch, results));
  }

  #answerBatch(batch: readonly Queued[], results: Applied): void {
    const { random, faults, onBatchDeath } = this.#deps;
    this.commits += batch.length;
    if (faults.active && random.chance(faults.store.batchDeath)) {
      const { process } = random.pick(batch);
      const own = batch.filter((queued) => queued.process === process);
      if (process.state !== "dead")
        onBatchDeath(
          process,
          own.map(({ change }) => change.site),
        );
    }
    batch.forEach((queued, index) => {
      const result = results[index];
      if (result !== undefined) this.#answer(queued, result);
    });
  }

  #answer({ process, change, answer }: Queued, result: CommitResult | Error): void {
    const { scheduler, random, log, faults } = this.#deps;
    const status = result instanceof Error ? result.message : result.ok ? "ok" : result.refused;
    log.write(process.name, `commit ${change.site} ${change.id} ${status}`);
    if (!(result instanceof Error) && result.ok) {
      this.#hint(process, result);
      this.#noteLease(process, change);
    }
    const lost = faults.active && (faults.outage || random.chance(faults.store.unanswered));
    const unknown = (): Error => new CommitUnknownError("The connection broke after the commit was sent.");
    const outcome: Outcome<CommitResult> =
      result instanceof Error ? { error: result } : lost ? { error: unknown() } : { value: result };
    if (lost) log.write(process.name, `commit ${change.site} ${change.id} is not answered`);
    const hangs = faults.active && random.chance(faults.store.hangs);
    scheduler.after(hangs ? random.int(1_000, 12_000) : this.#wireMs(), () => answer(outcome));
  }

  #noteLease({ name }: SimProcess, { ops }: Change): void {
    if (!ops.some(({ op }) => op === "node.join" || op === "node.renew")) return;
    this.leases.set(name, [...(this.leases.get(name) ?? []), this.#deps.scheduler.time]);
  }

  /** Tells the other nodes which agents got a message: late, or not at all (M24). */
  #hint(from: SimProcess, result: CommitResult): void {
    const { scheduler, random } = this.#deps;
    if (!result.ok) return;
    for (const posted of result.results) {
      if (posted?.op !== "message.post" || posted.duplicate) continue;
      for (const [process, listeners] of this.#listeners) {
        if (process === from || process.state === "dead" || random.chance(0.2)) continue;
        scheduler.after(random.int(1, 40), () =>
          process.enter(() => {
            for (const listener of listeners) listener(posted.agentId);
          }),
        );
      }
    }
  }
}

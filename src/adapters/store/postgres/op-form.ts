/**
 * How an op is sent to the database. Each table's module holds the forms of its ops; `ops.ts` collects them. Values that
 * SQL does not read (messages, states, bodies) travel as text inside the JSON, so that they are stored byte for byte.
 */
import type { CronJob } from "../../../core/schedule/job.ts";
import type { JobSlot } from "../../../core/schedule/job-slot.ts";
import type { Op } from "../../../core/store/change.ts";

export type Wire = Readonly<Record<string, unknown>>;

export type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

/** Everything a group locks before it writes, always in this order. */
export interface GroupLocks {
  /** Rows with a key of their own: session keys that may be created, dedupe keys, deliveries, jobs, facts. */
  readonly names: readonly string[];
  readonly agents: readonly string[];
  readonly keys: readonly string[];
  readonly runs: readonly string[];
  /** Parents of agents that may be created, and agents that are stopped (M20). */
  readonly parents: readonly string[];
  readonly stops: readonly string[];
  /** Budget rows, and reservations by their id or run (`*` for all), whose budget rows the database looks up. */
  readonly budgets: readonly string[];
  readonly reservations: readonly string[];
}

export type Lock = readonly [keyof GroupLocks, string];

/** Jobs and slots that ops are computed from, by `jobRanKey`. */
export type ReadBefore = ReadonlyMap<string, { readonly job?: CronJob; readonly row?: JobSlot }>;

/** A change on its way into a batch: the rows its ops add, by table of `apply_batch`. */
export interface BatchedChange {
  /** The change's index in its group. */
  readonly i: number;
  readonly at: number;
  readonly agent: string | undefined;
  /** What the owner claims, and what of its row changes. */
  readonly claims: Record<string, unknown>;
  readonly touched: Set<string>;
  /** Set if only the database can tell which agents are touched. */
  also: "moved" | "posted" | undefined;
  add(table: string, row: Wire): void;
}

export interface OpForm<Name extends Op["op"]> {
  /** Acts on the change's owner: `apply_change` refuses it without one. */
  readonly byOwner?: true;
  /** The op as `apply_change` reads it; its name is added. */
  readonly wire: (op: OpOf<Name>, at: number, read: ReadBefore) => Wire;
  /** What it writes besides the owner's row. Two changes without a common lock may be applied at the same time. */
  readonly locks?: (op: OpOf<Name>) => readonly Lock[];
  /** Adds its rows for `apply_batch`; `o` is the op's index. Absent: a change with this op is not batchable. */
  readonly batch?: (op: OpOf<Name>, batched: BatchedChange, o: number) => void;
}

export type OpForms<Name extends Op["op"]> = { readonly [Each in Name]: OpForm<Each> };

/** Times are whole milliseconds. "Never" is a number that no bigint column holds, so it is capped. */
export const whole = (ms: number): number => Math.min(Math.trunc(ms), Number.MAX_SAFE_INTEGER);

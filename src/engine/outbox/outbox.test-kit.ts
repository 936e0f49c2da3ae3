/** An outbox on a list of deliveries in memory, a virtual clock and one channel named "test". */

import { START, virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { type LogLine, recordingLog } from "../../../test/kit/log.ts";
import { testSettings } from "../../../test/kit/settings.ts";
import type { Delivery, DeliveryContext } from "../../core/delivery/delivery.ts";
import { targetKey } from "../../core/delivery/target-key.ts";
import { StoreUnavailableError } from "../../core/errors.ts";
import type { SendResult } from "../../core/ports/connector.ts";
import type { Change, CommitResult, Op } from "../../core/store/change.ts";
import { Outbox, type OutboxPorts } from "./outbox.ts";

export const HOUR = 3600_000;
const turn = (): Promise<void> => new Promise((done) => setImmediate(done));
export const SENT: SendResult = { status: "sent" };

const isOpen = (state: string): boolean => state === "pending" || state === "sending";

interface Setup {
  readonly send?: (delivery: { id: string }, n: number) => SendResult | Promise<SendResult>;
  readonly options?: { readonly alone?: boolean };
  readonly ports?: Partial<OutboxPorts>;
  /** Undefined: there is no such channel. */
  readonly channel?: object | undefined;
  /** Decides before each commit. */
  readonly onCommit?: (change: Change) => "go" | "fail" | "refuse";
  /** The nodes that the store knows. */
  readonly nodes?: readonly object[];
}

export function setup(made: readonly Partial<Delivery>[], { send = () => SENT, options, ports, ...more }: Setup = {}) {
  const clock = virtualClock();
  const deliveries = made.map(
    (one, n): Delivery =>
      ({
        ...{ id: `d${n + 1}`, n: n + 1, agentId: "a", target: { channel: "test", to: "ann" }, payload: { text: "hi" } },
        ...{ state: "pending", attempts: 0, createdAt: START, nextAt: START },
        ...one,
      }) as Delivery,
  );
  const commits: Change[] = [];
  const calls: { id: string; at: number; attempt: number }[] = [];
  const waiting: unknown[] = [];
  const log: LogLine[] = [];
  /** Each read of the store: the target of a head, or the start and the size of a page. */
  const reads: string[] = [];
  const move = (op: Extract<Op, { op: "delivery.move" }>): boolean => {
    const at = deliveries.findIndex(({ id, state }) => id === op.id && state === op.from);
    const before = deliveries[at];
    if (!before) return false;
    const attempts = op.to === "sending" ? before.attempts + 1 : before.attempts;
    deliveries[at] = { ...before, ...op, state: op.to, attempts, nextAt: op.nextAt ?? before.nextAt } as never;
    return true;
  };
  const store = {
    approvals: async () => [],
    deliveryHead: async (key: string) => {
      reads.push(`head ${(JSON.parse(key) as DeliveryContext).to}`);
      return deliveries.find(({ target, state }) => targetKey(target) === key && isOpen(state));
    },
    unconfirmed: async () => [],
    deliveries: async ({ afterN = 0, limit = 0 }) => {
      reads.push(`${limit} after ${afterN}`);
      return deliveries.filter(({ n, state }) => n > afterN && isOpen(state)).slice(0, limit);
    },
    commit: async (change: Change): Promise<CommitResult> => {
      const decision = more.onCommit?.(change) ?? "go";
      if (decision === "fail") throw new StoreUnavailableError("the disk is full");
      commits.push(change);
      if (decision === "refuse") return { ok: false, refused: "missing", detail: "gone" } as never;
      const [first] = change.ops;
      if (first?.op === "delivery.move" && !move(first)) return { ok: false, refused: "conflict", detail: "" } as never;
      return { ok: true, results: change.ops.map((op) => ({ op: op.op })) } as never;
    },
    outcome: async () => undefined,
    nodes: async () => more.nodes ?? [],
  };
  const connector = {
    ...{ sendingClass: "ambiguous", capabilities: { sendText: true } },
    send: async ({ id, attempt }: { id: string; attempt: number }) => {
      calls.push({ id, at: clock.monotonic(), attempt });
      return send({ id }, calls.length);
    },
    ...more.channel,
  };
  const hasChannel = !("channel" in more) || more.channel !== undefined;
  const outbox = new Outbox(
    {
      ...{ clock, ids: seededIds("outbox"), store, log: recordingLog(log), settings: testSettings() },
      connectors: new Map(hasChannel ? [["test", connector]] : []),
      waiting: (state: string, target: DeliveryContext) => waiting.push([state, target]),
      ...ports,
    } as unknown as OutboxPorts,
    { node: 1, alone: true, ...options },
  );
  const advance = (ms: number): Promise<void> => clock.advance(ms, turn);
  const states = (): readonly string[] => deliveries.map(({ state }) => state);
  return { outbox, clock, advance, deliveries, states, commits, calls, waiting, log, reads };
}

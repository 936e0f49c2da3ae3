/** Unanswered messages and undelivered answers of a conversation, with their places in it. */
import { useEffect, useRef } from "preact/hooks";
import { pathOf } from "../../../src/client-browser.ts";
import type { Delivery } from "../../../src/core/delivery/delivery.ts";
import type { Message } from "../../../src/core/message/message.ts";
import { api, type Page } from "../api.ts";
import { useQuery } from "../query.ts";
import { isOwner } from "../session.ts";
import { type Placed, textOf, timeOf } from "./entry.ts";

/** A message of a person that waits, or ended without an answer. */
export interface Unanswered {
  readonly seq: number;
  readonly text: string;
  readonly state: string;
  /** Why it waits or how it ended. */
  readonly why?: string;
  readonly at: number;
}

export interface Outcomes {
  readonly unanswered: readonly Unanswered[];
  /** Deliveries that did not arrive. */
  readonly undelivered: readonly Delivery[];
  readonly reload: () => void;
}

const STATES = "waiting,dropped,failed,aborted,discarded";
const NOT_ARRIVED = ["failed", "unconfirmed", "unroutable"];
const IN_MAILBOX = "waiting-reader";

/** A delivery that waits in a mailbox of the person who is signed in. */
interface Report {
  readonly id: string;
  readonly runId?: string;
  /** The mailbox at the terminal, for the owner. Absent: the person's own. */
  readonly terminal?: string;
}

/** Reads them again when something changes. Reports in `path` leave the mailbox of the person. */
export function useOutcomes(agentId: string, path: readonly Placed[]): Outcomes {
  const { data, reload } = useQuery((signal) => readOutcomes(agentId, signal), { key: agentId });
  const { unanswered, undelivered, reports } = data ?? NONE;
  const acknowledged = useRef(new Set<string>());
  const read = shownReports(path, reports).filter(({ id }) => !acknowledged.current.has(id));
  useEffect(() => {
    for (const report of read) {
      acknowledged.current.add(report.id);
      acknowledge(report).catch(() => acknowledged.current.delete(report.id));
    }
  }, [read.map(({ id }) => id).join()]);
  return { unanswered, undelivered, reload };
}

const NONE = { unanswered: [], undelivered: [], reports: [] };

async function readOutcomes(agentId: string, signal: AbortSignal) {
  const at = (...more: string[]): string => pathOf("api", "agents", agentId, ...more);
  const { items } = await api.get<Page<Message>>(at("messages"), { state: STATES, limit: 50 }, signal);
  const waits = items.some(({ state }) => state === "waiting")
    ? await api.get<{ waiting: readonly { seq: number; will?: string }[] }>(at("inbox"), {}, signal)
    : undefined;
  const why = new Map(waits?.waiting.map(({ seq, will }) => [seq, will]));
  const unanswered = items
    .toReversed()
    .flatMap(({ seq, body, state, reason, acceptedAt }): Unanswered[] =>
      body.kind === "user" ? [{ seq, text: body.text, state, why: why.get(seq) ?? reason, at: acceptedAt }] : [],
    );
  return {
    unanswered,
    ...(isOwner() ? await ownersDeliveries(agentId, signal) : await guestsReports(agentId, signal)),
  };
}

/** The mailboxes of guests are theirs: the owner reads only those at the terminal. */
async function ownersDeliveries(agent: string, signal: AbortSignal) {
  const state = [...NOT_ARRIVED, IN_MAILBOX].join();
  const { items } = await api.get<Page<Delivery>>("/api/outbox", { agent, state, limit: 200 }, signal);
  const reports = items.flatMap(({ id, runId, state: now, target: { channel, to } }): Report[] =>
    now === IN_MAILBOX && channel === "terminal" ? [{ id, runId, terminal: to }] : [],
  );
  return { undelivered: items.filter(({ state: now }) => NOT_ARRIVED.includes(now)), reports };
}

async function guestsReports(agent: string, signal: AbortSignal) {
  const { items } = await api.get<Page<Report & { agentId: string }>>("/api/deliveries", { limit: 100 }, signal);
  const reports = items.flatMap(({ id, agentId, runId }): Report[] => (agentId === agent ? [{ id, runId }] : []));
  return { undelivered: [], reports };
}

/** Those whose run has said its text on the page. */
export function shownReports(path: readonly Placed[], reports: readonly Report[]): readonly Report[] {
  const said = new Set(
    path.flatMap(({ entry }) => (entry.role === "assistant" && textOf(entry) !== "" ? [entry.runId] : [])),
  );
  return reports.filter(({ runId }) => runId !== undefined && said.has(runId));
}

const acknowledge = ({ id, terminal }: Report): Promise<unknown> =>
  api.post("/api/deliveries/ack", { ids: [id], terminal });

/** Groups messages without an entry by the position of the next entry; undefined is the end. */
export function placeUnanswered(
  path: readonly Placed[],
  unanswered: readonly Unanswered[],
  { isFromStart }: { readonly isFromStart: boolean },
): ReadonlyMap<number | undefined, readonly Unanswered[]> {
  const inHistory = new Set(path.flatMap(({ entry }) => entry.seqs ?? []));
  const began = isFromStart ? 0 : (path.map(({ entry }) => timeOf(entry)).find((at) => at !== undefined) ?? 0);
  const missing = unanswered.filter(
    ({ seq, state, at }) => !inHistory.has(seq) && (state === "waiting" || at >= began),
  );
  const before = ({ state, at }: Unanswered): number | undefined =>
    state === "waiting" ? undefined : path.find(({ entry }) => (timeOf(entry) ?? 0) > at)?.position;
  return Map.groupBy(missing, before);
}

/** Deliveries by the last entry of their run. */
export function placeUndelivered<D extends { readonly runId?: string }>(
  path: readonly Placed[],
  deliveries: readonly D[],
): ReadonlyMap<number | undefined, readonly D[]> {
  return Map.groupBy(deliveries, ({ runId }) => path.findLast(({ entry }) => entry.runId === runId)?.position);
}

/**
 * Audits the records of the outside and the public listing: nothing is lost or answered twice (L1, L4, L8, L12), and only a
 * message that kills its process fails (M13).
 */
import type { Delivery } from "../../../src/core/delivery/delivery.ts";
import type { Message } from "../../../src/core/message/message.ts";
import type { StoreReader } from "../../../src/core/store/store.ts";
import type { Outside } from "./outside.ts";

/** The records of the outside world that the audit needs. */
export type Seen = Pick<Outside, "written" | "shown" | "executed"> & Partial<Pick<Outside, "charged">>;

export interface Audit {
  readonly problems: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

const tokenOf = (text: string): string | undefined => /⟦(\w+)⟧/u.exec(text)?.[1];

export async function audit(store: StoreReader, outside: Seen): Promise<Audit> {
  const problems: string[] = [];
  const { messages, deliveries } = await listed(store);
  const byToken = new Map<string, Message[]>();
  for (const message of messages) {
    const token = tokenOf("text" in message.body ? (message.body.text ?? "") : "") ?? "";
    byToken.set(token, [...(byToken.get(token) ?? []), message]);
  }
  const states: Record<string, number> = {};
  for (const { id, text, acknowledged } of outside.written) {
    const found = byToken.get(`t${id}`) ?? [];
    if (acknowledged && found.length === 0) problems.push(`t${id} was acknowledged and is lost`);
    if (found.length > 1) problems.push(`t${id} was accepted ${found.length} times`);
    for (const message of found) {
      const kills = text.includes("kills");
      if ((message.state === "failed") !== kills) {
        problems.push(`t${id} (${text}) ended ${message.state}: ${message.reason ?? "no reason"}`);
      }
      states[message.state] = (states[message.state] ?? 0) + 1;
      if (message.state === "waiting" || message.state === "taken") problems.push(`t${id} is still ${message.state}`);
      else problems.push(...answeredOnce(`t${id}`, message, deliveries, outside));
    }
  }
  for (const [callId, times] of outside.executed) {
    if (times > 1) problems.push(`${callId} must not be repeated and was executed ${times} times`);
  }
  problems.push(...inOrder(outside));
  for (const { id, state } of deliveries) {
    if (state === "pending" || state === "sending") problems.push(`delivery ${id} is still ${state}`);
  }
  problems.push(...(await charged(store, outside)));
  const unconfirmed = deliveries.filter(({ state }) => state === "unconfirmed").length;
  const counts: Record<string, number> = {
    "messages written": outside.written.length,
    failed: 0,
    ...states,
    "answers shown": outside.shown.length,
    unconfirmed,
    "tools executed": outside.executed.size,
  };
  if (outside.charged !== undefined) counts["tokens charged"] = outside.charged;
  return { problems, counts };
}

/** Everything the model charged is recorded, also calls in progress at a kill, and nothing stays reserved (L8). */
async function charged(store: StoreReader, { charged: billed = 0 }: Seen): Promise<readonly string[]> {
  const left = await store.reservations({ limit: 1_000 });
  const rows = await store.budgets({ limit: 1_000 });
  const spent = rows.reduce((sum, row) => sum + row.spent.tokens, 0);
  return [
    ...left.map(({ id }) => `${id} is still reserved`),
    ...rows.flatMap(({ key, reserved }) => (reserved.tokens === 0 ? [] : [`${key} still has something reserved`])),
    ...(spent < billed ? [`the model charged ${billed} tokens, but only ${spent} are recorded`] : []),
  ];
}

/** An answer is shown once: under one id on an idempotent channel; on an ambiguous one it may be unconfirmed instead. */
function answeredOnce(token: string, message: Message, deliveries: readonly Delivery[], outside: Seen): string[] {
  const owed = deliveries.filter(({ runId }) => runId !== undefined && runId === message.runId);
  if (owed.length === 0) return [`${token} ended ${message.state} without a delivery that reports it`];
  if (owed.length > 1) return [`${token} is answered by ${owed.length} deliveries`];
  const [delivery] = owed;
  const shown = outside.shown.filter(({ id }) => id === delivery?.id);
  const repeated = shown.length > 1 && shown[0]?.channel === "blind";
  if (repeated) return [`${token} was shown ${shown.length} times on an ambiguous channel`];
  if (shown.length === 0 && delivery?.state === "sent") return [`${token} counts as sent and was never shown`];
  if (shown.length === 0 && delivery?.state !== "unconfirmed")
    return [`${token} was not shown and is ${delivery?.state}`];
  return [];
}

/** Each person gets answers in the order of their messages. */
function* inOrder(outside: Seen): Iterable<string> {
  const last = new Map<string, number>();
  const seen = new Set<string>();
  for (const { id, person, text } of outside.shown) {
    const place = Number(tokenOf(text)?.slice(1) ?? 0);
    if (seen.has(id) || place === 0) continue;
    seen.add(id);
    if ((last.get(person) ?? 0) > place) yield `${person} was answered t${last.get(person)} before t${place}`;
    last.set(person, place);
  }
}

async function listed(store: StoreReader): Promise<{ messages: Message[]; deliveries: Delivery[] }> {
  const messages: Message[] = [];
  const deliveries: Delivery[] = [];
  for (const { id } of await store.agents({ limit: 10_000 })) {
    messages.push(...(await store.messages(id, { limit: 1_000_000 })));
    const states = ["pending", "sending", "sent", "suppressed", "failed", "unconfirmed"] as const;
    deliveries.push(...(await store.deliveries({ limit: 1_000_000, agentId: id, states })));
  }
  return { messages, deliveries };
}

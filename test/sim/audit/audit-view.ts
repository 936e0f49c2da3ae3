/** The view that all laws use: the evidence, arranged by token and by delivery. Types only; no code of the program. */
import type { Delivery } from "../../../src/core/delivery/delivery.ts";
import type { Message } from "../../../src/core/message/message.ts";
import type { Change } from "../../../src/core/store/change.ts";
import type { SendRecord } from "../world/channel.ts";
import { type Directive, tokensIn } from "../world/tokens.ts";
import type { Evidence, ListedAgent } from "./evidence.ts";

export type Law =
  | "L1"
  | "L2"
  | "L3"
  | "L4"
  | "L5"
  | "L6"
  | "L7"
  | "L8"
  | "L9"
  | "L10"
  | "L11"
  | "L12"
  | "L13"
  | "M9"
  | "M11"
  | "M12"
  | "M13"
  | "M15"
  | "M18"
  | "M21"
  | "M23"
  | "M30"
  | "M32"
  | "M35"
  | "M46"
  | "M48"
  | "M10"
  | "files"
  | "fork"
  | "branch"
  | "identity"
  | "keys"
  | "liveness"
  | "program";

export interface Violation {
  readonly law: Law;
  readonly what: string;
}

export interface Row {
  readonly of: ListedAgent;
  readonly message: Message;
}

export interface View extends Evidence {
  /** The place of each token in the inboxes. Lawful: exactly one. */
  readonly rows: ReadonlyMap<string, readonly Row[]>;
  readonly shown: ReadonlyMap<string, readonly SendRecord[]>;
  readonly sends: ReadonlyMap<string, readonly SendRecord[]>;
  /** Unconfirmed deliveries: the channel decides whether and when they arrive. Those that people edited, or that a channel wanted in another way, go behind the others (M17). */
  readonly lost: ReadonlySet<string>;
  /** The directives of each token. */
  readonly directives: ReadonlyMap<string, readonly Directive[]>;
}

export function viewOf(evidence: Evidence): View {
  const rows = new Map<string, Row[]>();
  for (const of of evidence.listed) {
    for (const message of of.messages) {
      const text = "text" in message.body ? (message.body.text ?? "") : "";
      for (const token of tokensIn(text, "t")) push(rows, token, { of, message });
    }
  }
  const shown = new Map<string, SendRecord[]>();
  const sends = new Map<string, SendRecord[]>();
  for (const send of evidence.channels.flatMap((channel) => channel.sends)) {
    push(sends, send.deliveryId, send);
    if (send.shown) push(shown, send.deliveryId, send);
  }
  const directives = new Map(
    evidence.workload.items.flatMap((item) => ("directives" in item ? [[item.token, item.directives]] : [])),
  );
  const unconfirmed = evidence.listed
    .flatMap(({ deliveries }) => deliveries)
    .filter(({ state }) => state === "unconfirmed");
  const again = evidence.channels.flatMap(({ receipts }) =>
    (receipts?.records ?? []).flatMap(({ status, deliveryId }) => (status === "again" ? [{ id: deliveryId }] : [])),
  );
  const lost = new Set([...unconfirmed, ...evidence.edits, ...again].map(({ id }) => String(id)));
  return { ...evidence, rows, shown, sends, lost, directives };
}

export function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

export const broken = (law: Law, what: string): Violation => ({ law, what });
export const textOf = (delivery: Delivery): string => delivery.payload.text ?? "";
/** Each two neighbours in a list. */
export const pairs = <T>(list: readonly T[]): [T, T][] => list.slice(1).map((item, index) => [list[index] as T, item]);

/** A line of history, with the fields that the laws use. */
export interface Line {
  readonly type?: string;
  readonly id?: string;
  readonly parentId?: string | null;
  readonly role?: string;
  readonly runId?: string;
  readonly seqs?: readonly number[];
  readonly timestamp?: number;
  /** Of a marker: the session it begins. */
  readonly sessionId?: string;
  readonly hidden?: boolean;
  /** Of a header: the session this one was forked from. */
  readonly parentSession?: string;
  readonly summary?: string;
  readonly toolCallId?: string;
  readonly content?: readonly {
    readonly type?: string;
    readonly id?: string;
    readonly text?: string;
    readonly name?: string;
    readonly arguments?: { readonly token?: string };
  }[];
}
export const parsed = (line: string): Line => JSON.parse(line) as Line;

/** Whether a delivery is the model's answer and not a notice or something a tool sent. */
export const isAnswer = (delivery: Delivery): boolean => tokensIn(textOf(delivery), "r").length > 0;

/** Directives that end a run without an answer. */
export const FATAL: readonly Directive[] = [
  "tool:poison",
  "fail:down",
  "fail:auth",
  "fail:request",
  "overflow",
  "stall",
];

/** Whether the run that took a message ended because a budget was used up. */
export const overBudget = ({ of, message }: Row): boolean =>
  of.runs.find(({ id }) => id === message.runId)?.body.error?.kind === "budget";

/** When worlds begin. Where no clock jumps, the scheduler's time counts from here. */
export const WALL = 1_800_000_000_000;

/** The notice about an unconfirmed answer (M46), alone or as the first sentence of another text. */
export const UNCONFIRMED_NOTICE = "My last answer may not have arrived. Send /again to see it.";

/** The notice that a budget is used up. */
export const isBudgetNotice = (delivery: Delivery): boolean => budgetNotice(delivery) !== "";

/** Its text; empty for another delivery. */
export function budgetNotice(delivery: Delivery): string {
  const text = textOf(delivery).replace(`${UNCONFIRMED_NOTICE}\n\n`, "");
  return text.startsWith("The budget ") ? text : "";
}

/** Whether a change resumes a run: after a crash, or after a pause or an answer. */
export const isResumption = ({ site }: Change): boolean => site === "resume" || site === "continue";

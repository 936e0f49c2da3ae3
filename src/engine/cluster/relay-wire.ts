/**
 * The messages nodes exchange about runs, as texts that fit the relay. Consecutive deltas travel as one text with the length
 * of each, and `unpack` restores them exactly: a client can resume at any sequence number, on any node. A message that is
 * too long goes in parts; if a part is lost, the whole message is lost.
 */
import type { AgentId, RunId } from "../../core/ids.ts";
import type { RunOutcome } from "../../core/run/run.ts";
import type { RunEvent } from "../runtime/run-events.ts";

type Delta = Extract<RunEvent, { type: "delta" }>;
/** Consecutive deltas of one stream. `seq` belongs to the first; each further delta adds one. */
type JoinedDeltas = Omit<Delta, "text"> & { readonly text: string; readonly lengths: readonly number[] };
export type PackedEvent = RunEvent | JoinedDeltas;

/** What a subscriber wants of an agent: all events of its runs, or only their ends. */
export type Interest = "all" | "ends";

/** The position of an event in a run's stream. */
export interface EventPosition {
  readonly agentId: AgentId;
  readonly runId: RunId;
  readonly attempt: number;
  readonly step: number;
  readonly seq: number;
}

/** An event as subscribers of the agent tree receive it. */
export type EventOutline = Pick<RunEvent, "agentId" | "runId" | "attempt" | "step" | "seq"> & {
  readonly type: "start" | "restart" | "step" | "end" | "error";
  readonly outcome?: RunOutcome;
};

/** State other than agents that all nodes share and keep a copy of. */
export type SharedState = "tokens";

/** The keys are the wire format: nodes of different versions talk to each other during an upgrade. */
export type RelayMessage =
  /** A node began to listen, or reconnected: renew your subscriptions. */
  | { readonly hello: true }
  /** Shared state changed: read it again. */
  | { readonly changed: SharedState }
  /** Subscribes to these agents. `tail`: also send the events since the last commit. */
  | { readonly want: readonly AgentId[]; readonly interest: Interest; readonly tail: boolean }
  | { readonly unwant: readonly AgentId[] }
  | { readonly wantTree: boolean }
  | { readonly tell: readonly PackedEvent[] }
  | {
      readonly tail: {
        readonly agentId: AgentId;
        readonly last: EventPosition;
        readonly events: readonly PackedEvent[];
      };
    }
  /** A run ended. The subscriber reads its result from the store. */
  | { readonly ended: EventPosition }
  | {
      readonly tree: {
        readonly events: readonly EventOutline[];
        readonly changed: readonly AgentId[];
        readonly all: boolean;
      };
    };

/** In characters of one byte each. A longer message is dropped. */
const MAX_MESSAGE = 1_000_000;
const HEADER_BYTES = 32;

/** Joins consecutive deltas of one stream. */
export function pack(events: Iterable<RunEvent>): readonly PackedEvent[] {
  const packed: PackedEvent[] = [];
  let open: { first: Delta; texts: string[]; next: number } | undefined;
  const close = (): void => {
    if (!open) return;
    const { first, texts } = open;
    packed.push(
      texts.length === 1 ? first : { ...first, text: texts.join(""), lengths: texts.map((text) => text.length) },
    );
    open = undefined;
  };
  for (const event of events) {
    if (event.type === "delta" && open && isSameStream(open.first, event) && open.next === event.seq) {
      open.texts.push(event.text);
      open.next += 1;
      continue;
    }
    close();
    if (event.type === "delta") open = { first: event, texts: [event.text], next: event.seq + 1 };
    else packed.push(event);
  }
  close();
  return packed;
}

const isSameStream = (first: Delta, next: Delta): boolean =>
  first.runId === next.runId &&
  first.stream === next.stream &&
  first.attempt === next.attempt &&
  first.step === next.step;

export function* unpack(packed: readonly PackedEvent[]): Iterable<RunEvent> {
  for (const event of packed) {
    if (!("lengths" in event)) {
      yield event;
      continue;
    }
    const { lengths, text, ...envelope } = event;
    let at = 0;
    for (const [index, length] of lengths.entries()) {
      yield { ...envelope, seq: envelope.seq + index, text: text.slice(at, at + length) } as RunEvent;
      at += length;
    }
  }
}

/** The texts to send, each of at most `maxBytes`. Empty if the message is too long. */
export function splitMessage(message: RelayMessage, number: number, maxBytes: number): readonly string[] {
  // Only characters of one byte, so that the text can be cut anywhere.
  const text = JSON.stringify(message).replaceAll(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  if (text.length > MAX_MESSAGE) return [];
  const room = maxBytes - HEADER_BYTES;
  const count = Math.max(1, Math.ceil(text.length / room));
  return Array.from(
    { length: count },
    (_, index) => `${number}.${index}.${count} ${text.slice(index * room, (index + 1) * room)}`,
  );
}

/** Puts messages together from their parts. Holds one unfinished message per sender, for at most `maxSenders` of them. */
export class PartAssembler {
  readonly #maxSenders: number;
  readonly #open = new Map<string, { readonly number: string; readonly texts: string[] }>();

  constructor(maxSenders = 64) {
    this.#maxSenders = maxSenders;
  }

  /** The message, when its last part arrives. Undefined before, and for malformed text. */
  add(text: string, from: string): RelayMessage | undefined {
    const [header, body] = [text.slice(0, text.indexOf(" ")), text.slice(text.indexOf(" ") + 1)];
    const [number = "", index, count] = header.split(".");
    const known = this.#open.get(from);
    const before = index === "0" ? [] : known?.number === number ? known.texts : undefined;
    this.#open.delete(from);
    // An earlier part is missing: the message is lost.
    if (!before || before.length !== Number(index) || Number(count) * body.length > 4 * MAX_MESSAGE) return undefined;
    const texts = [...before, body];
    if (texts.length === Number(count)) return parseMessage(texts.join(""));
    this.#open.set(from, { number, texts });
    const [oldest] = this.#open.keys();
    if (this.#open.size > this.#maxSenders && oldest !== undefined) this.#open.delete(oldest);
    return undefined;
  }
}

function parseMessage(text: string): RelayMessage | undefined {
  try {
    const message: unknown = JSON.parse(text);
    return typeof message === "object" && message !== null ? (message as RelayMessage) : undefined;
  } catch {
    return undefined;
  }
}

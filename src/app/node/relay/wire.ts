/**
 * What nodes say to each other about runs, as texts that fit the way between them. Deltas that follow each other travel as
 * one text with the length of each, and come out as they went in: whoever comes back with the number of one is answered
 * exactly, on whichever node. A text that is too long goes in parts; one of which a part is lost is lost whole.
 */
import type { AgentId, RunId } from "../../../core/ids.ts";
import type { RunOutcome } from "../../../core/run/run.ts";
import type { RunEvent } from "../../../engine/runtime/run-events.ts";

type Delta = Extract<RunEvent, { type: "delta" }>;
/** Several deltas of one stream; `seq` is that of the first, and each next one has the next. */
export type Joined = Omit<Delta, "text"> & { readonly text: string; readonly lengths: readonly number[] };
export type Packed = RunEvent | Joined;

/** Who is wanted: all that an agent's runs say, or their ends only. */
export type Interest = "all" | "ends";

export interface Ended {
  readonly agentId: AgentId;
  readonly runId: RunId;
  readonly attempt: number;
  readonly step: number;
  readonly seq: number;
}

/** An event of any agent as those see it who follow them all. */
export type Outline = Pick<RunEvent, "agentId" | "runId" | "attempt" | "step" | "seq"> & {
  readonly type: "start" | "restart" | "step" | "end" | "error";
  readonly outcome?: RunOutcome;
};

/** What nodes share beside agents, and keep a copy of. */
export type Changed = "tokens";

export type Said =
  /** Somebody began to listen, or came back: say again what you want. */
  | { readonly hello: true }
  /** Something that all nodes share was changed: look again. */
  | { readonly changed: Changed }
  /** Their events from now on; `tail`: and what was said since the last commit, to those who ask. */
  | { readonly want: readonly AgentId[]; readonly interest: Interest; readonly tail: boolean }
  | { readonly unwant: readonly AgentId[] }
  | { readonly wantTree: boolean }
  | { readonly tell: readonly Packed[] }
  | { readonly tail: { readonly agentId: AgentId; readonly last: Ended; readonly events: readonly Packed[] } }
  /** The end of a run: its result is read from the store. */
  | { readonly ended: Ended }
  | {
      readonly tree: {
        readonly events: readonly Outline[];
        readonly changed: readonly AgentId[];
        readonly all: boolean;
      };
    };

/** In characters, all of them of one byte. */
export const MAX_SAID = 1_000_000;
const HEAD = 32;

/** Deltas of one stream that follow each other become one. */
export function pack(events: Iterable<RunEvent>): readonly Packed[] {
  const packed: Packed[] = [];
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
    if (event.type === "delta" && open && goesOn(open.first, event) && open.next === event.seq) {
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

const goesOn = (first: Delta, next: Delta): boolean =>
  first.runId === next.runId &&
  first.stream === next.stream &&
  first.attempt === next.attempt &&
  first.step === next.step;

export function* unpack(packed: readonly Packed[]): Iterable<RunEvent> {
  for (const event of packed) {
    if (!("lengths" in event)) {
      yield event;
      continue;
    }
    const { lengths, text, ...about } = event;
    let at = 0;
    for (const [index, length] of lengths.entries()) {
      yield { ...about, seq: about.seq + index, text: text.slice(at, at + length) } as RunEvent;
      at += length;
    }
  }
}

/** The texts to send, each of at most `most` bytes; none where it is too long altogether. */
export function partsOf(said: Said, name: number, most: number): readonly string[] {
  // Of one byte each, so that a text may be cut anywhere.
  const text = JSON.stringify(said).replaceAll(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  if (text.length > MAX_SAID) return [];
  const room = most - HEAD;
  const count = Math.max(1, Math.ceil(text.length / room));
  return Array.from(
    { length: count },
    (_, index) => `${name}.${index}.${count} ${text.slice(index * room, (index + 1) * room)}`,
  );
}

/** Puts parts together again, of one sender after the other. */
export class Parts {
  readonly #most: number;
  readonly #open = new Map<string, { readonly name: string; readonly texts: string[] }>();

  constructor(most = 64) {
    this.#most = most;
  }

  /** What was said, once its last part is here; undefined before, and for what is no such text. */
  add(text: string, from: string): Said | undefined {
    const [head, body] = [text.slice(0, text.indexOf(" ")), text.slice(text.indexOf(" ") + 1)];
    const [name = "", index, count] = head.split(".");
    const known = this.#open.get(from);
    const before = index === "0" ? [] : known?.name === name ? known.texts : undefined;
    this.#open.delete(from);
    // A part that came without those before it: what it belonged to is lost.
    if (!before || before.length !== Number(index) || Number(count) * body.length > 4 * MAX_SAID) return undefined;
    const texts = [...before, body];
    if (texts.length === Number(count)) return readSaid(texts.join(""));
    this.#open.set(from, { name, texts });
    const [oldest] = this.#open.keys();
    if (this.#open.size > this.#most && oldest !== undefined) this.#open.delete(oldest);
    return undefined;
  }
}

function readSaid(text: string): Said | undefined {
  try {
    const said: unknown = JSON.parse(text);
    return typeof said === "object" && said !== null ? (said as Said) : undefined;
  } catch {
    return undefined;
  }
}

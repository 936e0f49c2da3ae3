/**
 * The events of a run since its last commit, for a reader that connects late or again. Deltas are kept as one text with the
 * offsets where each ended, so a long answer takes little more memory than its text.
 */
import type { RunEvent } from "../runtime/run-events.ts";

type Delta = Extract<RunEvent, { type: "delta" }>;

interface Piece {
  /** The first event of the piece; deltas of the same stream that follow each other are one piece. */
  readonly event: RunEvent;
  text: string;
  /** Deltas only: the number of each, and how long the text was after it. */
  readonly numbers: number[];
  readonly ends: number[];
}

export class Tail {
  #pieces: Piece[] = [];
  #attempt = 0;
  #step = 0;
  #seq = 0;

  /** The number of the latest event. */
  get at(): { readonly attempt: number; readonly step: number; readonly seq: number } {
    return { attempt: this.#attempt, step: this.#step, seq: this.#seq };
  }

  add(event: RunEvent): void {
    // Committed text is in history; a restart voids the rest.
    if (event.type === "restart" || event.attempt !== this.#attempt || event.step !== this.#step) this.#pieces = [];
    this.#attempt = event.attempt;
    this.#step = event.step;
    this.#seq = event.seq;
    if (event.type === "step" || event.type === "end") {
      this.#pieces = [];
      return;
    }
    if (event.type !== "delta") {
      this.#pieces.push({ event, text: "", numbers: [], ends: [] });
      return;
    }
    let last = this.#pieces.at(-1);
    if (last?.event.type !== "delta" || last.event.stream !== event.stream) {
      last = { event, text: "", numbers: [], ends: [] };
      this.#pieces.push(last);
    }
    last.text += event.text;
    last.numbers.push(event.seq);
    last.ends.push(last.text.length);
  }

  /** The events since the last commit, deltas joined. */
  events(): readonly RunEvent[] {
    return this.after(undefined) ?? [];
  }

  /** As `events`, with each delta separate. */
  *apart(): Iterable<RunEvent> {
    for (const { event, text, numbers, ends } of this.#pieces) {
      if (event.type !== "delta") yield event;
      else
        for (const [at, seq] of numbers.entries())
          yield { ...event, seq, text: text.slice(at === 0 ? 0 : ends[at - 1], ends[at]) };
    }
  }

  /** The events after a number; undefined if the number belongs to another step, so that what is missing is unknown. */
  after(
    seen: { readonly attempt: number; readonly step: number; readonly seq: number } | undefined,
  ): readonly RunEvent[] | undefined {
    if (!seen) return this.#pieces.map((piece) => joined(piece, 0));
    if (seen.attempt !== this.#attempt || seen.step !== this.#step) return undefined;
    return this.#pieces.flatMap((piece) => {
      const last = piece.numbers.at(-1) ?? piece.event.seq;
      if (last <= seen.seq) return [];
      const at = piece.numbers.findLastIndex((number) => number <= seen.seq);
      return [joined(piece, piece.ends[at] ?? 0)];
    });
  }
}

function joined({ event, text, numbers }: Piece, from: number): RunEvent {
  if (event.type !== "delta") return event;
  const delta: Delta = { ...event, text: text.slice(from), seq: numbers.at(-1) ?? event.seq };
  return delta;
}

/**
 * The id of an event in a stream: (run, attempt, step, n), as M24 numbers them, and how much of the history its reader has
 * seen. `Last-Event-ID` brings it back.
 */
import type { RunId } from "../../../core/ids.ts";
import type { RunEvent } from "../../../engine/runtime/run-events.ts";

export interface EventId {
  readonly runId: RunId;
  readonly attempt: number;
  readonly step: number;
  readonly seq: number;
  /** The position of the last entry that was sent. */
  readonly position: number;
}

const SHAPE = /^([\w-]{1,64})\.(\d{1,9})\.(\d{1,9})\.(\d{1,12})\.(\d{1,12})$/;

export const eventId = ({ runId, attempt, step, seq }: RunEvent, position: number): string =>
  `${runId}.${attempt}.${step}.${seq}.${position}`;

/** Of an entry that no run under way is about: only the place in history counts. */
export const placeId = (position: number): string => `-.0.0.0.${position}`;

/** Undefined where the text is no such id: the reader then begins anew. */
export function parseEventId(text: string | undefined): EventId | undefined {
  const match = SHAPE.exec(text ?? "");
  if (!match) return undefined;
  const [, runId, attempt, step, seq, position] = match;
  return {
    runId: runId as RunId,
    attempt: Number(attempt),
    step: Number(step),
    seq: Number(seq),
    position: Number(position),
  };
}

/**
 * The id of an event in a stream: run, attempt, step and number (M24), and the position in the history up to which entries were
 * sent. A reader sends it back as `Last-Event-ID`.
 */
import type { RunId } from "../../../core/ids.ts";

export interface EventId {
  readonly runId: RunId;
  readonly attempt: number;
  readonly step: number;
  readonly seq: number;
  /** The position of the last entry that was sent. */
  readonly position: number;
}

const FORMAT = /^([\w-]{1,64})\.(\d{1,9})\.(\d{1,9})\.(\d{1,12})\.(\d{1,12})$/;

export const eventId = ({ runId, attempt, step, seq }: Omit<EventId, "position">, position: number): string =>
  `${runId}.${attempt}.${step}.${seq}.${position}`;

/** The id of a history entry: it has a position and no run. */
export const entryEventId = (position: number): string => `-.0.0.0.${position}`;

/** Undefined if the text is malformed: the reader then starts without an id. */
export function parseEventId(text: string | undefined): EventId | undefined {
  const match = FORMAT.exec(text ?? "");
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

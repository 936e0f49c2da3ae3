/** Reads server-sent events from the chunks of a body. Calls back once per event with its data. */
import { TooLargeError } from "../../core/errors.ts";

interface EventReader {
  /** Calls back for every event that is complete now. Throws `TooLargeError` at an event that is too long. */
  take(chunk: Uint8Array): void;
  /** Call it at the end of the body: a last event without an empty line counts too. */
  end(): void;
}

/** `maxLength`: characters of one event. A longer one would have to be held whole before it can be read. */
export function eventReader(onData: (data: string) => void, maxLength = Number.POSITIVE_INFINITY): EventReader {
  const decoder = new TextDecoder();
  /** The pieces of a line that has not ended. Joined once, at its end: joining at every piece would be quadratic. */
  let pieces: string[] = [];
  let length = 0;
  let data: string[] = [];
  let dataLength = 0;
  const check = (): void => {
    if (length + dataLength > maxLength) throw new TooLargeError(`An event has more than ${maxLength} characters.`);
  };
  const line = (text: string): void => {
    if (text === "") {
      if (data.length > 0) onData(data.join("\n"));
      data = [];
      dataLength = 0;
    } else if (text.startsWith("data:")) {
      const value = text.charCodeAt(5) === 32 ? text.slice(6) : text.slice(5);
      data.push(value);
      dataLength += value.length + 1;
    }
  };
  const endLine = (end: string): void => {
    const whole = pieces.length === 0 ? end : pieces.join("") + end;
    pieces = [];
    length = 0;
    line(whole.endsWith("\r") ? whole.slice(0, -1) : whole);
    check();
  };
  const lines = (more: string): void => {
    let from = 0;
    for (let end = more.indexOf("\n"); end !== -1; end = more.indexOf("\n", from)) {
      endLine(more.slice(from, end));
      from = end + 1;
    }
    if (from === more.length) return;
    pieces.push(from === 0 ? more : more.slice(from));
    length += more.length - from;
    check();
  };
  return {
    take: (chunk) => lines(decoder.decode(chunk, { stream: true })),
    end() {
      lines(decoder.decode());
      if (pieces.length > 0) endLine("");
      line("");
    },
  };
}

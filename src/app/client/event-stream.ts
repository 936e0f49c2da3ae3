/** Reads server-sent events. After a lost connection it continues behind the last event, so that a reader misses none. */
import { ApiError, apiErrorOf, ConnectionLostError, parsed, textOf } from "./api.ts";
import type { Transport } from "./transport.ts";

export interface ServerEvent {
  /** Send it as `after` to continue behind this event. Absent on events that are kept elsewhere. */
  readonly id: string | undefined;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface StreamOptions {
  /** The id of the last event the reader has. */
  readonly after?: string;
  readonly signal?: AbortSignal;
  /** Called when the stream is open, and when its connection is lost. */
  readonly onConnection?: (state: "open" | "lost") => void;
  /** Never gives up: a server that is away for long is waited for. */
  readonly keepTrying?: boolean;
}

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;
/** A person watches. */
const KEPT_PAUSE_MS = 500;
/** Times in a row that the stream may fail without one event. */
const MAX_FAILURES = 8;

/** Ends when the server ends the stream. Throws `ConnectionLostError` if the server does not come back. */
export async function* readEvents(
  transport: Transport,
  path: string,
  { after, signal, onConnection, keepTrying = false }: StreamOptions = {},
): AsyncGenerator<ServerEvent> {
  let last = after;
  let failures = 0;
  for (;;) {
    try {
      for await (const event of connectOnce(transport, path, last, { signal, onConnection })) {
        failures = 0;
        last = event.id ?? last;
        yield event;
      }
      return;
    } catch (error) {
      failures += 1;
      if (signal?.aborted || (failures > MAX_FAILURES && !keepTrying) || !mayContinue(error)) throw error;
      onConnection?.("lost");
      const longest = keepTrying ? KEPT_PAUSE_MS : MAX_PAUSE_MS;
      const pause = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 10), longest);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

/** The connection is lost, the server restarts, or nothing happened within the time of one request. */
const mayContinue = (error: unknown): boolean =>
  error instanceof ConnectionLostError || (error instanceof ApiError && (error.status === 503 || error.status === 504));

async function* connectOnce(
  transport: Transport,
  path: string,
  after: string | undefined,
  { signal, onConnection }: Pick<StreamOptions, "signal" | "onConnection">,
): AsyncGenerator<ServerEvent> {
  const headers: Record<string, string> = { accept: "text/event-stream" };
  if (after !== undefined) headers["last-event-id"] = after;
  const { status, body } = await transport({ method: "GET", path, headers, signal });
  if (status >= 400) throw apiErrorOf(status, parsed(await textOf(body)));
  onConnection?.("open");
  yield* parseEvents(body);
}

/** Blocks are separated by an empty line; the server sends one line of data per event. */
async function* parseEvents(pieces: AsyncIterable<string>): AsyncGenerator<ServerEvent> {
  let rest: string[] = [];
  for await (const piece of pieces) {
    if (!piece.includes("\n")) {
      rest.push(piece);
      continue;
    }
    const blocks = (rest.join("") + piece).split("\n\n");
    rest = [blocks.pop() ?? ""];
    for (const block of blocks) {
      const event = eventOf(block);
      if (event) yield event;
    }
  }
}

function eventOf(block: string): ServerEvent | undefined {
  let [id, type, data]: (string | undefined)[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("id: ")) id = line.slice(4);
    else if (line.startsWith("event: ")) type = line.slice(7);
    else if (line.startsWith("data: ")) data = line.slice(6);
  }
  if (type === undefined || data === undefined) return undefined;
  return { id, type, data: parsed(data) as Record<string, unknown> };
}

/** Waits until a message of the terminal is settled, and gives out its answer while it is written. */
import { type EngineApi, pathOf } from "../client/engine-api.ts";
import { answerEvents } from "../client/stream-answer.ts";

export interface SentMessage {
  readonly agentId: string;
  readonly seq: number;
  readonly messageId?: string;
}

interface Replies {
  readonly replies: readonly { readonly text: string; readonly isError: boolean }[];
  readonly unanswered: { readonly reason: string; readonly failed: boolean } | null;
  /** The whole answer was given out by `onDelta`. */
  readonly streamed: boolean;
}

const WAIT_SECONDS = 30;
/** The stream ends with the run; a message without a run has none. */
const STREAM_MS = 2_000;

export async function waitForReplies(
  api: EngineApi,
  { agentId, seq }: SentMessage,
  onDelta?: (text: string) => unknown,
): Promise<Replies> {
  const stop = new AbortController();
  const stream = onDelta ? streamTo(api, { agentId, seq }, onDelta, stop.signal) : Promise.resolve(false);
  const path = pathOf("api", "terminal", "messages", agentId, seq);
  for (;;) {
    const answer = await api.get<Omit<Replies, "streamed"> & { settled: boolean }>(path, { waitSeconds: WAIT_SECONDS });
    if (!answer.settled) continue;
    const timer = setTimeout(() => stop.abort(), STREAM_MS);
    const streamed = await stream;
    clearTimeout(timer);
    stop.abort();
    return { replies: answer.replies, unanswered: answer.unanswered, streamed };
  }
}

async function streamTo(
  api: EngineApi,
  { agentId, seq }: SentMessage,
  onDelta: (text: string) => unknown,
  signal: AbortSignal,
): Promise<boolean> {
  let isAny = false;
  try {
    const path = pathOf("api", "agents", agentId, "messages", seq, "events");
    for await (const event of answerEvents(api.events(path, { signal }))) {
      if (event.type !== "delta" || event.text === "") continue;
      isAny = true;
      onDelta(event.text);
    }
  } catch {
    // The message has no run, or the time is over: the answer is read as a whole.
  }
  return isAny;
}

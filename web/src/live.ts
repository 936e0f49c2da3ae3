/**
 * Follows the server. One stream names the agents that change; views then read again. After a lost connection
 * the stream continues after its last event. A hidden tab holds no connection and asks for nothing.
 */
import { signal } from "@preact/signals";
import { api, isRefused, isSignedOut } from "./api.ts";
import { signedOut } from "./session.ts";
import { t } from "./texts.ts";

export type Connection = "connecting" | "live" | "lost" | "paused";

export const connection = signal<Connection>("connecting");
/** Rises when something has changed. Views that show lists read again. */
export const changes = signal(0);

/** Events that follow each other closely are one change. */
const TOGETHER_MS = 40;
const BETWEEN_CHANGES_MS = 300;
const HIDDEN_MS = 5_000;
const RETRY_MS = 1_000;

let isBumping = false;
let lastChange = Number.NEGATIVE_INFINITY;
export function bump(): void {
  if (isBumping) return;
  isBumping = true;
  const wait = Math.max(TOGETHER_MS, lastChange + BETWEEN_CHANGES_MS - performance.now());
  setTimeout(() => {
    isBumping = false;
    lastChange = performance.now();
    changes.value += 1;
  }, wait);
}

/** Calls `run` while the tab is visible, with a signal that aborts some seconds after it is hidden. Returns how to end it. */
export function whileVisible(run: (signal: AbortSignal) => void, onPause?: () => void): () => void {
  let stop: AbortController | undefined;
  let hiding: ReturnType<typeof setTimeout> | undefined;
  const start = (): void => {
    clearTimeout(hiding);
    if (stop) return;
    stop = new AbortController();
    run(stop.signal);
  };
  const end = (): void => {
    clearTimeout(hiding);
    stop?.abort();
    stop = undefined;
  };
  const onChange = (): void => {
    clearTimeout(hiding);
    if (document.visibilityState === "visible") start();
    else {
      hiding = setTimeout(() => {
        end();
        onPause?.();
      }, HIDDEN_MS);
    }
  };
  document.addEventListener("visibilitychange", onChange);
  if (document.visibilityState === "visible") start();
  return () => {
    document.removeEventListener("visibilitychange", onChange);
    end();
  };
}

/** Follows the server until the returned function is called. */
export function followServer(): () => void {
  let last: string | undefined;
  const onPause = (): void => {
    connection.value = "paused";
  };
  return whileVisible((signal) => {
    void followEvents("/api/events", {
      signal,
      after: () => last,
      onEvent: ({ id }) => {
        last = id ?? last;
        bump();
      },
      onConnection: (state) => {
        // Reads again what failed while the engine was away.
        if (state === "live" && connection.value === "lost") bump();
        connection.value = state;
      },
    });
    // Reads the changes since the tab was hidden.
    bump();
  }, onPause);
}

export interface Following {
  readonly signal: AbortSignal;
  /** The id of the last event. */
  after(): string | undefined;
  onEvent(event: { id: string | undefined; type: string; data: Readonly<Record<string, unknown>> }): void;
  /** The stream is open, or its connection is lost and is opened again. */
  onConnection?(state: "live" | "lost"): void;
}

/** Reads a stream until the signal aborts or the server refuses it, across restarts of the server. Must not reject. */
export async function followEvents(path: string, following: Following): Promise<void> {
  const { signal, after, onEvent } = following;
  const onConnection = (state: "open" | "lost"): void => {
    if (!signal.aborted) following.onConnection?.(state === "open" ? "live" : "lost");
  };
  while (!signal.aborted) {
    try {
      for await (const event of api.events(path, { after: after(), signal, onConnection })) onEvent(event);
    } catch (error) {
      if (signal.aborted) return;
      if (isSignedOut(error)) return signedOut(t.signIn.ended);
      if (isRefused(error)) return;
    }
    if (signal.aborted) return;
    onConnection("lost");
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** The events of all agents of an engine: agents change, runs start, step and end. */
import type { EngineApi } from "./engine-api.ts";
import type { StreamOptions } from "./event-stream.ts";

/** `tree` comes first and holds all agents; `changed` names the agents that are to be read again. */
export interface TreeEvent {
  readonly id: string | undefined;
  readonly type: "tree" | "changed" | "start" | "step" | "restart" | "error" | "end";
  readonly agentId?: string;
  readonly runId?: string;
  /** Of an `end`. */
  readonly outcome?: string;
  readonly [field: string]: unknown;
}

export type OnEvent = (type: TreeEvent["type"] | "*", listener: (event: TreeEvent) => void) => () => void;

export async function* eventsOf(api: EngineApi, options?: StreamOptions): AsyncGenerator<TreeEvent> {
  for await (const { id, type, data } of api.events("/api/events", options)) yield { ...data, id, type } as TreeEvent;
}

/** All listeners share one stream, which is open while there is a listener. `closed`: the client is closed. */
export function onEvent(api: EngineApi, closed?: AbortSignal): OnEvent {
  const listeners = new Set<(event: TreeEvent) => void>();
  let stop: AbortController | undefined;
  const follow = async ({ signal }: AbortController): Promise<void> => {
    const both = closed ? AbortSignal.any([signal, closed]) : signal;
    try {
      for await (const event of eventsOf(api, { signal: both })) for (const listener of [...listeners]) listener(event);
    } catch {
      // The engine is closed or does not come back: a listener has nothing more to hear.
    }
  };
  return (type, listener) => {
    const own = (event: TreeEvent): void => {
      if (type === "*" || event.type === type) listener(event);
    };
    listeners.add(own);
    if (!stop) {
      stop = new AbortController();
      void follow(stop);
    }
    return () => {
      if (!listeners.delete(own) || listeners.size > 0) return;
      stop?.abort();
      stop = undefined;
    };
  };
}

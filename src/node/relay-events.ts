/**
 * Lets a person who is connected to one node see a run that works on another. A node says whose events it wants; whoever
 * works on that agent sends them, deltas gathered, over the store's way between nodes and never inside a step's transaction
 * (M24). Events keep their numbers; what is lost on the way is lost, and the run's end is also found in the store.
 */
import { readRunResult } from "../agents/run-result.ts";
import type { Clock } from "../core/clock.ts";
import { errorText } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import type { Store } from "../core/store.ts";
import type { RunEvent, RunEvents } from "../runs/events.ts";
import type { Relay } from "../store/postgres/keeper.ts";

export interface EventRelay {
  /** From now on this agent's events are told here too, for a while. Saying it again prolongs it. */
  follow(agentId: AgentId, ms?: number): void;
  stop(): void;
}

interface RelayPorts {
  readonly relay: Relay;
  readonly events: RunEvents;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

type Said =
  | { readonly want: AgentId }
  | { readonly tell: readonly RunEvent[] }
  /** The end of a run whose result is too long for the way: whoever wants it reads it from the store. */
  | { readonly ended: Omit<Extract<RunEvent, { type: "end" }>, "result"> };

const FOLLOW_MS = 10 * 60_000;
const WANT_AGAIN_MS = 10_000;
const WANTED_MS = 3 * WANT_AGAIN_MS;
/** Deltas that come within this time go together. */
const GATHER_MS = 40;
/** In characters; what travels may be three bytes each. */
const MAX_TEXT = 2_000;
const MAX_TOLD = 7_000;

export function relayEvents({ relay, events, store, clock, log }: RelayPorts): EventRelay {
  /** Whom we follow and until when, and who wants which of ours, both on the clock that never jumps. */
  const followed = new Map<AgentId, { until: number; cancel: () => void }>();
  const wanted = new Map<AgentId, number>();
  let gathered: RunEvent[] = [];
  let cancelFlush: (() => void) | undefined;

  const send = (said: Said): void => relay.send(JSON.stringify(said));

  const stopOwn = events.listenToOwn((event) => {
    const until = wanted.get(event.agentId);
    if (until === undefined) return;
    if (until < clock.monotonic()) {
      wanted.delete(event.agentId);
      return;
    }
    gathered.push(event);
    if (event.type === "end") flush();
    else cancelFlush ??= clock.after(GATHER_MS, flush);
  });

  function flush(): void {
    cancelFlush?.();
    cancelFlush = undefined;
    let told: RunEvent[] = [];
    let size = 0;
    const tell = (): void => {
      if (told.length > 0) send({ tell: told });
      told = [];
      size = 0;
    };
    for (const event of together(gathered)) {
      const bytes = Buffer.byteLength(JSON.stringify(event));
      if (size + bytes > MAX_TOLD) tell();
      if (bytes <= MAX_TOLD) {
        told.push(event);
        size += bytes + 1;
      } else if (event.type === "end") {
        const { result: _, ...ended } = event;
        send({ ended });
      }
    }
    tell();
    gathered = [];
  }

  const stopHearing = relay.listen((text) => {
    const said = JSON.parse(text) as Said;
    if ("want" in said) wanted.set(said.want, clock.monotonic() + WANTED_MS);
    else if ("tell" in said) {
      for (const event of said.tell) if (followed.has(event.agentId)) events.pass(event);
    } else if (followed.has(said.ended.agentId)) void tellEnd(said.ended);
  });

  async function tellEnd(ended: Omit<Extract<RunEvent, { type: "end" }>, "result">): Promise<void> {
    try {
      const result = await readRunResult(store, ended.runId);
      if (result) events.pass({ ...ended, result } as RunEvent);
    } catch (error) {
      log.warn("could not read the end of a run of another node", { run: ended.runId, error: errorText(error) });
    }
  }

  function follow(agentId: AgentId, ms = FOLLOW_MS): void {
    const until = clock.monotonic() + ms;
    const known = followed.get(agentId);
    if (known) {
      known.until = Math.max(known.until, until);
      return;
    }
    const one = { until, cancel: (): void => {} };
    const say = (): void => {
      if (clock.monotonic() >= one.until) return void followed.delete(agentId);
      send({ want: agentId });
      one.cancel = clock.after(WANT_AGAIN_MS, say);
    };
    followed.set(agentId, one);
    say();
  }

  return {
    follow,
    stop() {
      stopOwn();
      stopHearing();
      cancelFlush?.();
      for (const { cancel } of followed.values()) cancel();
      followed.clear();
    },
  };
}

/** Deltas of one stream that follow each other become one, and long ones several that fit. */
function* together(events: readonly RunEvent[]): Iterable<RunEvent> {
  let last: Extract<RunEvent, { type: "delta" }> | undefined;
  for (const event of events) {
    const same = event.type === "delta" && last && last.runId === event.runId && last.stream === event.stream;
    if (same && last && last.text.length + event.text.length <= MAX_TEXT) {
      last = { ...event, text: last.text + event.text };
      continue;
    }
    if (last) yield* pieces(last);
    last = event.type === "delta" ? event : undefined;
    if (event.type !== "delta") yield event;
  }
  if (last) yield* pieces(last);
}

function* pieces(delta: Extract<RunEvent, { type: "delta" }>): Iterable<RunEvent> {
  for (let at = 0; at < delta.text.length; at += MAX_TEXT) {
    yield { ...delta, text: delta.text.slice(at, at + MAX_TEXT) };
  }
}

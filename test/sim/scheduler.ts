/**
 * Virtual time. Events happen in the order (time, insertion), one after the other; after each, everything it set off
 * inside the program has come to rest before the next begins. So a seed always replays the same way.
 */
export interface Scheduler {
  /** Milliseconds since the world began. */
  readonly time: number;
  readonly events: number;
  /** Calls back once at `time + ms`. Returns how to cancel. */
  after(ms: number, run: () => void): () => void;
  /** Runs events until none is left, `until` is reached or `done` says so after an event. */
  run(until: number, done?: () => boolean): Promise<void>;
}

interface Event {
  readonly time: number;
  readonly order: number;
  run: (() => void) | undefined;
}

const before = (a: Event, b: Event): boolean => a.time < b.time || (a.time === b.time && a.order < b.order);

/** Lets promises and immediate follow-ups settle: microtasks all run before the next immediate. */
const immediate = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** `idle`: what the world waits for outside of itself, if anything is under way there. Time stands still meanwhile. */
export function makeScheduler(
  onError: (error: unknown) => void,
  idle: () => Promise<void> | undefined = () => undefined,
): Scheduler {
  const settled = async (): Promise<void> => {
    await immediate();
    for (let waiting = idle(); waiting; waiting = idle()) {
      await waiting;
      await immediate();
    }
  };
  const heap: Event[] = [];
  let time = 0;
  let order = 0;
  let events = 0;

  function push(event: Event): void {
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as Event;
      if (!before(event, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = event;
  }

  function pop(): Event | undefined {
    const top = heap[0];
    const last = heap.pop();
    if (!top || !last || heap.length === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1] as Event, heap[child] as Event)) child++;
      const below = heap[child] as Event;
      if (!before(below, last)) break;
      heap[at] = below;
      at = child;
    }
    heap[at] = last;
    return top;
  }

  return {
    get time() {
      return time;
    },
    get events() {
      return events;
    },
    after(ms, run) {
      const event: Event = { time: time + Math.max(0, Math.ceil(ms)), order: order++, run };
      push(event);
      return () => {
        event.run = undefined;
      };
    },
    async run(until, done = () => false) {
      await settled();
      while (!done()) {
        const next = heap[0];
        if (!next || next.time > until) break;
        pop();
        if (!next.run) continue;
        time = next.time;
        events++;
        try {
          next.run();
        } catch (error) {
          onError(error);
        }
        await settled();
      }
      if (!done()) time = Math.max(time, until);
    },
  };
}

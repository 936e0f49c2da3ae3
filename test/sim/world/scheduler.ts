/**
 * Virtual time. Events happen in the order (time, insertion), one after the other; all work that an event starts
 * inside the program ends before the next event begins. So a seed always replays the same way.
 */
import { eventQueue } from "../../kit/event-queue.ts";

export interface Scheduler {
  /** Milliseconds since the world began. */
  readonly time: number;
  readonly events: number;
  /** Calls back once at `time + ms`. Returns a function that cancels it. */
  after(ms: number, run: () => void): () => void;
  /** Runs events until none is left, `until` is reached or `done` returns true after an event. */
  run(until: number, done?: () => boolean): Promise<void>;
}

/** Lets promises and immediate follow-ups settle: microtasks all run before the next immediate. */
const immediate = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** `idle`: a promise for work outside the world, if any is in progress. Virtual time stands still until it resolves. */
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
  const queue = eventQueue();
  let time = 0;
  let events = 0;

  return {
    get time() {
      return time;
    },
    get events() {
      return events;
    },
    after: (ms, run) => queue.add(time + Math.max(0, Math.ceil(ms)), run),
    async run(until, done = () => false) {
      await settled();
      while (!done()) {
        const next = queue.take(until);
        if (!next) break;
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

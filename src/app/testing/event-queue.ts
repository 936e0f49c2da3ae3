/** Future events in the order (time, insertion): a binary heap. The virtual clock and the simulation's scheduler use it. */
export interface EventQueue {
  /** How many events are neither taken nor cancelled. */
  readonly size: number;
  /** Returns a function that cancels the event. */
  add(time: number, run: () => void): () => void;
  /** Removes and returns the first event that is due at `until` or earlier. */
  take(until: number): { readonly time: number; readonly run: () => void } | undefined;
}

interface Event {
  readonly time: number;
  readonly order: number;
  readonly run: () => void;
  state: "waiting" | "taken" | "cancelled";
}

export function eventQueue(): EventQueue {
  const heap: Event[] = [];
  let order = 0;
  let size = 0;
  return {
    get size() {
      return size;
    },
    add(time, run) {
      const event: Event = { time, order: order++, run, state: "waiting" };
      push(heap, event);
      size += 1;
      return () => {
        if (event.state !== "waiting") return;
        event.state = "cancelled";
        size -= 1;
      };
    },
    take(until) {
      for (let first = heap[0]; first && first.time <= until; first = heap[0]) {
        pop(heap);
        if (first.state === "cancelled") continue;
        first.state = "taken";
        size -= 1;
        return first;
      }
      return undefined;
    },
  };
}

const before = (a: Event, b: Event): boolean => a.time < b.time || (a.time === b.time && a.order < b.order);

function push(heap: Event[], event: Event): void {
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

/** Removes the first event. */
function pop(heap: Event[]): void {
  const last = heap.pop();
  if (!last || heap.length === 0) return;
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
}

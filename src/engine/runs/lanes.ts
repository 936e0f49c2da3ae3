/**
 * Lanes limit how many runs a node works on at once. First come, first served. A waiter costs an entry in a list: no lock,
 * no transaction and no timer. Sizes may change while runs wait.
 */
import type { Lane } from "../../core/run/run.ts";

export type LaneSizes = Readonly<Record<Lane, number>>;

const DEFAULT_LANES: LaneSizes = { main: 32, subagent: 16, cron: 4, nested: 16 };

interface LaneState {
  readonly size: number;
  active: number;
  readonly waiting: Waiter[];
}

interface Waiter {
  readonly enter: (slot: Slot | undefined) => void;
  cancelled: boolean;
}

interface Slot {
  /** May be called more than once; the second time does nothing. */
  release(): void;
}

/** A run's place in a lane. The run releases it while it waits for another agent, which may need one too (M11). */
export class Place {
  readonly #lanes: Lanes;
  readonly #lane: Lane;
  #slot: Slot | undefined;
  #outside = 0;
  #entering: Promise<void> | undefined;
  #left = false;

  constructor(lanes: Lanes, lane: Lane, slot: Slot) {
    this.#lanes = lanes;
    this.#lane = lane;
    this.#slot = slot;
  }

  /** Waits without the place. Takes one again when the wait settles, unless another wait of this run is still open. */
  async without<T>(wait: Promise<T>): Promise<T> {
    this.#outside += 1;
    this.#slot?.release();
    try {
      return await wait;
    } finally {
      this.#outside -= 1;
      if (this.#outside === 0 && !this.#left) await this.#enter();
    }
  }

  /** Waits that end while the place is being taken again share that one entry: a second slot would wait for the first. */
  #enter(): Promise<void> {
    this.#entering ??= this.#lanes.enter(this.#lane).then((slot) => {
      this.#entering = undefined;
      this.#slot = slot;
      if (this.#left || this.#outside > 0) slot?.release();
    });
    return this.#entering;
  }

  leave(): void {
    this.#left = true;
    this.#slot?.release();
  }
}

export class Lanes {
  readonly #lanes: Record<Lane, LaneState>;
  #sizes: LaneSizes;

  /** `sizes` is read at each entry: its values may change. Call `resize` after that, for the runs that wait. */
  constructor(sizes: LaneSizes = DEFAULT_LANES) {
    this.#sizes = sizes;
    const sizeOf = (name: Lane): number => Math.max(1, this.#sizes[name]);
    const lane = (name: Lane): LaneState => ({
      get size() {
        return sizeOf(name);
      },
      active: 0,
      waiting: [],
    });
    this.#lanes = { main: lane("main"), subagent: lane("subagent"), cron: lane("cron"), nested: lane("nested") };
  }

  /** A slot, as soon as one is free; undefined if the signal aborted first. */
  enter(name: Lane, signal?: AbortSignal): Promise<Slot | undefined> {
    const lane = this.#lanes[name];
    if (signal?.aborted) return Promise.resolve(undefined);
    if (lane.active < lane.size) return Promise.resolve(this.#slot(lane));
    return new Promise((resolve) => {
      const waiter: Waiter = { enter: resolve, cancelled: false };
      lane.waiting.push(waiter);
      signal?.addEventListener(
        "abort",
        () => {
          waiter.cancelled = true;
          resolve(undefined);
        },
        { once: true },
      );
    });
  }

  /** Admits the runs that now have room. `sizes`: replaces some of the sizes. */
  resize(sizes?: Partial<LaneSizes>): void {
    if (sizes) this.#sizes = { ...this.#sizes, ...sizes };
    for (const lane of Object.values(this.#lanes)) this.#admit(lane);
  }

  counts(): Readonly<Record<Lane, { size: number; active: number; waiting: number }>> {
    const count = ({ size, active, waiting }: LaneState) => ({
      size,
      active,
      waiting: waiting.filter((waiter) => !waiter.cancelled).length,
    });
    const { main, subagent, cron, nested } = this.#lanes;
    return { main: count(main), subagent: count(subagent), cron: count(cron), nested: count(nested) };
  }

  #slot(lane: LaneState): Slot {
    lane.active += 1;
    let held = true;
    return {
      release: () => {
        if (!held) return;
        held = false;
        lane.active -= 1;
        this.#admit(lane);
      },
    };
  }

  #admit(lane: LaneState): void {
    while (lane.active < lane.size) {
      const waiter = lane.waiting.shift();
      if (!waiter) return;
      if (!waiter.cancelled) waiter.enter(this.#slot(lane));
    }
  }
}

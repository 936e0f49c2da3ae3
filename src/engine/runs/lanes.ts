/**
 * Lanes limit how many runs a node works on at once. First come, first served. A waiter costs an entry in a list: no lock,
 * no transaction and no timer. Sizes may change while runs wait.
 */
import type { Current } from "../../core/current.ts";
import type { Lane } from "../../core/run/run.ts";

type LaneSizes = Readonly<Record<Lane, number>>;

interface LaneState {
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
  readonly #settings: Current<{ readonly lanes: LaneSizes }>;
  readonly #lanes: Record<Lane, LaneState>;

  constructor(settings: Current<{ readonly lanes: LaneSizes }>) {
    this.#settings = settings;
    const lane = (): LaneState => ({ active: 0, waiting: [] });
    this.#lanes = { main: lane(), subagent: lane(), cron: lane(), nested: lane() };
  }

  #hasRoom(name: Lane): boolean {
    return this.#lanes[name].active < this.#size(name);
  }

  #size(name: Lane): number {
    return Math.max(1, this.#settings.current.lanes[name]);
  }

  /** A slot, as soon as one is free; undefined if the signal aborted first. */
  enter(name: Lane, signal?: AbortSignal): Promise<Slot | undefined> {
    const lane = this.#lanes[name];
    if (signal?.aborted) return Promise.resolve(undefined);
    if (this.#hasRoom(name)) return Promise.resolve(this.#slot(name));
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

  /** The sizes have changed: admits the runs that now have room. */
  resized(): void {
    for (const name of Object.keys(this.#lanes) as Lane[]) this.#admit(name);
  }

  counts(): Readonly<Record<Lane, { size: number; active: number; waiting: number }>> {
    const count = (name: Lane) => ({
      size: this.#size(name),
      active: this.#lanes[name].active,
      waiting: this.#lanes[name].waiting.filter((waiter) => !waiter.cancelled).length,
    });
    return { main: count("main"), subagent: count("subagent"), cron: count("cron"), nested: count("nested") };
  }

  #slot(name: Lane): Slot {
    const lane = this.#lanes[name];
    lane.active += 1;
    let held = true;
    return {
      release: () => {
        if (!held) return;
        held = false;
        lane.active -= 1;
        this.#admit(name);
      },
    };
  }

  #admit(name: Lane): void {
    while (this.#hasRoom(name)) {
      const waiter = this.#lanes[name].waiting.shift();
      if (!waiter) return;
      if (!waiter.cancelled) waiter.enter(this.#slot(name));
    }
  }
}

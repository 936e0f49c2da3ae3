/**
 * The memory that the engine's thread and the watchdog's thread share. The engine's thread writes beats and notes, the
 * watchdog reads them when the beats have stopped: then nothing is written at the same time.
 */

/** Indexes of 32-bit numbers. */
const STOP = 0;
const BEATS = 1;
const DRAINING = 2;
/** The beat before which the note was written. */
const NOTED_AT = 3;
const TOOLS = 4;
/** Texts: one byte for the length, then the text in Latin-1. */
const NOTE = 64;
const TOOL = 320;
const TEXT_BYTES = 255;
const SIZE = 576;

export interface NotedRun {
  readonly agentId: string;
  readonly runId: string;
  readonly phase: string;
}

export class WatchdogMemory {
  readonly buffer: SharedArrayBuffer;
  readonly #numbers: Int32Array;
  readonly #bytes: Buffer;

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(SIZE)) {
    this.buffer = buffer;
    this.#numbers = new Int32Array(buffer);
    this.#bytes = Buffer.from(buffer as unknown as ArrayBuffer);
  }

  beat(): void {
    Atomics.add(this.#numbers, BEATS, 1);
  }

  get beats(): number {
    return Atomics.load(this.#numbers, BEATS);
  }

  drain(): void {
    Atomics.store(this.#numbers, DRAINING, 1);
  }

  get draining(): boolean {
    return Atomics.load(this.#numbers, DRAINING) === 1;
  }

  stop(): void {
    Atomics.store(this.#numbers, STOP, 1);
    Atomics.notify(this.#numbers, STOP);
  }

  /** The watchdog's pause between two looks. False if it must end. */
  sleep(ms: number): boolean {
    return Atomics.wait(this.#numbers, STOP, 0, ms) === "timed-out";
  }

  note(run: NotedRun): void {
    this.#write(NOTE, run);
    Atomics.store(this.#numbers, NOTED_AT, this.beats);
  }

  /** The tools that run now, and the first of them. */
  tools(count: number, first: NotedRun | undefined): void {
    if (first) this.#write(TOOL, first);
    Atomics.store(this.#numbers, TOOLS, count);
  }

  /**
   * The run to blame for a blocked thread: the one that noted something since the last beat, because everything before that
   * beat has ended; else the only one with a running tool. Undefined if that is not certain.
   */
  blame(): NotedRun | undefined {
    if (Atomics.load(this.#numbers, NOTED_AT) === this.beats) return this.#read(NOTE);
    return Atomics.load(this.#numbers, TOOLS) === 1 ? this.#read(TOOL) : undefined;
  }

  #write(at: number, { agentId, runId, phase }: NotedRun): void {
    this.#bytes[at] = this.#bytes.write(`${agentId}\n${runId}\n${phase}`, at + 1, TEXT_BYTES, "latin1");
  }

  #read(at: number): NotedRun | undefined {
    const text = this.#bytes.toString("latin1", at + 1, at + 1 + (this.#bytes[at] ?? 0));
    const [agentId, runId, ...phase] = text.split("\n");
    return agentId && runId ? { agentId, runId, phase: phase.join(" ") } : undefined;
  }
}

/** A crash target: starts processes, kills them at random moments and reports the problems it finds afterwards. */

export interface CrashOptions {
  readonly kills: number;
  readonly seed: string;
  readonly say: (text: string) => void;
  /** Instead of the usual mix: short lives of the process, in which everyone must be answered (M13). */
  readonly shortLives?: ShortLives;
}

export interface ShortLives {
  readonly lifeMs: number;
  readonly people: number;
  /** How long a step of each message takes. */
  readonly stepMs: number;
}

export interface CrashReport {
  /** Empty if every promise was kept. */
  readonly problems: readonly string[];
  /** What happened. Shows whether work was in flight: a run without any proves nothing. */
  readonly counts: Readonly<Record<string, number>>;
}

export interface CrashTarget {
  readonly name: string;
  run(options: CrashOptions): Promise<CrashReport>;
}

/** What can be killed: a target starts processes, kills them at random moments and says what was wrong afterwards. */

export interface CrashOptions {
  readonly kills: number;
  readonly seed: string;
  readonly say: (text: string) => void;
}

export interface CrashReport {
  /** Empty where every promise was kept. */
  readonly problems: readonly string[];
  /** What happened, so that a run in which nothing was in flight is recognised as proving nothing. */
  readonly counts: Readonly<Record<string, number>>;
}

export interface CrashTarget {
  readonly name: string;
  run(options: CrashOptions): Promise<CrashReport>;
}

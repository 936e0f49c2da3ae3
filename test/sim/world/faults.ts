/** The faults that are active now. Set by the scenario and the seed, and off once the faults end. */

/** Chances per commit. Every error may mean "applied" or "not applied"; the caller cannot know. */
export interface StoreFaults {
  /** Not applied, `CommitUnknownError`. */
  readonly lost: number;
  /** Applied, then `CommitUnknownError`. */
  readonly unanswered: number;
  /** `CommitUnknownError` first, applied a moment later. */
  readonly late: number;
  /** Applied in time, answered only after seconds. */
  readonly hangs: number;
  /** Not applied, `StoreFullError`. */
  readonly full: number;
  /** A process of the batch dies between the commit and its answers. */
  readonly batchDeath: number;
}

/** Chances per send, and per submitted message. */
export interface ChannelFaults {
  readonly retry: number;
  readonly refuse: number;
  /** Shown, but the answer is `unknown`. */
  readonly shownUnknown: number;
  /** Not shown, and the answer is `unknown`. */
  readonly hiddenUnknown: number;
  readonly lookupUnknown: number;
  /** In progress for longer than a restart takes. */
  readonly slow: number;
  readonly duplicate: number;
  /** Submitted again after the acknowledgement. */
  readonly redeliver: number;
}

export interface Faults {
  /** False once the faults have ended. */
  active: boolean;
  outage: boolean;
  diskFull: boolean;
  readonly store: StoreFaults;
  readonly channel: ChannelFaults;
}

export const CALM_STORE: StoreFaults = { lost: 0, unanswered: 0, late: 0, hangs: 0, full: 0, batchDeath: 0.002 };
export const CALM_CHANNEL: ChannelFaults = {
  retry: 0,
  refuse: 0,
  shownUnknown: 0,
  hiddenUnknown: 0,
  lookupUnknown: 0,
  slow: 0,
  duplicate: 0.1,
  redeliver: 0.05,
};

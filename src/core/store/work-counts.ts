/** How much is under way in a store. */
export interface WorkCounts {
  /** Agents with messages that wait, or with a run. */
  readonly busy: number;
  /** Deliveries that have not ended. */
  readonly undelivered: number;
  /** Messages that failed since a time. */
  readonly failed: number;
}

/** The states of a delivery. */

/** States that a connector's node works on. */
export const SENDABLE_STATES = ["pending", "sending"] as const;
/** States without a sender: a reader's mailbox has it, or no route is known. */
export const WAITING_STATES = ["waiting-reader", "unroutable"] as const;
/** Everything that has not ended, as it is listed (L5). */
export const OPEN_STATES = [...SENDABLE_STATES, ...WAITING_STATES] as const;
export const ENDED_STATES = ["sent", "suppressed", "failed", "unconfirmed"] as const;

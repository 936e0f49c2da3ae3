/** The protocol between the outside world (the parent) and the program that is killed (the child): JSON lines. */

export type ToChild =
  | {
      readonly say: "in";
      readonly channel: string;
      readonly person: string;
      readonly id: string;
      readonly text: string;
    }
  /** Asks for a report when enough work is in progress for a useful kill; `send`: while an answer is shown; `any`: at once. */
  | { readonly say: "when"; readonly what: "runs" | "tool" | "send" | "any" }
  | { readonly say: "end" };

export type FromChild =
  | { readonly say: "up" }
  | { readonly say: "ack"; readonly id: string }
  | { readonly say: "refused"; readonly id: string }
  | {
      readonly say: "show";
      readonly channel: string;
      readonly id: string;
      readonly person: string;
      readonly text: string;
    }
  | { readonly say: "exec"; readonly callId: string }
  /** A run is about to kill the process. */
  | { readonly say: "dying" }
  | { readonly say: "charge"; readonly tokens: number }
  | { readonly say: "now"; readonly runs: number; readonly tools: number }
  | { readonly say: "quiet" };

/** One channel that recognises a delivery it has shown before, and one that cannot. */
export const CHANNELS = ["knowing", "blind"] as const;
export const ENOUGH_RUNS = 20;

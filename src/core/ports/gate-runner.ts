/** Checks a gate: a command or a URL that decides, without a model, whether a job runs. Bounded in time and output. */
import type { Gate } from "../schedule/job.ts";

export type GateVerdict =
  | { readonly pass: true; readonly output: string }
  /** Fails closed: a gate that cannot be checked does not pass. */
  | { readonly pass: false; readonly reason: string };

export interface GateRunner {
  /** Must not throw: a failure is a gate that does not pass. */
  check(gate: Gate, signal: AbortSignal): Promise<GateVerdict>;
}

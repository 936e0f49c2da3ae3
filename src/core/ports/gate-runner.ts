/** Checks a gate: a command or an address that says, without a model, whether a run is worth it. Bounded in time and output. */
import type { Gate } from "../schedule/job.ts";

export type GateVerdict =
  | { readonly pass: true; readonly output: string }
  /** Fails closed: what cannot be checked does not pass. */
  | { readonly pass: false; readonly reason: string };

export interface GateRunner {
  /** Must not throw: whatever goes wrong is a gate that does not pass. */
  check(gate: Gate, signal: AbortSignal): Promise<GateVerdict>;
}

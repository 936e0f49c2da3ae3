/** The port to the watchdog thread (M34): runs note what they do, so that a blocked event loop names its run. */
import type { AgentId, RunId } from "../ids.ts";

export interface Watchdog {
  /** Call it where a run begins or continues to read text from outside. It costs a few stores to memory. */
  note(run: { readonly agentId: AgentId; readonly id: RunId }, phase: string): void;
  /** A tool runs from now until the returned function is called. It may block at any time in between. */
  tool(run: { readonly agentId: AgentId; readonly id: RunId }, name: string): () => void;
}

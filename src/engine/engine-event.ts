/**
 * What the parts of a node tell each other. Each part has one `emit`; `AgentSystem` handles every type in one switch.
 * `emit` returns at once and does not throw; an event is about something that has already happened or is already durable.
 */
import type { DeliveryContext } from "../core/delivery/delivery.ts";
import type { AgentId } from "../core/ids.ts";
import type { Message } from "../core/message/message.ts";
import type { RunResult } from "../core/run/run.ts";
import type { OpResult, Posted } from "../core/store/change.ts";

export type EngineEvent =
  /** A message was stored in an inbox. `waits`: the message itself, if nothing else waits there. */
  | { readonly type: "posted"; readonly posted: Posted & { readonly waits?: Message } }
  /** Messages left their inbox; with a result if a run took them. */
  | {
      readonly type: "settled";
      readonly messages: readonly Pick<Message, "agentId" | "seq">[];
      readonly result?: RunResult;
    }
  /** This node holds the agent. */
  | { readonly type: "claimed"; readonly agentId: AgentId; readonly epoch: number }
  /** An agent that no node holds has work which no message asks for. */
  | { readonly type: "work-found"; readonly agentId: AgentId }
  /** An agent's data cannot be read. It stays as it is, and the other agents go on. */
  | { readonly type: "degraded"; readonly agentId: AgentId; readonly reason: string }
  /** A commit that may have claimed an agent for this node was not answered. */
  | { readonly type: "claim-unknown" }
  /** A commit that may have added deliveries was not answered. */
  | { readonly type: "deliveries-unknown" }
  /** A person wrote a message whose answer goes here. */
  | { readonly type: "written"; readonly chat: DeliveryContext }
  /** Questions were withdrawn. People who may have seen them get a notice. */
  | { readonly type: "withdrawn" }
  /** A person moved a delivery to this target by hand. */
  | { readonly type: "delivery-moved"; readonly target: DeliveryContext }
  /** A message came from this target, or its channel confirmed a delivery there. */
  | { readonly type: "reached"; readonly target: DeliveryContext }
  /** This process is a node of the store, under this number. */
  | { readonly type: "joined"; readonly node: number }
  /** Nothing can be committed under the old number any more. The node joins again. */
  | { readonly type: "lease-lost" }
  /** The node has looked for agents without an owner. */
  | { readonly type: "polled" };

export type Emit = (event: EngineEvent) => void;

/** Emits `posted` for every message that a commit has stored, and `withdrawn` if it has withdrawn questions. */
export function emitPosted(emit: Emit, results: readonly (OpResult | undefined)[]): void {
  for (const result of results) {
    if (result?.op === "message.post") emit({ type: "posted", posted: result });
    if (result?.op === "approval.withdraw" && result.withdrawn > 0) emit({ type: "withdrawn" });
  }
}

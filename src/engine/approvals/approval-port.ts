/** What questions about calls need from the node: how long they wait, what a call depends on, and who to ask (M31). */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { DeliveryContext } from "../../core/delivery/delivery.ts";
import type { RunId } from "../../core/ids.ts";
import type { Behalf } from "../../core/people/behalf.ts";
import { OWNER } from "../../core/people/person.ts";
import type { Effect } from "../../core/rights/decide.ts";
import type { CallRecord } from "../../core/run/run.ts";
import type { Surroundings } from "./call-digest.ts";

export interface ApprovalPort {
  surroundingsOf(agent: AgentRecord, call: CallRecord, effects: readonly Effect[], runId: RunId): Promise<Surroundings>;
  /** Where the person who decides is reached. */
  askAt(behalf: Behalf, delivery: DeliveryContext | undefined): Promise<DeliveryContext>;
  /** The address for the outcome of a call that a late yes executed, if its run has none. */
  outcomeAt(behalf: Behalf): Promise<DeliveryContext>;
  /** Called after the commit of a question. */
  asked(dueAt: number): void;
}

interface Asking extends Pick<ApprovalPort, "asked"> {
  readonly people: { addressOf(person: string): Promise<DeliveryContext> };
  /** Absent: a call depends on nothing but its arguments. */
  readonly surroundingsOf?: ApprovalPort["surroundingsOf"];
  definitionOf(agent: AgentRecord, tool: string): unknown;
}

export const approvalPortOf = ({ people, asked, ...asking }: Asking): ApprovalPort => ({
  surroundingsOf: async (agent, call, effects, runId) => ({
    definition: asking.definitionOf(agent, call.name),
    ...(await asking.surroundingsOf?.(agent, call, effects, runId)),
  }),
  outcomeAt: ({ person }) => people.addressOf(person),
  // The owner's own conversation is where the owner is now.
  askAt: async ({ person }, delivery) => (person === OWNER && delivery ? delivery : people.addressOf(OWNER)),
  asked,
});

/**
 * The send policy where deliveries are owed: what an agent may not send is owed and suppressed in one commit, with the
 * reason, so that it can be seen (L5). What the engine itself has to say about a command is not held back.
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import { resolveSendPolicy, SEND_BLOCKED, type SendPolicy } from "../../core/agent/send-policy.ts";
import type { DeliveryContext, NewDelivery } from "../../core/delivery/delivery.ts";
import type { ToolOutput } from "../../core/ports/tool.ts";
import type { Op } from "../../core/store/change.ts";

type Sender = Pick<AgentRecord, "state" | "sessionKey">;

export const maySend = (policy: SendPolicy | undefined, agent: Sender, target: DeliveryContext): boolean =>
  resolveSendPolicy({ policy, state: agent.state, sessionKey: agent.sessionKey, channel: target.channel }) === "allow";

/** The same deliveries; those the policy forbids end at once. One that has ended already keeps its own reason. */
export function applySendPolicy(
  policy: SendPolicy | undefined,
  agent: Sender,
  deliveries: readonly NewDelivery[],
): readonly NewDelivery[] {
  const ended = { state: "suppressed", reason: SEND_BLOCKED } as const;
  return deliveries.map((one) => (one.ended || maySend(policy, agent, one.target) ? one : { ...one, ended }));
}

/** The same for whatever else is owed by a commit of the agent's. */
export const applySendPolicyToOps = (
  policy: SendPolicy | undefined,
  agent: Sender,
  ops: readonly Op[],
): readonly Op[] =>
  ops.map((op) => {
    if (op.op !== "delivery.add") return op;
    const [delivery = op.delivery] = applySendPolicy(policy, agent, [op.delivery]);
    return { ...op, delivery };
  });

/** What the model is told of a tool whose send was held back: that it was, whatever the tool itself says. */
export function tellIfBlocked(policy: SendPolicy | undefined, agent: Sender, output: ToolOutput): ToolOutput {
  const isBlocked = output.deliveries?.some(({ target }) => !maySend(policy, agent, target));
  return isBlocked ? { ...output, content: [{ type: "text", text: SEND_BLOCKED }], isError: true } : output;
}

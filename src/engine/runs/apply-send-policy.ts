/**
 * The send policy. A delivery that an agent may not send is committed as suppressed, with the reason, so that it is listed
 * (L5). The engine's own answers to commands are not subject to it.
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import { resolveSendPolicy, SEND_BLOCKED, type SendPolicy } from "../../core/agent/send-policy.ts";
import type { DeliveryContext, NewDelivery } from "../../core/delivery/delivery.ts";
import type { ToolOutput } from "../../core/ports/tool.ts";
import type { Op } from "../../core/store/change.ts";

type Sender = Pick<AgentRecord, "state" | "sessionKey">;

export const maySend = (policy: SendPolicy | undefined, agent: Sender, target: DeliveryContext): boolean =>
  resolveSendPolicy({ policy, state: agent.state, sessionKey: agent.sessionKey, channel: target.channel }) === "allow";

/** The same deliveries; those that the policy forbids end at once. One that has ended keeps its own reason. */
export function applySendPolicy(
  policy: SendPolicy | undefined,
  agent: Sender,
  deliveries: readonly NewDelivery[],
): readonly NewDelivery[] {
  const ended = { state: "suppressed", reason: SEND_BLOCKED } as const;
  return deliveries.map((one) => (one.ended || maySend(policy, agent, one.target) ? one : { ...one, ended }));
}

/** The same for the deliveries among the ops of a commit. */
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

/** The result of a tool whose message the policy blocked: the model reads that it was blocked, instead of the tool's own text. */
export function tellIfBlocked(policy: SendPolicy | undefined, agent: Sender, output: ToolOutput): ToolOutput {
  const isBlocked = output.deliveries?.some(({ target }) => !maySend(policy, agent, target));
  return isBlocked ? { ...output, content: [{ type: "text", text: SEND_BLOCKED }], isError: true } : output;
}

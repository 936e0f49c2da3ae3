/**
 * Changes what a permanent agent is told about itself, by its owner and in the order of its inbox: what was said to it before
 * is answered as it was, what is said after it is answered as it is now. Its name and its id stay.
 */
import type { Message } from "../../../core/message/message.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";
import { settlement } from "../inbox-steps.ts";

export async function describeAgent(ports: RunPorts, lease: AgentLease, message: Message): Promise<void> {
  const { descriptor, state } = lease.record;
  const { body } = message;
  if (body.kind !== "describe") return;
  if (descriptor.type !== "permanent") {
    const refused = settlement(message, "dropped", `a ${descriptor.type} agent cannot be described anew`);
    await lease.commit({ site: "describe", ops: [{ op: "message.settle", settlements: [refused] }] });
    return;
  }
  const { description, systemPrompt, workspaceDir, username, permissions } = body;
  const described = {
    ...descriptor,
    description,
    systemPrompt,
    ...(workspaceDir ? { workspaceDir } : {}),
    ...(username ? { username } : {}),
  };
  await lease.commit({
    site: "describe",
    ops: [
      { op: "agent.describe", descriptor: described },
      { op: "message.settle", settlements: [settlement(message, "recorded", `described anew by ${body.by}`)] },
    ],
    state: { ...state, ...(permissions ? { permissions } : {}), updatedAt: ports.clock.now() },
    descriptor: described,
  });
}

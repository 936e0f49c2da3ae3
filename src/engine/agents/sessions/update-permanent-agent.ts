/**
 * Changes the description and the prompt of a permanent agent. Its owner does it in the order of the inbox: messages that
 * came before get an answer under the old prompt, messages that come after under the new one. Its name and its id stay.
 */
import { defined } from "../../../core/defined.ts";
import type { Message } from "../../../core/message/message.ts";
import { untrustedSource } from "../../people/untrusted.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";
import { settlement } from "../actor/inbox-steps.ts";

const isWary = (message: Message): true | undefined => (untrustedSource(message) ? true : undefined);

export async function updatePermanentAgent(ports: RunPorts, lease: AgentLease, message: Message): Promise<void> {
  const { descriptor, state } = lease.record;
  const { body } = message;
  if (body.kind !== "describe") return;
  if (descriptor.type !== "permanent") {
    const refused = settlement(message, "dropped", `a ${descriptor.type} agent has no description to change`);
    await lease.commit({ site: "describe", ops: [{ op: "message.settle", settlements: [refused] }] });
    return;
  }
  const { description, systemPrompt, workspaceDir, username, permissions, by } = body;
  const updated = {
    ...descriptor,
    description,
    systemPrompt,
    ...defined({ workspaceDir, username }),
  };
  await lease.commit({
    site: "describe",
    ops: [
      { op: "agent.describe", descriptor: updated },
      { op: "message.settle", settlements: [settlement(message, "recorded", `updated by ${by}`)] },
    ],
    // Its new prompt may follow untrusted text: every session of it has the mark from now on (M32).
    state: { ...state, ...defined({ permissions, madeUntrusted: isWary(message) }), updatedAt: ports.clock.now() },
    descriptor: updated,
  });
}

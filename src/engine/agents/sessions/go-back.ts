/**
 * Going back to an entry of the current session: the owner's own step, so that the tip moves under nobody's feet (M1).
 * Nothing is deleted; whoever held the context reads it anew afterwards.
 */
import { NotFoundError } from "../../../core/errors.ts";
import type { EntryId } from "../../../core/ids.ts";
import type { Message } from "../../../core/message/message.ts";
import { readSession } from "../../context/session-entries.ts";
import { type Branched, branchFrom } from "../../context/transcript/branch.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";
import { settleCommand } from "../actor/inbox-steps.ts";

export const WENT_BACK_TEXT = "Went back.";

/** The entry may be gone by now, a reset came in between: then nothing moves, and the message says why. */
export async function goBack(ports: RunPorts, lease: AgentLease, message: Message): Promise<void> {
  if (message.body.kind !== "branch") return;
  const { entryId, summary } = message.body;
  const { agentId, sessionId, nextPos, leaf } = lease;
  const { entries } = await readSession(ports.store, agentId, sessionId);
  const at = ports.clock.now();
  let branched: Branched;
  try {
    branched = branchFrom(ports.ids, { entries, nextPos, leaf, at }, entryId as EntryId, summary);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    return settleCommand(ports, lease, message, { site: "branch.gone", reason: error.message, text: error.message });
  }
  const reason = `went back to ${entryId}`;
  await settleCommand(ports, lease, message, { site: "branch", reason, text: WENT_BACK_TEXT }, { ops: branched.ops });
}

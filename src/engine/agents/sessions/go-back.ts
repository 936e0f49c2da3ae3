/**
 * Goes back to an entry of the current session. The agent's owner does it in the order of the inbox, so no other commit is
 * under way when the tip moves (M1). Nothing is deleted. The caller drops the context in memory, which belongs to the old tip.
 */
import { NotFoundError } from "../../../core/errors.ts";
import type { EntryId } from "../../../core/ids.ts";
import type { Message } from "../../../core/message/message.ts";
import { readSession } from "../../context/session-entries.ts";
import { type Branched, branchFrom } from "../../context/transcript/branch.ts";
import { withSpeakers } from "../../people/run-behalf.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import { belongingOf } from "../../runtime/belonging.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";
import { settle, settleCommand } from "../actor/inbox-steps.ts";

const WENT_BACK_TEXT = "Went back.";

/** After a reset the entry no longer belongs to the session: then the tip stays, and the answer says why. */
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
  const { own } = await belongingOf(ports, lease);
  const state = summary ? withSpeakers(own, lease.state, [message]) : undefined;
  const beside = { ops: branched.ops, state };
  await settleCommand(ports, lease, message, { site: "branch", reason, text: WENT_BACK_TEXT }, beside);
}

const GONE_TEXT = "The conversation began a new session after the answer that this message continues.";

/**
 * Goes to the entry that a message continues, before the message is taken. The message waits until then, so a crash in between
 * repeats a step that changes nothing. `gone`: the entry is of an earlier session, and the message was discarded.
 */
export async function goTo(ports: RunPorts, lease: AgentLease, message: Message): Promise<"there" | "moved" | "gone"> {
  const after = message.body.kind === "user" ? message.body.after : undefined;
  const { agentId, sessionId, nextPos, leaf } = lease;
  if (after === undefined || after === leaf) return "there";
  const { entries } = await readSession(ports.store, agentId, sessionId);
  try {
    const { ops } = branchFrom(ports.ids, { entries, nextPos, leaf, at: ports.clock.now() }, after as EntryId);
    await lease.commit({ site: "branch.follow", ops });
    return "moved";
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    await settle(ports, lease, "branch.gone", [message], "discarded", GONE_TEXT);
    return "gone";
  }
}

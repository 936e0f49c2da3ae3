/**
 * Begins a new session: because a person asked for it, or because the old one is stale (M10). One commit writes the marker,
 * clears the state that belongs to the old session, and changes the session id. The agent and its history stay.
 */
import type { AgentState } from "../../../core/agent/state.ts";
import { stateAfterReset } from "../../../core/agent/state-after-reset.ts";
import type { SessionId } from "../../../core/ids.ts";
import type { Message } from "../../../core/message/message.ts";
import { chain, resetMarker } from "../../context/entries.ts";
import { withSpeakers } from "../../people/run-behalf.ts";
import type { AgentLease, Committing } from "../../runtime/agent-lease.ts";
import { belongingOf } from "../../runtime/belonging.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";
import { settleCommand } from "../actor/inbox-steps.ts";

const RESET_TEXT = "Session reset.";

/** A person's reset. Settles its message. */
export async function resetSession(ports: RunPorts, lease: AgentLease, message: Message): Promise<void> {
  if (message.body.kind !== "reset") return;
  const answer = { site: "reset", reason: "reset", text: RESET_TEXT } as const;
  const begun = newSession(ports, lease, message.body.text);
  // The text opens the new session.
  const { own } = await belongingOf(ports, lease);
  const state = (message.body.text && withSpeakers(own, begun.state, [message])) || begun.state;
  await settleCommand(ports, lease, message, answer, { ...begun, state });
}

/** Replaces a stale session before a run takes the next message of a person. */
export async function replaceStaleSession(ports: RunPorts, lease: AgentLease): Promise<void> {
  await lease.commit({ site: "reset.stale", ops: [], ...newSession(ports, lease) });
}

function newSession(
  { clock, ids }: RunPorts,
  lease: AgentLease,
  text?: string,
): Pick<Committing, "append" | "begins"> & { readonly state: AgentState } {
  const at = clock.now();
  const begins = ids.uuid() as SessionId;
  const append = chain(ids, lease, [resetMarker(begins, at, text)]);
  return { append, state: stateAfterReset(lease.state, at), begins };
}

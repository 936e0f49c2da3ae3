/**
 * A person drops a message that waits. One commit settles it, writes the row of the audit log, and tells whoever waits for its run:
 * the requester of a child, the slot of a schedule. Whoever sent it reads in its result who dropped it (L1).
 */
import { ConflictError, CorruptDataError, NotFoundError } from "../../core/errors.ts";
import { type AgentId, messageId } from "../../core/ids.ts";
import type { Message } from "../../core/message/message.ts";
import type { Op } from "../../core/store/change.ts";
import { postedIn, submit } from "../commit/submit.ts";
import { type Actor, auditOp } from "../people/audit-entry.ts";
import { onBehalf } from "../people/on-behalf.ts";
import { runBehalf } from "../people/run-behalf.ts";
import { belongingOf } from "../runtime/belonging.ts";
import type { RunPorts } from "../runtime/run-ports.ts";

/** Makes ops of the message as it becomes, which are committed with its end. */
type AlsoDropped = (message: Message) => readonly Op[];

export interface DropRequest {
  readonly agentId: AgentId;
  readonly seq: number;
  readonly by: Actor;
  readonly also?: AlsoDropped;
}

/** Durable when it resolves. Rejects with `ConflictError` if the message does not wait, or if a run takes it first. */
export async function dropMessage(ports: RunPorts, node: number, request: DropRequest): Promise<Message> {
  const { agentId, seq, by, also } = request;
  const at = ports.clock.now();
  const [record, message] = await Promise.all([ports.store.agent(agentId), readMessage(ports, agentId, seq, at)]);
  if (!record || !message) throw new NotFoundError(`This agent has no message ${seq}.`);
  if (message.state !== "waiting") throw notWaiting(message);
  if (record.stopped?.removing && message.body.kind === "stop") {
    throw new ConflictError("This stop ends with the removal of its agent.", { hint: "Nothing was changed." });
  }
  const reason = `dropped by ${by.person}`;
  const dropped: Message = { ...message, state: "dropped", reason, settledAt: at };
  const behalf = runBehalf(await belongingOf(ports, { record, state: record.state }), [message]);
  const ends = (await ports.opsOnSettle?.(record, [message], { state: "dropped", reason })) ?? [];
  const ops: readonly Op[] = [
    { op: "message.drop", agentId, seq, reason },
    ...onBehalf({ agent: record, behalf }, ends),
    auditOp(by, at, { action: "message.drop", target: message.id, agentId }),
    ...(also?.(dropped) ?? []),
  ];
  const result = await submit(ports, "inbox.drop", ops, { claimFor: node, at });
  if (!result.ok) throw notWaiting((await readMessage(ports, agentId, seq, at)) ?? message);
  ports.posted(postedIn(result));
  ports.onAddedOps?.(ops);
  return dropped;
}

/** A row that cannot be read can be dropped too: then only its place is known. The store checks that it waits. */
async function readMessage(
  { store }: RunPorts,
  agentId: AgentId,
  seq: number,
  at: number,
): Promise<Message | undefined> {
  try {
    return await store.message(agentId, seq);
  } catch (error) {
    if (!(error instanceof CorruptDataError)) throw error;
    const body = { kind: "system", text: "" } as const;
    return { id: messageId(agentId, seq), agentId, seq, state: "waiting", body, acceptedAt: at };
  }
}

const notWaiting = ({ seq, state, reason }: Message): ConflictError =>
  new ConflictError(`Message ${seq} is ${state}${reason === undefined ? "" : `: ${reason}`}.`, {
    hint: state === "taken" ? "A run works on it. You can stop the run." : "Nothing was changed.",
  });

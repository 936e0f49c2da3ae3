/**
 * A person drops a message that waits. One commit settles it, writes the row of the audit log, and tells whoever waits for its run:
 * the requester of a child, the slot of a schedule. Whoever sent it reads in its result who dropped it (L1).
 */
import { ConflictError, InvalidInputError, NotFoundError } from "../../core/errors.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Message, MessageKind } from "../../core/message/message.ts";
import type { Op } from "../../core/store/change.ts";
import { postedIn, submit } from "../commit/submit.ts";
import { type Actor, auditOp } from "../people/audit-entry.ts";
import { onBehalf } from "../people/on-behalf.ts";
import { runBehalf } from "../people/run-behalf.ts";
import { belongingOf } from "../runtime/belonging.ts";
import type { RunPorts } from "../runtime/run-ports.ts";

/** The others are commands to the engine, reports that a requester is owed, and answers that a run waits for. */
const MAY_BE_DROPPED: readonly MessageKind[] = ["user", "system", "trigger"];

/** Makes ops of the message as it becomes, which are committed with its end. */
export type AlsoDropped = (message: Message) => readonly Op[];

export interface DropRequest {
  readonly agentId: AgentId;
  readonly seq: number;
  readonly by: Actor;
  readonly also?: AlsoDropped;
}

/** Durable when it resolves. Rejects with `ConflictError` if the message does not wait, also if a run takes it meanwhile. */
export async function dropMessage(ports: RunPorts, node: number, request: DropRequest): Promise<Message> {
  const { agentId, seq, by, also } = request;
  const [record, message] = await Promise.all([ports.store.agent(agentId), ports.store.message(agentId, seq)]);
  if (!record || !message) throw new NotFoundError(`This agent has no message ${seq}.`);
  if (!MAY_BE_DROPPED.includes(message.body.kind)) {
    throw new InvalidInputError(`A message of the kind ${message.body.kind} cannot be dropped.`, {
      hint: `You can drop messages of people, agents and schedules.`,
    });
  }
  if (message.state !== "waiting") throw notWaiting(message);
  const at = ports.clock.now();
  const reason = `dropped by ${by.person}`;
  const dropped: Message = { ...message, state: "dropped", reason, settledAt: at };
  const behalf = runBehalf(await belongingOf(ports, { record, state: record.state }), [message]);
  const ends = (await ports.opsOnSettle?.(record, [message], reason)) ?? [];
  const ops: readonly Op[] = [
    { op: "message.drop", agentId, seq, reason },
    ...onBehalf({ agent: record, behalf }, ends),
    auditOp(by, at, { action: "message.drop", target: message.id, agentId }),
    ...(also?.(dropped) ?? []),
  ];
  const result = await submit(ports, "inbox.drop", ops, { claimFor: node, at });
  if (!result.ok) throw notWaiting((await ports.store.message(agentId, seq)) ?? message);
  ports.posted(postedIn(result));
  ports.onAddedOps?.(ops);
  return dropped;
}

const notWaiting = ({ seq, state, reason }: Message): ConflictError =>
  new ConflictError(`Message ${seq} is ${state}${reason === undefined ? "" : `: ${reason}`}.`, {
    hint: state === "taken" ? "A run works on it. You can stop the run." : "Nothing was changed.",
  });

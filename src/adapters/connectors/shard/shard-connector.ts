/**
 * The way to agents on other shards: a delivery of the sender's outbox becomes a message in the inbox of an agent in another
 * store. Its id, the run and its ordinal, makes it the same message however often it is sent, so a send that was cut off is
 * simply made again (M25).
 */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { SHARD_CHANNEL } from "../../../core/agent/shard-address.ts";
import { whereItSpeaks } from "../../../core/agent/speaking-target.ts";
import { errorText, InvalidInputError, NotFoundError, RookeryError } from "../../../core/errors.ts";
import { isAgentId, type SessionKey } from "../../../core/ids.ts";
import { messageBodySchema } from "../../../core/message/message.ts";
import type { Connector, OutgoingDelivery, SendResult } from "../../../core/ports/connector.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { Store } from "../../../core/store/store.ts";
import { accept } from "../../../engine/inbox/accept.ts";

export type OtherStore = Pick<Store, "commit" | "outcome" | "agent" | "agentByKey">;

export interface ShardOptions {
  /** This shard's own name: ids of runs are unique within one. */
  readonly name: string;
  /** Opens the store of another shard when it is first needed; undefined where there is no such shard. */
  readonly open: (shard: string) => Promise<OtherStore | undefined>;
  readonly close?: () => Promise<void>;
}

/** A sender that was away for longer than this begins anew: deliveries are given up long before. */
const KNOWN_AGAIN_MS = 30 * 24 * 3600_000;

export function shardConnector(ports: Pick<Ports, "ids" | "clock">, options: ShardOptions): Connector {
  async function send({ id, target, payload }: OutgoingDelivery): Promise<SendResult> {
    try {
      const store = await options.open(target.accountId ?? "");
      if (!store) return { status: "refused", reason: `There is no shard ${target.accountId}.` };
      const agent = await agentNamed(store, target.to ?? "");
      if (!agent || agent.stopped?.removed) return { status: "refused", reason: `Agent not found: ${target.to}` };
      const body = readBody(payload.text);
      const delivery = body.kind === "system" && !body.silent ? whereItSpeaks(agent) : undefined;
      const accepted = await accept(
        { ...ports, store: store as Store },
        {
          to: { agentId: agent.id },
          message: { body, acceptedAt: ports.clock.now(), ...(delivery ? { delivery } : {}) },
          key: `shard:${options.name}:${id}`,
          replayHorizonMs: KNOWN_AGAIN_MS,
        },
      );
      if (accepted.status === "stale") return { status: "refused", reason: "The message is too old." };
      return { status: "sent", receipt: `${agent.id}:${accepted.seq}` };
    } catch (error) {
      return failed(error);
    }
  }

  return {
    name: SHARD_CHANNEL,
    capabilities: { sendText: true },
    sendingClass: "idempotent",
    start: async () => {},
    stop: async () => options.close?.(),
    health: () => ({ ok: true, detail: `shard ${options.name}` }),
    send,
  };
}

const agentNamed = (store: OtherStore, name: string): Promise<AgentRecord | undefined> =>
  isAgentId(name) ? store.agent(name) : store.agentByKey(name as SessionKey);

function readBody(text: string | undefined) {
  const body = messageBodySchema.safeParse(jsonOf(text ?? ""));
  if (body.success && body.data.kind === "system") return body.data;
  throw new InvalidInputError("That is no message for an agent of another shard.");
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whatever passes is tried again: it is known at the other end if it had arrived. */
function failed(error: unknown): SendResult {
  const passes = !(error instanceof RookeryError) || error.retryable;
  if (error instanceof NotFoundError || error instanceof InvalidInputError || error instanceof z.ZodError || !passes) {
    return { status: "refused", reason: errorText(error) };
  }
  return { status: "retry", reason: errorText(error) };
}

/**
 * Sends messages to agents on other shards: a delivery in the sender's outbox becomes a message in the inbox of an agent in
 * another store. The delivery id, made of the run and an ordinal, is the dedupe key, so a send that was cut off is safely
 * repeated (M25).
 */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { SHARD_CHANNEL } from "../../../core/agent/shard-address.ts";
import { whereItSpeaks } from "../../../core/agent/speaking-target.ts";
import { errorText, InvalidInputError, NotFoundError, RookeryError } from "../../../core/errors.ts";
import { isAgentId, type SessionKey } from "../../../core/ids.ts";
import { messageBodySchema } from "../../../core/message/message.ts";
import { behalfSchema } from "../../../core/people/behalf.ts";
import { accountOf } from "../../../core/people/person.ts";
import type { Connector, OutgoingDelivery, SendResult } from "../../../core/ports/connector.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { Store } from "../../../core/store/store.ts";
import { accept } from "../../../engine/inbox/accept.ts";

type ShardStore = Pick<Store, "commit" | "outcome" | "agent" | "agentByKey" | "close">;

interface ShardOptions {
  /** The name of this shard. Run ids are unique within a shard only. */
  readonly name: string;
  /** The names of the other shards. */
  readonly others: readonly string[];
  /** Opens the store of another shard. Called with the first delivery to it, and again after a failure. */
  readonly open: (shard: string) => Promise<ShardStore>;
}

/** How long the other shard remembers a delivery. The outbox gives deliveries up long before. */
const REPLAY_HORIZON_MS = 30 * 24 * 3600_000;

export function shardConnector(ports: Pick<Ports, "ids" | "clock">, options: ShardOptions): Connector {
  const stores = new Map<string, Promise<ShardStore>>();

  function storeOf(shard: string): Promise<ShardStore> | undefined {
    if (!options.others.includes(shard)) return undefined;
    const known = stores.get(shard);
    if (known) return known;
    const opening = options.open(shard);
    stores.set(shard, opening);
    opening.catch(() => stores.delete(shard));
    return opening;
  }

  async function send({ id, target, payload }: OutgoingDelivery): Promise<SendResult> {
    try {
      const store = await storeOf(target.accountId ?? "");
      if (!store) return { status: "refused", reason: `There is no shard ${target.accountId}.` };
      const agent = await agentNamed(store, target.to ?? "");
      if (!agent || agent.stopped?.removed) return { status: "refused", reason: `Agent not found: ${target.to}` };
      const { body, behalf } = readMessage(payload.text);
      const delivery = body.kind === "system" && !body.silent ? whereItSpeaks(agent) : undefined;
      const accepted = await accept(
        { ...ports, store: store as Store },
        {
          to: { agentId: agent.id },
          message: { body, behalf, acceptedAt: ports.clock.now(), delivery },
          key: `shard:${options.name}:${id}`,
          replayHorizonMs: REPLAY_HORIZON_MS,
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
    async stop() {
      const opened = await Promise.allSettled(stores.values());
      await Promise.all(opened.map((store) => (store.status === "fulfilled" ? store.value.close() : undefined)));
    },
    health: () => ({ ok: true, detail: `shard ${options.name}` }),
    send,
  };
}

const agentNamed = (store: ShardStore, name: string): Promise<AgentRecord | undefined> =>
  isAgentId(name) ? store.agent(name) : store.agentByKey(name as SessionKey);

/** A sender of an earlier version names no one: then the message acts for its origin, which has no rights here. */
function readMessage(text: string | undefined) {
  const json = jsonOf(text ?? "");
  const body = messageBodySchema.safeParse(json);
  const behalf = behalfSchema.safeParse((json as { behalf?: unknown } | undefined)?.behalf);
  if (body.success && body.data.kind === "system") {
    const from = { person: accountOf(SHARD_CHANNEL, body.data.origin ?? "unknown") };
    return { body: body.data, behalf: behalf.success ? behalf.data : from };
  }
  throw new InvalidInputError("The delivery is not a message for an agent of another shard.");
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A temporary failure is retried: the other shard recognises a message that already arrived. */
function failed(error: unknown): SendResult {
  const temporary = !(error instanceof RookeryError) || error.retryable;
  if (
    error instanceof NotFoundError ||
    error instanceof InvalidInputError ||
    error instanceof z.ZodError ||
    !temporary
  ) {
    return { status: "refused", reason: errorText(error) };
  }
  return { status: "retry", reason: errorText(error) };
}

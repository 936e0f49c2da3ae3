/**
 * Where messages enter a node: whom one is for is looked up, or prepared to be made, and it is accepted. Who works on it here
 * is woken by the one who is told of it.
 */
import { z } from "zod";
import { DEFAULT_PROFILE } from "../../core/agent/agent.ts";
import { type AgentDescriptor, type AgentFetchStrategy, agentDescriptorSchema } from "../../core/agent/descriptor.ts";
import { sessionKeyOf } from "../../core/agent/session-key.ts";
import type { DeliveryContext } from "../../core/delivery/delivery.ts";
import { InvalidInputError, NotFoundError } from "../../core/errors.ts";
import type { AgentId, SessionKey } from "../../core/ids.ts";
import type { MessageBody, NewMessage, Source } from "../../core/message/message.ts";
import { DEFAULT_REPLAY_HORIZON_MS } from "../../core/ports/connector.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Op, Owner, Recipient } from "../../core/store/change.ts";
import type { Emit } from "../engine-event.ts";
import { type AcceptResult, accept, recipientOf } from "../inbox/accept.ts";
import type { AgentSystemOptions } from "./agent-system-options.ts";
import { seedFor } from "./sessions/thread-fork.ts";

/** Whom a message is for: an agent by id, by what it is (made if there is none), or by how it is found. */
export type Address =
  | { agentId: AgentId }
  | { descriptor: AgentDescriptor; profile?: string; sessionKey?: SessionKey }
  | { strategy: AgentFetchStrategy };

export interface PostRequest {
  readonly to: Address;
  readonly body: MessageBody;
  readonly delivery?: DeliveryContext;
  readonly source?: Source;
  /** Makes a repeated posting the same message. */
  readonly key?: string;
  readonly replayHorizonMs?: number;
  readonly also?: readonly Op[];
}

/** What a question of a run commits beside the message. */
export interface Asking {
  begin(to: Recipient): readonly Op[];
  readonly owner: Owner | undefined;
}

export interface MessageIngressHost {
  readonly emit: Emit;
  /** The node that takes agents without an owner; undefined while it does not work. */
  claimFor(): number | undefined;
}

type MessageIngressOptions = Pick<AgentSystemOptions, "systemTags" | "inheritsParent">;
type Described = Extract<Address, { descriptor: unknown }>;

const KNOWN_KEYS = 20_000;

export class MessageIngress {
  readonly #ports: Ports;
  readonly #options: MessageIngressOptions;
  readonly #host: MessageIngressHost;
  /** Keys of agents that are there: seldom is one removed, so what was seen once need not be looked up again. */
  readonly #knownKeys = new Set<SessionKey>();

  constructor(ports: Ports, options: MessageIngressOptions, host: MessageIngressHost) {
    this.#ports = ports;
    this.#options = options;
    this.#host = host;
  }

  /** Durable when it resolves. */
  async post(posting: PostRequest, asking?: Asking): Promise<AcceptResult> {
    const { body, source, delivery } = posting;
    const message: NewMessage = { body, source, delivery, acceptedAt: this.#ports.clock.now() };
    const to = await this.#recipient(posting.to);
    const result = await this.#accept(posting, message, to, asking).catch((error) => {
      // The agent of a key that was known may have been removed: then it is made anew.
      if (!(error instanceof NotFoundError) || !("sessionKey" in to) || !this.#knownKeys.delete(to.sessionKey))
        throw error;
      return this.#recipient(posting.to).then((again) => this.#accept(posting, message, again, asking));
    });
    if (result.status !== "stale") this.#host.emit({ type: "posted", posted: result });
    return result;
  }

  /** The agent of this key is no longer there. */
  forget(key: SessionKey): void {
    this.#knownKeys.delete(key);
  }

  #accept(posting: PostRequest, message: NewMessage, to: Recipient, asking?: Asking): Promise<AcceptResult> {
    return accept(this.#ports, {
      to,
      message,
      replayHorizonMs: posting.replayHorizonMs ?? DEFAULT_REPLAY_HORIZON_MS,
      claimFor: this.#host.claimFor(),
      key: posting.key,
      also: asking ? [...(posting.also ?? []), ...asking.begin(to)] : posting.also,
      owner: asking?.owner,
    }).catch((error) => {
      // It may have been applied, and the agent claimed for us, without our learning of it.
      this.#host.emit({ type: "claim-unknown" });
      throw error;
    });
  }

  async #recipient(to: Address): Promise<Recipient> {
    if ("agentId" in to) return to;
    if ("descriptor" in to) return this.#recipientOf(to);
    const agent = await this.#ports.store.agentFor(to.strategy);
    if (!agent) {
      throw new NotFoundError("No recent foreground agent found.", { hint: "Somebody must write to an agent first." });
    }
    return { agentId: agent.id };
  }

  /** What it takes to make an agent is prepared only where there may be none; who comes first is decided by the commit. */
  async #recipientOf(to: Described): Promise<Recipient> {
    const { store } = this.#ports;
    const { descriptor, profile = DEFAULT_PROFILE, sessionKey = sessionKeyOf(descriptor, profile) } = to;
    if (this.#knownKeys.has(sessionKey)) return { sessionKey };
    const valid = agentDescriptorSchema.safeParse(descriptor);
    if (!valid.success) throw new InvalidInputError(`That cannot be an agent: ${z.prettifyError(valid.error)}`);
    if (descriptor.type === "system" && this.#options.systemTags?.includes(descriptor.tag) === false) {
      throw new NotFoundError(`Unknown system agent tag: ${descriptor.tag}`);
    }
    if (await store.agentByKey(sessionKey)) {
      if (this.#knownKeys.size >= KNOWN_KEYS) this.#knownKeys.clear();
      this.#knownKeys.add(sessionKey);
      return { sessionKey };
    }
    return recipientOf(await seedFor(this.#ports, { descriptor, profile, sessionKey }, this.#options.inheritsParent));
  }
}

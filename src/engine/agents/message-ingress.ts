/**
 * Where messages enter a node. Finds the recipient, or prepares a new agent, and accepts the message; then emits `posted`,
 * which wakes the agent if this node holds it.
 */
import { z } from "zod";
import type { Settings } from "../../config/settings.ts";
import { type AgentRecord, DEFAULT_PROFILE } from "../../core/agent/agent.ts";
import { type AgentDescriptor, type AgentFetchStrategy, agentDescriptorSchema } from "../../core/agent/descriptor.ts";
import { sessionKeyOf } from "../../core/agent/session-key.ts";
import type { AgentState } from "../../core/agent/state.ts";
import { defined } from "../../core/defined.ts";
import type { DeliveryContext } from "../../core/delivery/delivery.ts";
import { InvalidInputError, NotFoundError } from "../../core/errors.ts";
import { isStored } from "../../core/file-reference.ts";
import type { AgentId, SessionKey } from "../../core/ids.ts";
import { LONG_TEXT_NAME, longTextShown } from "../../core/message/long-text.ts";
import type { MessageBody, NewMessage, Source } from "../../core/message/message.ts";
import { referenceTo } from "../../core/message/stored-file.ts";
import { type Behalf, isUntrusted, joined } from "../../core/people/behalf.ts";
import { OWNER } from "../../core/people/person.ts";
import { DEFAULT_REPLAY_HORIZON_MS } from "../../core/ports/connector.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Op, Owner, Recipient } from "../../core/store/change.ts";
import type { RequestEntry } from "../../core/store/request.ts";
import { assertMessageFits, messageSize } from "../../core/text-limits.ts";
import type { Emit } from "../engine-event.ts";
import { type AcceptResult, accept, recipientOf } from "../inbox/accept.ts";
import { maxWaiting } from "../inbox/queue-settings.ts";
import { inherited } from "../people/on-behalf.ts";
import type { People } from "../runtime/people.ts";
import type { AgentSystemOptions } from "./agent-system-options.ts";
import { seedFor } from "./sessions/thread-fork.ts";
import { systemAgentsOf } from "./system-agents.ts";

/** The recipient: an agent by id, by its descriptor (created if it does not exist), or by a strategy. */
export type Address =
  | { agentId: AgentId }
  | { descriptor: AgentDescriptor; profile?: string; sessionKey?: SessionKey }
  | { strategy: AgentFetchStrategy };

export interface PostRequest {
  readonly to: Address;
  readonly body: MessageBody;
  readonly delivery?: DeliveryContext;
  readonly source?: Source;
  /** A second request with the same key is the same message. */
  readonly key?: string;
  readonly replayHorizonMs?: number;
  /** The HTTP request that posts it, which replaces `key` (M18). */
  readonly request?: RequestEntry;
  /** Who wrote it, by the channel's id: the directory says which person that is. */
  readonly sender?: Sender;
  /** The conversation's names on the channel, kept in the state of a new agent. */
  readonly about?: Pick<AgentState, "subject" | "groupChannel" | "space">;
  /** Who it is for, if that is known otherwise. Without both it is for the person its agent belongs to. */
  readonly behalf?: Behalf;
  /** `file`: a text that is too long becomes a file. Default: the message is refused. */
  readonly longText?: "file";
  /** The settings that its sender took when it arrived. Default: those in force. */
  readonly settings?: Settings;
  readonly first?: readonly Op[];
  readonly also?: readonly Op[];
}

interface Sender {
  readonly connector: string;
  readonly userId: string;
  /** Others whose words are in the message, by the channel's ids (M30). */
  readonly others?: readonly string[];
  /** It contains words of people who are not known (M32). */
  readonly untrusted?: true;
}

/** The ops that a run which waits for the answer commits with its message. */
export interface Asking {
  begin(to: Recipient): readonly Op[];
  readonly owner: Owner | undefined;
  /** The run's. Its messages inherit it. */
  readonly behalf?: Behalf;
}

interface MessageIngressHost {
  readonly emit: Emit;
  /** The node that takes agents without an owner; undefined while it does not work. */
  claimFor(): number | undefined;
  readonly people: Pick<People, "foregroundOf" | "directory" | "personOfNew">;
}

type MessageIngressOptions = Pick<AgentSystemOptions, "settings" | "files">;
type Described = Extract<Address, { descriptor: unknown }>;

const KNOWN_KEYS = 20_000;
/** Characters of an address with its descriptor: the prompt of a permanent agent is part of one. */
const MAX_DESCRIPTOR = 100_000;

const nothing = (): void => {};

/** The recipient within which messages keep their order. */
function orderOf(to: Address): string {
  if ("agentId" in to) return to.agentId;
  return "descriptor" in to ? keyOf(to) : to.strategy;
}

/** A descriptor may come from outside: without a key of its own it is checked before one is made of it. */
function keyOf(to: Described): SessionKey {
  const { descriptor, profile = DEFAULT_PROFILE, sessionKey } = to;
  if (sessionKey !== undefined) return sessionKey;
  assertMessageFits(to, MAX_DESCRIPTOR);
  assertDescriptor(descriptor);
  return sessionKeyOf(descriptor, profile);
}

function assertDescriptor(descriptor: AgentDescriptor): void {
  const valid = agentDescriptorSchema.safeParse(descriptor);
  if (!valid.success) throw new InvalidInputError(`Invalid agent descriptor: ${z.prettifyError(valid.error)}`);
}

export class MessageIngress {
  readonly #ports: Ports;
  readonly #options: MessageIngressOptions;
  readonly #host: MessageIngressHost;
  /** Keys of agents that exist. Agents are seldom removed, so a key seen once is not looked up again. */
  readonly #knownKeys = new Set<SessionKey>();
  /** The latest message that is being prepared for each recipient. */
  readonly #preparing = new Map<string, Promise<void>>();

  constructor(ports: Ports, options: MessageIngressOptions, host: MessageIngressHost) {
    this.#ports = ports;
    this.#options = options;
    this.#host = host;
  }

  /** Durable when it resolves. */
  async post(request: PostRequest, asking?: Asking): Promise<AcceptResult> {
    const { source, delivery, settings = this.#options.settings.current } = request;
    const { behalf, to, body } = await this.#inOrder(request.to, async () => {
      const whose = await this.#behalfOf(request, asking);
      const to = await this.#recipient(request, whose, settings);
      return { behalf: whose, to, body: await this.#fitting(request, whose, settings) };
    });
    const message: NewMessage = { body, source, delivery, acceptedAt: this.#ports.clock.now(), behalf };
    const result = await this.#accept(request, message, to, settings, asking).catch((error) => {
      // The agent of a known key may have been removed: then it is created again.
      if (!(error instanceof NotFoundError) || !("sessionKey" in to) || !this.#knownKeys.delete(to.sessionKey))
        throw error;
      return this.#recipient(request, behalf, settings).then((again) =>
        this.#accept(request, message, again, settings, asking),
      );
    });
    if (result.status === "stale") return result;
    this.#host.emit({ type: "posted", posted: result });
    if (withdrawal(body, to).length > 0) this.#host.emit({ type: "withdrawn" });
    if (delivery && source?.connector === delivery.channel) this.#host.emit({ type: "reached", target: delivery });
    if (delivery && body.kind === "user") this.#host.emit({ type: "written", chat: delivery });
    return result;
  }

  /** A person's text that is too long becomes a file of its message (M34). Only a file of their own words has no mark. */
  async #fitting(request: PostRequest, behalf: Behalf | undefined, { limits }: Settings): Promise<MessageBody> {
    const { longText } = request;
    const body = withMarkedFiles(request.body);
    const { files } = this.#options;
    if (longText !== "file" || body.kind !== "user" || !files || !behalf) return body;
    const size = messageSize(body);
    const { messageCharacters: max } = limits;
    // If the rest of the message is too long, it is refused.
    if (size <= max || size - body.text.length > max / 2) return body;
    const data = new TextEncoder().encode(body.text);
    const own = { person: behalf.person };
    const from = isUntrusted(behalf) ? "elsewhere" : "behalf";
    const whole = referenceTo(await files.put({ data, name: LONG_TEXT_NAME, behalf: own, from }));
    return { ...body, text: longTextShown(body.text), files: [...(body.files ?? []), whole] };
  }

  /** `most-recent-foreground` without a run is the owner's: no stranger's message redirects it. */
  async agentFor(strategy: AgentFetchStrategy): Promise<AgentRecord | undefined> {
    if (strategy === "most-recent-foreground") return this.#host.people.foregroundOf(OWNER);
    return this.#ports.store.agentFor(strategy);
  }

  /** The agent of this key no longer exists. */
  forget(key: SessionKey): void {
    this.#knownKeys.delete(key);
  }

  #accept(
    request: PostRequest,
    message: NewMessage,
    to: Recipient,
    settings: Settings,
    asking?: Asking,
  ): Promise<AcceptResult> {
    return accept(this.#ports, {
      to,
      message,
      replayHorizonMs: request.replayHorizonMs ?? DEFAULT_REPLAY_HORIZON_MS,
      claimFor: this.#host.claimFor(),
      key: request.key,
      request: request.request,
      first: request.first,
      maxWaiting: maxWaiting(settings, message),
      maxCharacters: settings.limits.messageCharacters,
      also: [
        ...withdrawal(message.body, to),
        ...holdsOf(message, to),
        ...(request.also ?? []),
        ...(asking?.begin(to) ?? []),
      ],
      owner: asking?.owner,
    }).catch((error) => {
      // The commit may have been applied and may have claimed the agent for this node.
      this.#host.emit({ type: "claim-unknown" });
      throw error;
    });
  }

  /** Messages for one recipient are prepared one after the other, so that none overtakes an earlier one whose read takes longer (L2). */
  async #inOrder<Result>(to: Address, prepare: () => Promise<Result>): Promise<Result> {
    const key = orderOf(to);
    const before = this.#preparing.get(key);
    const prepared = before ? before.then(prepare) : prepare();
    const done = prepared.then(nothing, nothing);
    this.#preparing.set(key, done);
    try {
      return await prepared;
    } finally {
      if (this.#preparing.get(key) === done) this.#preparing.delete(key);
    }
  }

  /** The people of a message, fixed when it is accepted (M30). */
  async #behalfOf({ behalf, sender }: PostRequest, asking: Asking | undefined): Promise<Behalf | undefined> {
    if (asking?.behalf) return inherited(asking.behalf, behalf);
    if (!sender) return behalf;
    const { connector, userId, others = [], untrusted } = sender;
    const now = await this.#host.people.directory.recent();
    const own = behalf ?? { person: now.sender(connector, userId) };
    if (others.length === 0 && !untrusted) return own;
    const { person } = own;
    return joined(person, [own, { person, untrusted }, ...others.map((id) => ({ person: now.sender(connector, id) }))]);
  }

  async #recipient(
    { to, about }: Pick<PostRequest, "to" | "about">,
    behalf: Behalf | undefined,
    settings: Settings,
  ): Promise<Recipient> {
    if ("agentId" in to) return to;
    if ("descriptor" in to) return this.#recipientOf(to, behalf, about, settings);
    const agent = await this.agentFor(to.strategy);
    if (!agent) {
      throw new NotFoundError("No recent foreground agent found.", { hint: "A person must write to an agent first." });
    }
    return { agentId: agent.id };
  }

  /** Prepares a new agent only if the key is unknown. If two messages race, the commit decides which one creates it. */
  async #recipientOf(
    to: Described,
    behalf: Behalf | undefined,
    about: PostRequest["about"],
    settings: Settings,
  ): Promise<Recipient> {
    const { store } = this.#ports;
    assertMessageFits(to, MAX_DESCRIPTOR);
    const { descriptor, profile = DEFAULT_PROFILE } = to;
    const sessionKey = keyOf(to);
    if (this.#knownKeys.has(sessionKey)) return { sessionKey };
    assertDescriptor(descriptor);
    if (descriptor.type === "system" && !systemAgentsOf(settings).has(descriptor.tag)) {
      throw new NotFoundError(`Unknown system agent tag: ${descriptor.tag}`);
    }
    if (await store.agentByKey(sessionKey)) {
      if (this.#knownKeys.size >= KNOWN_KEYS) this.#knownKeys.clear();
      this.#knownKeys.add(sessionKey);
      return { sessionKey };
    }
    const made = { descriptor, profile, sessionKey };
    const person = await this.#host.people.personOfNew(made, behalf);
    const seed = await seedFor(this.#ports, { ...made, person }, settings);
    return recipientOf(about ? { ...seed, state: { ...seed.state, ...defined(about) } } : seed);
  }
}

/**
 * The agent refers to the files of its message from the commit that accepts it: no sweep removes them. They are its person's. A
 * repeated message may name others, which it does not refer to.
 */
function holdsOf({ body, behalf }: NewMessage, by: Recipient): readonly Op[] {
  const stored = body.kind === "user" ? (body.files ?? []).filter(isStored) : [];
  const inherited = "create" in by ? (by.create?.holds ?? []) : [];
  const holds: Op[] = [];
  const own = { op: "file.hold", by, ifPosted: true } as const;
  if (stored.length > 0) holds.push({ ...own, files: stored.map(({ id }) => id), person: behalf?.person });
  if (inherited.length > 0) holds.push({ ...own, files: inherited, ifKept: true });
  return holds;
}

/** Whoever sends a file did not type what is in it, nor its name (M32). */
const withMarkedFiles = (body: MessageBody): MessageBody =>
  body.kind === "user" && body.files
    ? { ...body, files: body.files.map((file) => ({ ...file, untrusted: true as const })) }
    : body;

/** A person who stops or resets an agent takes its open questions back, in the same commit (M31). */
function withdrawal(body: MessageBody, of: Recipient): readonly Op[] {
  const own = { op: "approval.withdraw", of, ifPosted: true } as const;
  if (body.kind === "stop") return [{ ...own, reason: "the run was stopped" }];
  if (body.kind !== "reset" || body.by !== "person") return [];
  return [{ ...own, reason: "the session was reset" }];
}

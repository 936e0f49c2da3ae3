/**
 * The smallest program that keeps the laws: join, accept, claim, take, think, act, reply, settle, send. It tests the
 * world without the engine, and each of its quirks breaks a law in a way that the world must find.
 */

import { freshState } from "../../../src/core/agent/fresh-state.ts";
import { StoreFullError } from "../../../src/core/errors.ts";
import { type AgentId, entryId, messageId, type SessionId, type SessionKey } from "../../../src/core/ids.ts";
import type { IncomingMessage } from "../../../src/core/message/incoming-message.ts";
import { sleep } from "../../../src/core/ports/clock.ts";
import type { Accepted } from "../../../src/core/ports/connector.ts";
import type { Ports } from "../../../src/core/ports/ports.ts";
import type { Change, CommitResult, Op, OpResult, Owner } from "../../../src/core/store/change.ts";
import { Outbox } from "./minimal-outbox.ts";
import { work } from "./minimal-run.ts";
import type { StartSubject, SubjectNode, SubjectUnderTest } from "./subject.ts";

/** Deliberate faults. All off: lawful. */
export interface Quirks {
  /** The message is acknowledged before it is durable. */
  readonly acknowledgeFirst?: boolean;
  /** Messages are worked on only by the process that accepted them. */
  readonly memoryQueue?: boolean;
  /** A refused release is treated as a release. */
  readonly ignoreRefusedRelease?: boolean;
  /** After an unanswered commit the step is tried again under a new id. */
  readonly retryBlindly?: boolean;
  /** Messages are settled in one commit, the reply is added in the next. */
  readonly settleFirst?: boolean;
  /** The newest message is taken first. */
  readonly newestFirst?: boolean;
  /** Calls found open after a crash are all executed again. */
  readonly repeatTools?: boolean;
  /** Sent without being committed as `sending` first. */
  readonly noSendingMark?: boolean;
  /** Sends and runs tools without checking its lease. */
  readonly ignoreLease?: boolean;
  /** A refused send is listed as sent. */
  readonly hideRefusal?: boolean;
  /** A delivery found `sending` is ignored. */
  readonly forgetSending?: boolean;
  /** Deliveries to one target are sent side by side. */
  readonly sendAllAtOnce?: boolean;
}

/** One membership: a number among the nodes and a lease. A node that lost its lease joins again under another number. */
export interface Membership {
  readonly node: number;
  renewedAt: number;
  left: boolean;
  readonly ended: AbortController;
}

export interface Actor {
  readonly ports: Ports;
  readonly self: SubjectNode;
  readonly quirks: Quirks;
  /** Whether this node may still act. Checked before every call to the outside (M23). */
  holds(membership: Membership): boolean;
  /** Commits and looks up the outcome, also after an error (M2). Retries until it is known. */
  commit(site: string, ops: readonly Op[], owner?: Owner): Promise<CommitResult>;
  /** Messages that this process accepted; used only by a quirk. */
  readonly remembered: Set<string>;
  nudgeOutbox(): void;
  draining(): boolean;
}

const POLL_MS = 700;

export const minimalActor = (quirks: Quirks = {}): SubjectUnderTest => ({
  name: "minimal-actor",
  features: ["tools"],
  start: startWith(quirks),
});

const startWith =
  (quirks: Quirks): StartSubject =>
  async (ports, self) => {
    const node = new MinimalNode(ports, self, quirks);
    await node.start();
    return node;
  };

/** One life of a node. */
class MinimalNode implements Actor {
  readonly ports: Ports;
  readonly self: SubjectNode;
  readonly quirks: Quirks;
  readonly remembered = new Set<string>();
  readonly #outbox = new Outbox(this);
  readonly #working = new Map<AgentId, { readonly epoch: number; next: number | undefined }>();
  #membership: Membership | undefined;
  #draining = false;

  constructor(ports: Ports, self: SubjectNode, quirks: Quirks) {
    this.ports = ports;
    this.self = self;
    this.quirks = quirks;
  }

  readonly holds = (one: Membership): boolean =>
    !one.left && (this.quirks.ignoreLease || this.ports.clock.monotonic() < one.renewedAt + this.self.leaseMs);

  readonly commit = (site: string, ops: readonly Op[], owner?: Owner): Promise<CommitResult> => {
    const { ids, clock } = this.ports;
    return commitDurably(this.ports, this.quirks, { id: ids.change(), site, at: clock.now(), ops, owner });
  };

  nudgeOutbox(): void {
    if (this.#membership) this.#outbox.pump(this.#membership);
  }

  draining(): boolean {
    return this.#draining;
  }

  async start(): Promise<void> {
    const { store, connectors } = this.ports;
    await this.#join();
    store.onHint((agentId) => void this.#claimHinted(agentId));
    const accept = (message: IncomingMessage): Promise<Accepted> => this.#accept(message);
    const command = async (): Promise<Accepted> => {
      throw new Error("The minimal actor supports no commands.");
    };
    for (const connector of connectors.values()) await connector.start({ accept, command });
    void this.#poll();
  }

  async drain(): Promise<void> {
    this.#draining = true;
    for (const connector of this.ports.connectors.values()) await connector.stop();
    while (this.#working.size > 0 || this.#outbox.sending > 0) await sleep(this.ports.clock, 50);
    const mine = this.#membership;
    if (!mine) return;
    await this.commit("node.leave", [{ op: "node.leave", node: mine.node }]);
    mine.left = true;
  }

  async #join(): Promise<void> {
    const { clock, store } = this.ports;
    const { name, leaseMs } = this.self;
    const renewedAt = clock.monotonic();
    const op: Op = { op: "node.join", name, leaseUntil: clock.now() + leaseMs };
    const joined = said(await this.commit("node.join", [op]), "node.join");
    if (!joined) throw new Error("The store does not let this node join.");
    const { node } = joined;
    // Earlier lives of this node are over.
    const older = (await patiently(this, () => store.nodes())).filter(
      (other) => other.name === name && !other.left && other.node < node,
    );
    const leave = older.map((other): Op => ({ op: "node.leave", node: other.node }));
    if (leave.length > 0) await this.commit("node.retire", leave);
    this.#membership = { node, renewedAt, left: false, ended: new AbortController() };
    void this.#renew(this.#membership);
  }

  async #renew(mine: Membership): Promise<void> {
    const { clock, store, ids } = this.ports;
    const { leaseMs } = this.self;
    while (!mine.left) {
      await sleep(clock, leaseMs / 3);
      const renewedAt = clock.monotonic();
      const op: Op = { op: "node.renew", node: mine.node, leaseUntil: clock.now() + leaseMs };
      const change: Change = { id: ids.change(), site: "node.renew", at: clock.now(), ops: [op] };
      const result = await store.commit(change).catch(() => undefined);
      if (mine.left) return;
      // An answer after the lease's end comes too late: work in its name may have stopped already.
      if (!this.holds(mine) || (result && !result.ok)) break;
      if (result) mine.renewedAt = renewedAt;
    }
    if (mine.left) return;
    // The lease is lost: stop everything that acts in its name and join again under another number.
    mine.left = true;
    mine.ended.abort();
    await this.#join();
  }

  #wake(agentId: AgentId, epoch: number): void {
    const mine = this.#membership;
    if (!mine) return;
    const busy = this.#working.get(agentId);
    if (busy) {
      // Released and claimed again while the old loop is still ending.
      if (busy.epoch !== epoch) busy.next = epoch;
      return;
    }
    const entry: { readonly epoch: number; next: number | undefined } = { epoch, next: undefined };
    this.#working.set(agentId, entry);
    void work(this, mine, agentId, epoch).then(() => {
      this.#working.delete(agentId);
      if (entry.next !== undefined) this.#wake(agentId, entry.next);
    });
  }

  async #poll(): Promise<void> {
    for (;;) {
      const mine = this.#membership;
      if (mine && this.holds(mine) && !this.#draining) {
        this.#outbox.pump(mine);
        const result = await this.commit("claim.poll", [{ op: "agents.claim", node: mine.node, limit: 20 }]);
        for (const { agentId, epoch } of said(result, "agents.claim")?.claims ?? []) this.#wake(agentId, epoch);
      }
      await sleep(this.ports.clock, POLL_MS);
    }
  }

  async #claimHinted(agentId: AgentId): Promise<void> {
    const mine = this.#membership;
    if (!mine || !this.holds(mine) || this.#draining || this.#working.has(agentId)) return;
    const result = await this.commit("claim.hint", [{ op: "agent.claim", agentId, node: mine.node }]);
    const epoch = said(result, "agent.claim")?.epoch;
    if (epoch !== undefined) this.#wake(agentId, epoch);
  }

  async #accept(message: IncomingMessage): Promise<Accepted> {
    const mine = this.#membership;
    const node = mine && this.holds(mine) && !this.#draining ? mine.node : undefined;
    const change = changeAccepting(this.ports, message, node);
    const committed = commitDurably(this.ports, this.quirks, change, true);
    if (this.quirks.acknowledgeFirst) {
      committed.then(
        (result) => this.#wakeHolder(result),
        () => undefined,
      );
      return { status: "accepted", agentId: "" as AgentId, messageId: messageId("" as AgentId, 1) };
    }
    return this.#wakeHolder(await committed);
  }

  #wakeHolder(result: CommitResult): Accepted {
    const posted = said(result, "message.post");
    if (!posted) throw new Error("The message was refused.");
    const { agentId, seq, duplicate, holder } = posted;
    this.remembered.add(messageId(agentId, seq));
    if (holder && holder.node === this.#membership?.node) this.#wake(agentId, holder.epoch);
    return { status: duplicate ? "duplicate" : "accepted", agentId, messageId: messageId(agentId, seq) };
  }
}

/** The result of one op of an applied change. */
export function said<K extends OpResult["op"]>(result: CommitResult, op: K): Extract<OpResult, { op: K }> | undefined {
  if (!result.ok) return undefined;
  return result.results.find((one): one is Extract<OpResult, { op: K }> => one?.op === op);
}

/** Reads until the store answers. */
export async function patiently<T>(actor: Actor, read: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await read();
    } catch {
      await sleep(actor.ports.clock, 150);
    }
  }
}

/**
 * An error says nothing about what was applied. The id is read back, and only a change that is not there is tried again:
 * under the same id, so that a commit still on its way cannot be applied twice. `unlessFull`: a full store throws at once.
 */
async function commitDurably(ports: Ports, quirks: Quirks, first: Change, unlessFull = false): Promise<CommitResult> {
  const { store, clock, ids } = ports;
  let change = first;
  for (let wait = 40; ; wait = Math.min(wait * 2, 800)) {
    try {
      return await store.commit(change);
    } catch (error) {
      if (unlessFull && wait === 40 && error instanceof StoreFullError) throw error;
    }
    await sleep(clock, wait);
    if (quirks.retryBlindly) {
      change = { ...change, id: ids.change() };
      continue;
    }
    const known = await store.outcome(change.id).catch(() => undefined);
    if (known) return known;
  }
}

function changeAccepting({ ids, clock }: Ports, message: IncomingMessage, claimFor: number | undefined): Change {
  const { connector, userId, channelId, messageId: id, delivery, text } = message;
  const at = clock.now();
  const sessionKey = `agent:main:${connector}:dm:${userId}` as SessionKey;
  const sessionId = ids.uuid() as SessionId;
  const start = entryId(0, ids.uuid());
  return {
    id: ids.change(),
    site: "accept",
    at,
    ops: [
      {
        op: "message.post",
        to: {
          sessionKey,
          create: {
            id: ids.agent(),
            sessionKey,
            profile: "main",
            descriptor: { type: "user", connector, userId, channelId },
            state: freshState(at),
            sessionId,
            lines: [JSON.stringify({ type: "start", id: start, parentId: null, sessionId, timestamp: at })],
            leaf: start,
            createdAt: at,
          },
        },
        message: {
          body: { kind: "user", text },
          source: { connector, channelId, messageId: id },
          delivery,
          acceptedAt: at,
        },
        dedupe: { key: `${connector}/${channelId}/${id}`, keepUntil: at + 30 * 24 * 3_600_000 },
        claimFor,
      },
    ],
  };
}

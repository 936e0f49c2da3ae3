/**
 * The connection a store reserves for itself. It holds an advisory lock per node of this process, which the server drops
 * when the process ends (M23), and it sends and receives hints: which agent of another node got a message (M24). Hints are
 * collected and sent outside of any change's transaction. A broken connection is opened again; until then other nodes may
 * take this node for dead, and the epoch refuses its commits.
 */

import type pg from "pg";
import type { AgentId } from "../../../core/ids.ts";
import type { Leases, Relay } from "../../../core/ports/cluster.ts";
import type { Change, CommitResult } from "../../../core/store/change.ts";
import { backgroundInterval } from "../../system/background-timers.ts";
import type { Connections } from "./connections.ts";

/** The server's limit is 8,000 bytes. */
const MAX_PAYLOAD = 7_800;
/** The size of a relayed text, in bytes. */
const MAX_RELAYED = MAX_PAYLOAD - 64;
/** Relayed texts that may wait while the database is slow or away. */
const MAX_WAITING = 1_000;
const TEXTS_PER_QUERY = 64;
const FIRST_PAUSE_MS = 100;
const LAST_PAUSE_MS = 2_000;
const CHECK_MS = 5_000;

const LOCK_NODE = "SELECT pg_try_advisory_lock(hashtext(current_schema() || '.node'), $1::int) AS held";
const MARK_LOCKED = "UPDATE nodes SET locked = true WHERE node = $1 AND NOT locked AND gone = 0";
const NOTIFY = "SELECT pg_notify(c, p) FROM unnest($1::text[], $2::text[]) AS sent (c, p)";
const LOCK_NAME = "SELECT pg_try_advisory_lock(hashtextextended($1, 17)) AS held";
const UNLOCK_NAME = "SELECT pg_advisory_unlock(hashtextextended($1, 17))";

export class ControlConnection {
  readonly #connections: Connections;
  /** The id of this process, at the start of every payload. */
  readonly #self: string;
  readonly #hintChannel: string;
  readonly #relayChannel: string;
  readonly #nodes = new Set<number>();
  readonly #locked = new Set<number>();
  readonly #leases = new Map<string, () => void>();
  readonly #hintListeners = new Set<(agentId: AgentId) => void>();
  readonly #relayListeners = new Map<(text: string, from: string) => void, (() => void) | undefined>();
  readonly #hints = new Set<string>();
  readonly #texts: [channel: string, text: string][] = [];
  #client: pg.Client | undefined;
  #check: NodeJS.Timeout | undefined;
  #connecting: Promise<void> | undefined;
  #sending = false;
  #closed = false;

  constructor(connections: Connections, self: string) {
    const { schema } = connections.options;
    this.#connections = connections;
    this.#self = self;
    this.#hintChannel = `${schema}_hint`;
    this.#relayChannel = `${schema}_relay`;
  }

  async open(): Promise<void> {
    await this.#connect();
    // A connection can end without a notice; only a query finds out.
    this.#check = backgroundInterval(() => this.#checkConnection(), CHECK_MS);
  }

  /** Connects, listens, and takes the locks of this process's nodes. */
  async #connect(): Promise<void> {
    const client = await this.#connections.own();
    client.on("notification", ({ channel, payload = "" }) => this.#receive(channel, payload));
    client.on("error", () => this.#disconnected(client));
    client.on("end", () => this.#disconnected(client));
    try {
      const channels = [this.#hintChannel, this.#relayChannel, channelOf(this.#self)];
      // Hints need no durability: the next poll finds what a lost hint would have reported.
      await client.query(`SET synchronous_commit = off; ${channels.map((name) => `LISTEN "${name}"`).join("; ")}`);
      // Closed while it connected: nobody else would end this connection.
      if (this.#closed) return await client.end();
      this.#client = client;
      this.#locked.clear();
      for (const node of this.#nodes) await this.#lock(node);
    } catch (error) {
      // Its locks must not outlive it: the next connection takes them.
      this.#client = undefined;
      await client.end().catch(() => undefined);
      throw error;
    }
    for (const gap of this.#relayListeners.values()) gap?.();
  }

  /** Takes the lock of a node as which this process has just joined. */
  async hold(node: number): Promise<void> {
    this.#nodes.add(node);
    await this.#lock(node).catch(() => undefined);
  }

  /** Notifies the nodes that own agents which these changes concern. */
  publishHints(changes: readonly Change[], results: readonly (CommitResult | Error)[]): void {
    results.forEach((result, index) => {
      if (result instanceof Error || !result.ok) return;
      for (const opResult of result.results) {
        if (opResult?.op === "message.post" && !opResult.duplicate) {
          if (opResult.holder && this.#nodes.has(opResult.holder.node)) continue;
          this.#hints.add(`${opResult.holder?.node ?? 0}:${opResult.agentId}`);
        } else if (opResult?.op === "run.abort" && opResult.marked) {
          const agentId = (opResult as { agentId?: string }).agentId;
          if (agentId) this.#hints.add(`0:${agentId}`);
        }
      }
      const { ops = [], owner } = changes[index] ?? {};
      for (const op of ops) {
        if (op.op === "agent.stop") this.#hints.add(`0:${op.agentId}`);
        if (op.op === "agent.hand" && owner) this.#hints.add(`${op.to}:${owner.agentId}`);
      }
    });
    if (this.#hints.size > 0) this.#sendSoon();
  }

  onHint(listener: (agentId: AgentId) => void): () => void {
    this.#hintListeners.add(listener);
    return () => void this.#hintListeners.delete(listener);
  }

  /** Sends text to other nodes and receives theirs. Not durable: a text is lost if the receiver does not listen. */
  readonly relay: Relay = {
    maxBytes: MAX_RELAYED,
    send: (text, to) => {
      if (this.#texts.length >= MAX_WAITING || Buffer.byteLength(text) > MAX_RELAYED) return;
      this.#texts.push([to === undefined ? this.#relayChannel : channelOf(to), text]);
      this.#sendSoon();
    },
    listen: (listener, gap) => {
      this.#relayListeners.set(listener, gap);
      return () => void this.#relayListeners.delete(listener);
    },
  };

  /** Names that at most one process holds. */
  readonly leases: Leases = {
    tryHold: async (name, lost) => {
      const client = this.#client;
      if (!client || this.#leases.has(name)) return this.#leases.has(name);
      const { rows } = await client.query(LOCK_NAME, [this.#lockName(name)]);
      if (rows[0]?.held !== true || this.#client !== client) return false;
      this.#leases.set(name, lost);
      return true;
    },
    release: async (name) => {
      if (!this.#leases.delete(name)) return;
      await this.#client?.query(UNLOCK_NAME, [this.#lockName(name)]);
    },
  };

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#check);
    await this.#sendAll();
    const client = this.#client;
    this.#client = undefined;
    await client?.query("SELECT pg_advisory_unlock_all()").catch(() => undefined);
    await client?.end().catch(() => undefined);
  }

  #lockName(name: string): string {
    return `${this.#connections.options.schema} ${name}`;
  }

  #disconnected(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    // It may only seem broken: its locks must not outlive it, and it must not hear what the next one hears.
    void client.end().catch(() => undefined);
    const lost = [...this.#leases.values()];
    this.#leases.clear();
    for (const notify of lost) notify();
    this.#reconnect();
  }

  #reconnect(): void {
    if (this.#closed || this.#connecting) return;
    this.#connecting = this.#connectUntilOpen().finally(() => {
      this.#connecting = undefined;
      if (!this.#client) this.#reconnect();
    });
  }

  async #connectUntilOpen(): Promise<void> {
    for (let pause = FIRST_PAUSE_MS; !this.#closed; pause = Math.min(pause * 2, LAST_PAUSE_MS)) {
      try {
        await this.#connect();
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }

  /**
   * Other nodes judge a node by its lock only after it is marked as locked. After a broken connection the server may not
   * have noticed yet and still hold the lock for the old one: then the next check tries again.
   */
  async #lock(node: number): Promise<void> {
    const client = this.#client;
    if (!client) return;
    const { rows } = await client.query(LOCK_NODE, [node]);
    if (rows[0]?.held !== true) return;
    if (this.#client === client) this.#locked.add(node);
    await client.query(MARK_LOCKED, [node]);
  }

  #checkConnection(): void {
    const client = this.#client;
    if (!client) return;
    const late = setTimeout(() => void client.end().catch(() => undefined), CHECK_MS);
    client.query("SELECT 1").then(
      () => {
        clearTimeout(late);
        for (const node of this.#nodes) if (!this.#locked.has(node)) void this.#lock(node).catch(() => undefined);
      },
      () => {
        clearTimeout(late);
        this.#disconnected(client);
      },
    );
  }

  #receive(channel: string, payload: string): void {
    const at = payload.indexOf(" ");
    const from = payload.slice(0, at);
    const text = payload.slice(at + 1);
    if (from === this.#self) return;
    if (channel !== this.#hintChannel) {
      for (const listener of this.#relayListeners.keys()) listener(text, from);
      return;
    }
    for (const hint of text.split(",")) {
      const [node, agentId] = hint.split(":");
      // Node 0: the agent has no owner, and any node may claim it.
      if (!agentId || (Number(node) !== 0 && !this.#nodes.has(Number(node)))) continue;
      for (const listener of this.#hintListeners) listener(agentId as AgentId);
    }
  }

  #sendSoon(): void {
    if (this.#sending) return;
    this.#sending = true;
    setImmediate(() => void this.#sendAll());
  }

  /** Hints and texts that arrive while a query runs go with the next one. */
  async #sendAll(): Promise<void> {
    while ((this.#hints.size > 0 || this.#texts.length > 0) && this.#client) {
      const payloads = this.#texts
        .splice(0, TEXTS_PER_QUERY)
        .map(([channel, text]) => [channel, `${this.#self} ${text}`] as const);
      const hints = portions(this.#hints).map((portion) => [this.#hintChannel, `${this.#self} ${portion}`] as const);
      this.#hints.clear();
      const all = [...payloads, ...hints];
      await this.#client
        .query(NOTIFY, [all.map(([channel]) => channel), all.map(([, payload]) => payload)])
        .catch(() => undefined);
    }
    this.#sending = false;
  }
}

const channelOf = (process: string): string => `relay_${process.replaceAll("-", "")}`;

/** Hints in portions that fit a notification. */
function portions(hints: ReadonlySet<string>): string[] {
  const texts: string[] = [];
  let text = "";
  for (const hint of hints) {
    if (text.length + hint.length + 1 > MAX_PAYLOAD - 64) {
      texts.push(text);
      text = "";
    }
    text += text === "" ? hint : `,${hint}`;
  }
  if (text !== "") texts.push(text);
  return texts;
}

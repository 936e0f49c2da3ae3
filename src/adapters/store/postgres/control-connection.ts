/**
 * The connection a store keeps for itself. It holds a lock for each node of this process, which is gone as soon as the
 * process is (M23), and it hears and tells hints: whom a message was posted to that another node holds (M24). Hints are
 * gathered and told outside of any change's transaction. Where the connection breaks it is made anew; until then others
 * may take this node for dead, and its commits are refused by the epoch.
 */
import type pg from "pg";
import type { AgentId } from "../../../core/ids.ts";
import type { Leases, Relay } from "../../../core/ports/cluster.ts";
import type { Change, CommitResult } from "../../../core/store/change.ts";
import type { Connections } from "./connections.ts";

export interface ControlConnection {
  /** Holds the lock of a node that this process has just become. */
  hold(node: number): Promise<void>;
  /** Notifies the nodes that own agents which these changes concern. */
  publishHints(changes: readonly Change[], results: readonly (CommitResult | Error)[]): void;
  onHint(listener: (agentId: AgentId) => void): () => void;
  /** Sends text to all other nodes, and hears theirs. Lost where nobody listens. */
  readonly relay: Relay;
  /** Names of which each is held by one process at most. */
  readonly leases: Leases;
  close(): Promise<void>;
}

/** The server's limit is 8,000 bytes. */
const MAX_PAYLOAD = 7_800;
/** What a text for other processes may weigh, in bytes. */
const MAX_RELAYED = MAX_PAYLOAD - 64;
/** So much may wait to be told while the database is away or slow. */
const MAX_WAITING = 1_000;
const FIRST_PAUSE_MS = 100;
const LAST_PAUSE_MS = 2_000;
const CHECK_MS = 5_000;

export async function openControlConnection(connections: Connections, self: string): Promise<ControlConnection> {
  const { schema } = connections.options;
  const hints = `${schema}_hint`;
  const relayed = `${schema}_relay`;
  const channelOf = (process: string): string => `relay_${process.replaceAll("-", "")}`;
  const ours = channelOf(self);
  const nodes = new Set<number>();
  const locked = new Set<number>();
  const held = new Map<string, () => void>();
  const listeners = new Set<(agentId: AgentId) => void>();
  const relayListeners = new Map<(text: string, from: string) => void, (() => void) | undefined>();
  let client: pg.Client | undefined;
  let closed = false;
  let connecting: Promise<void> | undefined;

  async function connect(): Promise<void> {
    const fresh = await connections.own();
    fresh.on("notification", ({ channel, payload = "" }) => heard(channel, payload));
    fresh.on("error", () => lost(fresh));
    fresh.on("end", () => lost(fresh));
    // A hint that is lost with the server is found by the next look.
    await fresh.query(`SET synchronous_commit = off; LISTEN "${hints}"; LISTEN "${relayed}"; LISTEN "${ours}"`);
    client = fresh;
    locked.clear();
    for (const node of nodes) await lock(node);
    for (const gap of relayListeners.values()) gap?.();
  }

  function lost(which: pg.Client): void {
    if (client !== which) return;
    client = undefined;
    const broken = [...held.values()];
    held.clear();
    for (const tell of broken) tell();
    reconnect();
  }

  function reconnect(): void {
    if (closed || connecting) return;
    connecting = (async () => {
      for (let pause = FIRST_PAUSE_MS; !closed; pause = Math.min(pause * 2, LAST_PAUSE_MS)) {
        try {
          await connect();
          return;
        } catch {
          await new Promise((resolve) => setTimeout(resolve, pause));
        }
      }
    })().finally(() => {
      connecting = undefined;
      if (!client && !closed) reconnect();
    });
  }

  /**
   * Others judge a node by its lock only once it is known to have had one. After a broken connection the server may not
   * have noticed yet and still hold the lock for the old one: then it is asked for again a little later.
   */
  async function lock(node: number): Promise<void> {
    if (!client) return;
    const asked = client;
    const { rows } = await asked.query(
      "SELECT pg_try_advisory_lock(hashtext(current_schema() || '.node'), $1::int) AS held",
      [node],
    );
    if (rows[0]?.held !== true) return;
    if (client === asked) locked.add(node);
    await asked.query("UPDATE nodes SET locked = true WHERE node = $1 AND NOT locked AND gone = 0", [node]);
  }

  function heard(channel: string, payload: string): void {
    const [from, body = ""] = split(payload);
    if (from === self) return;
    if (channel !== hints) {
      for (const listener of relayListeners.keys()) listener(body, from);
      return;
    }
    for (const hint of body.split(",")) {
      const [node, agentId = ""] = hint.split(":");
      // A hint for the holder only, or for whoever wants the agent.
      if (Number(node) !== 0 && !nodes.has(Number(node))) continue;
      for (const listener of listeners) listener(agentId as AgentId);
    }
  }

  const waiting = new Set<string>();
  const texts: [channel: string, text: string][] = [];
  let telling = false;
  async function tellAll(): Promise<void> {
    telling = true;
    // What is gathered while one notification travels goes with the next.
    while ((waiting.size > 0 || texts.length > 0) && client && !closed) {
      const payloads: [string, string][] = texts.splice(0, 64).map(([channel, text]) => [channel, `${self} ${text}`]);
      for (const portion of portions(waiting)) payloads.push([hints, `${self} ${portion}`]);
      waiting.clear();
      await client
        .query("SELECT pg_notify(c, p) FROM unnest($1::text[], $2::text[]) AS told (c, p)", [
          payloads.map(([channel]) => channel),
          payloads.map(([, payload]) => payload),
        ])
        .catch(() => undefined);
    }
    telling = false;
  }
  const soon = (): void => {
    if (telling) return;
    telling = true;
    setImmediate(() => void tellAll());
  };

  await connect();
  // A connection that is gone without a word is noticed only by using it.
  const check = setInterval(() => {
    const asked = client;
    if (!asked) return;
    const late = setTimeout(() => void asked.end().catch(() => undefined), CHECK_MS);
    asked.query("SELECT 1").then(
      () => {
        clearTimeout(late);
        for (const node of nodes) if (!locked.has(node)) void lock(node).catch(() => undefined);
      },
      () => {
        clearTimeout(late);
        lost(asked);
      },
    );
  }, CHECK_MS);
  check.unref();

  return {
    async hold(node) {
      nodes.add(node);
      await lock(node).catch(() => undefined);
    },
    publishHints(changes, results) {
      results.forEach((result, index) => {
        if (result instanceof Error || !result.ok) return;
        for (const said of result.results) {
          if (said?.op === "message.post" && !said.duplicate) {
            if (said.holder && nodes.has(said.holder.node)) continue;
            waiting.add(`${said.holder?.node ?? 0}:${said.agentId}`);
          } else if (said?.op === "run.abort" && said.marked) {
            const agentId = (said as { agentId?: string }).agentId;
            if (agentId) waiting.add(`0:${agentId}`);
          }
        }
        for (const op of changes[index]?.ops ?? []) if (op.op === "agent.stop") waiting.add(`0:${op.agentId}`);
      });
      if (waiting.size > 0) soon();
    },
    onHint(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    relay: {
      maxBytes: MAX_RELAYED,
      send(text, to) {
        if (texts.length >= MAX_WAITING || Buffer.byteLength(text) > MAX_RELAYED) return;
        texts.push([to === undefined ? relayed : channelOf(to), text]);
        soon();
      },
      listen(listener, gap) {
        relayListeners.set(listener, gap);
        return () => void relayListeners.delete(listener);
      },
    },
    leases: {
      async tryHold(name, whenLost) {
        const asked = client;
        if (!asked || held.has(name)) return held.has(name);
        const { rows } = await asked.query("SELECT pg_try_advisory_lock(hashtextextended($1, 17)) AS held", [
          `${schema} ${name}`,
        ]);
        if (rows[0]?.held !== true || client !== asked) return false;
        held.set(name, whenLost);
        return true;
      },
      async release(name) {
        if (!held.delete(name)) return;
        await client?.query("SELECT pg_advisory_unlock(hashtextextended($1, 17))", [`${schema} ${name}`]);
      },
    },
    async close() {
      if (!telling) await tellAll();
      closed = true;
      clearInterval(check);
      const last = client;
      client = undefined;
      await last?.query("SELECT pg_advisory_unlock_all()").catch(() => undefined);
      await last?.end().catch(() => undefined);
    },
  };
}

const split = (payload: string): [string, string] => {
  const at = payload.indexOf(" ");
  return [payload.slice(0, at), payload.slice(at + 1)];
};

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

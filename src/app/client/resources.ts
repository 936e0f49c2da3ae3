/** Agents, runs, the outbox and mailboxes, as lists and commands. */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentTree } from "../../core/agent/agent-tree.ts";
import type { SessionPhase } from "../../core/agent/session-phase.ts";
import type { TurnMemory } from "../../core/agent/turn-memory.ts";
import type { Delivery, Payload } from "../../core/delivery/delivery.ts";
import type { FileReference } from "../../core/file-reference.ts";
import type { List } from "../../core/list.ts";
import type { Message, UnansweredState } from "../../core/message/message.ts";
import type { RunRecord, RunResult } from "../../core/run/run.ts";
import { checkedStream } from "./checked-options.ts";
import { type EngineApi, pathOf } from "./engine-api.ts";
import type { ServerEvent, StreamOptions } from "./event-stream.ts";

/** An agent as lists show it. */
export interface AgentSummary {
  readonly id: string;
  readonly sessionKey: string;
  readonly kind: string;
  readonly name: string;
  readonly profile: string;
  readonly waiting: number;
  readonly runId: string | null;
  readonly lastHumanAt: number | null;
  readonly updatedAt: number;
  readonly createdAt: number;
  readonly descriptor: AgentRecord["descriptor"];
  readonly sessionId: AgentRecord["sessionId"];
  readonly stopped: NonNullable<AgentRecord["stopped"]> | null;
  /** The node that works on it. */
  readonly node: number | null;
}

/** One agent with its state. */
export interface AgentDetails
  extends AgentSummary,
    Pick<AgentRecord, "cursor" | "nextSeq" | "nextPos" | "leaf" | "epoch" | "state"> {
  /** Whether the session is new, in use, or so old that the next message begins another one. */
  readonly phase: SessionPhase;
}

/** A message of any agent, as the inbox of all agents shows it. */
export interface InboxMessage extends Pick<Message, "agentId" | "seq" | "state" | "acceptedAt"> {
  /** Absent if its agent is gone. */
  readonly agentName?: string;
  readonly sessionKey: string;
  readonly kind: Message["body"]["kind"];
  readonly text: string;
  /** What happens to it next, if it waits. */
  readonly will?: string;
  /** Why it ended: the error, the policy that dropped it, or who stopped it. */
  readonly reason?: string;
  readonly settledAt?: number;
  readonly runId?: string;
}

export interface Agents {
  /** In the order of their creation. Send `next` as `after` for the next page. Changes nothing. */
  list(page?: { readonly after?: string; readonly limit?: number }): Promise<List<AgentSummary, string>>;
  /** One agent, by its session key or id. Changes nothing. */
  get(name: string): Promise<AgentDetails>;
  /**
   * Messages of all agents in one state; `unanswered`: those that failed or were stopped, dropped or discarded, the latest first. Default: those
   * that wait. Send `next` as `before` for the next page. Changes nothing.
   */
  inbox(page?: {
    readonly state?: "waiting" | "taken" | "unanswered" | UnansweredState;
    readonly before?: string;
    readonly limit?: number;
  }): Promise<List<InboxMessage, string>>;
  /** What entered its last turn: the parts of its prompt, what did not fit, and what it looked up. Changes nothing. */
  memory(name: string): Promise<{ readonly turn: TurnMemory | null }>;
  /** With states, waiting messages and usage. Changes nothing. */
  tree(options?: { readonly root?: string; readonly depth?: number; readonly limit?: number }): Promise<AgentTree>;
}

export const agentsOf = (api: EngineApi): Agents => ({
  list: (page) => api.get("/api/agents", { ...page }),
  get: (name) => api.get(pathOf("api", "agents", name)),
  inbox: (page) => api.get("/api/inbox", { ...page }),
  memory: (name) => api.get(pathOf("api", "agents", name, "memory")),
  tree: (options) => api.get("/api/tree", { ...options }),
});

export type RunWait =
  | { readonly status: "ended"; readonly outcome?: RunResult["outcome"]; readonly result?: RunResult }
  | { readonly status: "timeout" | "unknown" };

/** A run with the name of its agent, and the first words of what it works on. */
export interface NamedRun extends RunRecord {
  readonly agentName: string;
  readonly about: string;
}

export interface Runs {
  /** The runs of an agent, newest first. Send `next` as `before` for the next page. Changes nothing. */
  list(agent: string, page?: { readonly before?: string; readonly limit?: number }): Promise<List<NamedRun, string>>;
  /** A run, its state and, if it has ended, its result. Changes nothing. */
  get(
    run: string,
  ): Promise<{ readonly state: string; readonly run: NamedRun | null; readonly result: RunResult | null }>;
  /** Waits for the end of a run. A timeout is a normal answer. Changes nothing. */
  wait(run: string, options?: { readonly timeoutMs?: number }): Promise<RunWait>;
  /** Durable when it resolves. False if the run had ended. */
  abort(run: string): Promise<boolean>;
  /** Adds a message to a run, which takes it at its next step. Durable when it resolves. */
  steer(run: string, text: string): Promise<void>;
  events(run: string, options?: StreamOptions): AsyncGenerator<ServerEvent>;
}

export const runsOf = (api: EngineApi): Runs => ({
  list: (agent, page) => api.get(pathOf("api", "agents", agent, "runs"), { ...page }),
  get: (run) => api.get(pathOf("api", "runs", run)),
  wait: (run, options) => api.get(pathOf("api", "runs", run, "wait"), { ...options }),
  abort: async (run) => (await api.post<{ aborted: boolean }>(pathOf("api", "runs", run, "abort"))).aborted,
  async steer(run, text) {
    await api.post(pathOf("api", "runs", run, "steer"), { text });
  },
  events: (run, options) => api.events(pathOf("api", "runs", run, "events"), checkedStream(options)),
});

export interface Outbox {
  /** The open deliveries, or those in one of these states. Send `next` as `after` for the next page. Changes nothing. */
  list(filter?: {
    readonly state?: string | readonly string[];
    readonly agent?: string;
    readonly after?: number;
    readonly limit?: number;
  }): Promise<List<Delivery, number>>;
  /** One delivery. Changes nothing. */
  get(delivery: string): Promise<Delivery>;
  /** Sends a delivery again that has ended. Durable when it resolves. */
  retry(delivery: string): Promise<Delivery>;
  /** Drops a delivery that waits. Durable when it resolves. */
  drop(delivery: string): Promise<Delivery>;
}

export const outboxOf = (api: EngineApi): Outbox => ({
  list: ({ state, ...filter } = {}) =>
    api.get("/api/outbox", { ...filter, state: state === undefined ? undefined : [state].flat().join(",") }),
  get: (delivery) => api.get(pathOf("api", "outbox", delivery)),
  retry: (delivery) => api.post(pathOf("api", "outbox", delivery, "retry")),
  drop: (delivery) => api.post(pathOf("api", "outbox", delivery, "drop")),
});

/** What an agent said, as its reader sees it. `id` is the key: the same delivery may be read more than once. */
export interface MailboxItem extends Omit<Payload, "slot" | "files"> {
  readonly id: string;
  readonly n: number;
  readonly agentId: string;
  readonly runId?: string;
  /** Whose mailbox it is. */
  readonly to: string;
  /** Read one with `mailbox.file(item.id, file.id)`. */
  readonly files?: readonly FileReference[];
  readonly createdAt: number;
}

export interface Mailbox {
  /** What waits, oldest first. `wait`: seconds to wait if it is empty. Changes nothing. */
  list(options?: {
    readonly after?: number;
    readonly limit?: number;
    readonly wait?: number;
  }): Promise<List<MailboxItem, number>>;
  /** What waits, then what arrives. An item comes again until it is acknowledged. */
  items(options?: { readonly signal?: AbortSignal }): AsyncGenerator<MailboxItem>;
  /** The bytes of a file of an item. Changes nothing. */
  file(item: string, file: string): Promise<Uint8Array<ArrayBuffer>>;
  /** The items leave the mailbox. Durable when it resolves. */
  ack(...ids: readonly string[]): Promise<void>;
}

export const mailboxOf = (api: EngineApi, user: string | undefined): Mailbox => ({
  list: (options) => api.get("/api/deliveries", { ...options, user }),
  async *items(options) {
    const query = user === undefined ? "" : `?user=${encodeURIComponent(user)}`;
    for await (const { data } of api.events(`/api/deliveries/events${query}`, checkedStream(options))) {
      yield data as unknown as MailboxItem;
    }
  },
  file: (item, file) => api.bytes(pathOf("api", "deliveries", item, "files", file), { user }),
  async ack(...ids) {
    await api.post("/api/deliveries/ack", { ids, user });
  },
});

/**
 * The subject of the simulated world: a program that starts on ports and can be drained. The world makes one instance
 * per life of a node; a crash abandons it, and only `drain` ends it cleanly.
 */

import type { Config } from "../../../src/config/config-schema.ts";
import type { Settings } from "../../../src/config/settings.ts";
import type { ResetSettings } from "../../../src/core/agent/session-freshness.ts";
import type { Limits } from "../../../src/core/budget/budget.ts";
import type { AgentId, DeliveryId, EntryId, RunId } from "../../../src/core/ids.ts";
import type { OutgoingDelivery } from "../../../src/core/ports/connector.ts";
import type { ModelChoice } from "../../../src/core/ports/model.ts";
import type { Ports } from "../../../src/core/ports/ports.ts";
import type { ApprovalId } from "../../../src/core/rights/approval.ts";
import type { SimContext } from "../world/summariser.ts";
import type { TokenTree } from "../world/token-tree.ts";

export interface Subject {
  /** Accepts nothing new, ends its open work, releases its agents. Resolves when the process may end. */
  drain(): Promise<void>;
  /** Asks a run to end, wherever it runs. Returns false if it had already ended or does not exist (M9). */
  abort?(runId: RunId): Promise<boolean>;
  /** Changes a cron job. */
  updateJob?(id: string, patch: unknown): Promise<unknown>;
  /** Reads the configuration again. */
  reload?(): Promise<void>;
  /** Goes back to an entry of the agent's current session. Resolves when it has happened. */
  branch?(agentId: AgentId, entryId: EntryId, summary?: string): Promise<void>;
  /** Stops an agent and all its descendants, on any node (L7). */
  stop?(agentId: AgentId): Promise<void>;
  /** Removes an agent for good. */
  remove?(agentId: AgentId): Promise<void>;
  /** The owner drops a message that waits. Rejects if it does not wait any more. */
  drop?(agentId: AgentId, seq: number): Promise<unknown>;
  /** The owner lets someone in by a code. Rejects if no one waits with it. */
  approve?(code: string, as?: string): Promise<unknown>;
  /** A code with which a person makes another account their own. */
  linkCode?(person: string): Promise<string>;
  /** The owner sends a delivery that failed with another text. */
  edit?(id: DeliveryId, text: string): Promise<unknown>;
  /** What waits in a user's mailbox (M27). */
  readMailbox?(user: string): Promise<readonly OutgoingDelivery[]>;
  /** Acknowledges deliveries of a user's mailbox. */
  acknowledge?(user: string, ids: readonly DeliveryId[]): Promise<unknown>;
  /** The owner answers a question about a call. False if another answer was first (M31). */
  decide?(id: ApprovalId, approve: boolean): Promise<boolean>;
  /** The owner gives an agent a rule or a setting against a tool, or takes it away. */
  limit?(agentId: AgentId, change: Limit): Promise<void>;
  /** Answers an HTTP request without a key, as the gateway does (M18). */
  ask?(request: HttpRequest): Promise<HttpResponse>;
}

/** A rule against the tool, or all commands. */
export interface Limit {
  readonly by: "rule" | "setting";
  readonly on: boolean;
}

/** A request of one token. `words` are its content: two requests of a user with the same words have the same body. */
export interface HttpRequest {
  readonly user: string;
  readonly words: string;
  /** What the agent reads. */
  readonly text: string;
  readonly isRetry: boolean;
}

export interface HttpResponse {
  readonly agentId: AgentId;
  readonly seq: number;
  /** Call it when all of the response was sent. */
  sent(): void;
}

export interface Person {
  readonly channel: string;
  readonly user: string;
  /** Set if it is a group. */
  readonly members?: readonly string[];
}

/** The people and agents of this world, for agents that talk to each other. */
export interface Participants {
  readonly people: readonly Person[];
  /** Permanent agents, by their names. */
  readonly permanentAgents: readonly string[];
  /** The person who wrote a token. */
  speakerOf(token: string): Person | undefined;
  /** Called when an agent begins to wait for another; the returned function is called when the wait ends. */
  waits(from: string, to: string): (refused: boolean) => void;
}

export interface SubjectNode {
  /** The same over restarts; two living nodes never share one. */
  readonly name: string;
  readonly leaseMs: number;
  /** The only node of its store: it may work without a lease. */
  readonly alone: boolean;
  /** What happens to the open work of an earlier life. */
  readonly restore: "resume" | "discard";
  /** How messages that arrive during a run are treated. Absent: one run each, in order. */
  readonly queue?: Partial<Config["queue"]>;
  readonly runMs?: number;
  readonly lanes?: Settings["lanes"];
  readonly subagents?: Partial<Pick<Settings["subagents"], "maxDepth" | "maxChildren">>;
  readonly participants: Participants;
  /** The budget, in tokens and millionths of a dollar. */
  readonly budgets?: Limits;
  /** The tokens that people write with. Absent: none. */
  readonly tokens?: TokenTree;
  /** The model to use. Absent: the only one. */
  readonly model?: ModelChoice;
  /** Whether this node fires jobs. */
  readonly triggers?: boolean;
  /** The configured time zone, which may change. */
  zone(): string;
  /** How large contexts may be. Absent: the default. */
  readonly context?: SimContext;
  /** When sessions are reset automatically, with hours in UTC. Absent: never. */
  readonly reset?: ResetSettings;
  /** Whether calls of the risky tool need a person's yes. */
  readonly approvals?: boolean;
  /** Whether calls are judged by people's rights. */
  readonly rights?: boolean;
  /** Whether only the owner is known at first. */
  readonly pairing?: boolean;
  /** Whether calls are judged by rules, and everyone is the owner. */
  readonly rules?: boolean;
  /** How much each person may store. Absent: no files. */
  readonly files?: { readonly quotaBytes: number };
}

/** Starts an instance, including the connectors in `ports.connectors`. May be called again after a crash at any point. */
export type StartSubject = (ports: Ports, node: SubjectNode) => Promise<Subject>;

/** What a scenario may require of its subject beyond the basics. */
export type Feature =
  | "tools"
  | "files"
  | "timeouts"
  | "model-errors"
  | "silent-messages"
  | "commands"
  | "abort"
  | "attempts"
  | "discard"
  | "lookup-grace"
  | "queue-modes"
  | "children"
  | "agent-messages"
  | "budgets"
  | "keys"
  | "triggers"
  | "mailboxes"
  | "context"
  /** Sessions that go stale, threads that fork, going back. */
  | "sessions"
  /** Programs that repeat their HTTP requests. */
  | "http"
  /** Runs that wait for a person. */
  | "approvals"
  | "rights"
  /** People who drop messages and edit deliveries. */
  | "people-acts"
  | "pairing"
  | "receipts"
  /** Messages and commands whose handling throws. */
  | "unhandled"
  /** Notices about unconfirmed answers. */
  | "notices";

export interface SubjectUnderTest {
  readonly name: string;
  readonly features: readonly Feature[];
  readonly start: StartSubject;
}

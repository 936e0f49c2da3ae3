/**
 * What is put into the simulated world: a program that starts on ports and can be drained. The world makes one instance
 * per life of a node; a crash abandons it, and only `drain` ends it in peace.
 */
import type { Config } from "../../../src/config/config-schema.ts";
import type { ResetSettings } from "../../../src/core/agent/session-freshness.ts";
import type { Limits } from "../../../src/core/budget/budget.ts";
import type { AgentId, EntryId, RunId } from "../../../src/core/ids.ts";
import type { ModelChoice } from "../../../src/core/ports/model.ts";
import type { Ports } from "../../../src/core/ports/ports.ts";
import type { LaneSizes } from "../../../src/engine/runs/lanes.ts";
import type { SimContext } from "../world/summariser.ts";

export interface Subject {
  /** Takes nothing new, ends what it has begun, gives its agents back. Resolves when the process may end. */
  drain(): Promise<void>;
  /** Asks a run to end, wherever it runs. False where it had ended already or does not exist (M9). */
  abort?(runId: RunId): Promise<boolean>;
  /** Changes a cron job. */
  updateJob?(id: string, patch: unknown): Promise<unknown>;
  /** Goes back to an entry of the agent's current session. Resolves when it has happened. */
  branch?(agentId: AgentId, entryId: EntryId, summary?: string): Promise<void>;
  /** Stops an agent with all it has started, on whichever nodes (L7). */
  stop?(agentId: AgentId): Promise<void>;
  /** Removes an agent for ever. */
  remove?(agentId: AgentId): Promise<void>;
}

export interface Person {
  readonly channel: string;
  readonly user: string;
}

/** Who writes in this world, for agents that speak to each other. */
export interface Participants {
  readonly people: readonly Person[];
  /** Permanent agents, by their names. */
  readonly permanentAgents: readonly string[];
  /** Who wrote a token. */
  speakerOf(token: string): Person | undefined;
  /** Called when an agent begins to wait for another; the returned function is called when the wait ends. */
  waits(from: string, to: string): (refused: boolean) => void;
}

export interface SubjectNode {
  /** The same over restarts; two living nodes never share one. */
  readonly name: string;
  readonly leaseMs: number;
  /** The only node of its store: it may do without a lease. */
  readonly alone: boolean;
  /** What becomes of the work an earlier life left behind. */
  readonly restore: "resume" | "discard";
  /** How messages are treated that arrive while a run is active. Absent: one run each, in order. */
  readonly queue?: Partial<Config["queue"]>;
  readonly lanes?: LaneSizes;
  readonly subagents?: Partial<Pick<Config["subagents"], "maxDepth" | "maxChildren">>;
  readonly participants: Participants;
  /** What may be spent, in tokens and millionths of a dollar. */
  readonly budgets?: Limits;
  /** Which model is asked. Absent: the only one there is. */
  readonly model?: ModelChoice;
  /** Whether due times become messages here. */
  readonly triggers?: boolean;
  /** How large contexts may be. Absent: as large as they are by default. */
  readonly context?: SimContext;
  /** When sessions are reset by themselves; hours are those of UTC. Absent: never. */
  readonly reset?: ResetSettings;
}

/** Starts an instance, including the connectors in `ports.connectors`. May be called again after a crash at any point. */
export type StartSubject = (ports: Ports, node: SubjectNode) => Promise<Subject>;

/** What a scenario may ask of its subject beyond the main road. */
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
  | "context"
  /** Sessions that go stale, threads that fork, going back. */
  | "sessions";

export interface SubjectUnderTest {
  readonly name: string;
  readonly features: readonly Feature[];
  readonly start: StartSubject;
}

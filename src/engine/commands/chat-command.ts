/**
 * A command that a person types in a chat: its name, what may follow it, who may use it, its help, and what it does. The
 * answer and what it changes are one commit, so a command has exactly one answer, also after a crash.
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { StatePatch } from "../../core/agent/patch-state.ts";
import type { TurnMemory } from "../../core/agent/turn-memory.ts";
import type { Delivery } from "../../core/delivery/delivery.ts";
import type { QueueSettings } from "../../core/message/queue.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { RefusedKey } from "../../core/refused-key.ts";
import type { Approval, ApprovalId } from "../../core/rights/approval.ts";
import type { Decision, Effect } from "../../core/rights/decide.ts";
import type { AlwaysScope } from "../../core/rights/standing-yes.ts";
import type { CronJob } from "../../core/schedule/job.ts";
import type { Op } from "../../core/store/change.ts";
import type { Pairing } from "../people/pairing.ts";

/** The answer to a command, and what is committed with it. */
export interface CommandReply {
  readonly text: string;
  readonly patch?: StatePatch;
  readonly ops?: readonly Op[];
}

/** The models a conversation may use. */
interface ModelChoices {
  /** The model that answers now, and why it is that one. */
  readonly model: string;
  readonly why?: string;
  readonly thinking?: string;
  readonly choices: readonly string[];
  /** Accounts that the node is logged in to. */
  readonly logins?: readonly ModelLogin[];
  /** Keys that model providers refused. */
  readonly refusedKeys?: readonly RefusedKey[];
}

export interface ModelLogin {
  readonly provider: string;
  readonly profile: string;
  /** `ended`: a person must log in again. */
  readonly state: "valid" | "expired" | "ended";
  /** When the token in use expires; null: it does not. */
  readonly expiresAt: number | null;
  readonly loggedInAt: number;
}

/** What commands show and change outside of the engine. A part that is absent makes its command say so. */
export interface CommandParts {
  readonly models?: {
    describe(agent: AgentRecord): Promise<ModelChoices>;
    /** Why a conversation cannot have these settings of its model; undefined if it can. `patch`: what changes. */
    problem(
      agent: Pick<AgentRecord, "profile" | "state">,
      patch: Readonly<Record<string, unknown>>,
    ): Promise<string | undefined>;
  };
  readonly jobs?: {
    list(agent: AgentRecord): Promise<readonly (CronJob & { readonly when: string; readonly next?: string })[]>;
    /** Throws if there is no such job or the agent may not touch it. */
    get(agent: AgentRecord, id: string): Promise<CronJob>;
    runOps(id: string): Promise<readonly Op[]>;
    removeOps(id: string): Promise<readonly Op[]>;
    enableOps(id: string, enabled: boolean): Promise<readonly Op[]>;
    /** A reminder in this conversation, from a text that begins with its time; undefined if it does not. `at`: that time, for a person. */
    remind(
      agent: AgentRecord,
      text: string,
    ): { readonly name: string; readonly at: string; readonly ops: readonly Op[] } | undefined;
  };
  /** A file of the person's memory by name, and the names of all; undefined if the person has none. */
  readonly memory?: (agent: AgentRecord, name: string | undefined) => Promise<MemoryView | undefined>;
  /** Changes of the notes of the agent's person, the newest first, and the undo of one of them. Others' are not there. */
  readonly memoryChanges?: {
    list(agent: AgentRecord): Promise<readonly MemoryChange[]>;
    /** Durable when it resolves; of two requests for the same the second finds that it was done. Throws a typed error. */
    undo(agent: AgentRecord, person: PersonId, change: number): Promise<MemoryChange>;
  };
  /** When the day of this instant began. */
  dayStart?(now: number): number;
}

interface MemoryView {
  readonly name: string;
  readonly text: string;
  readonly names: readonly string[];
}

export interface MemoryChange {
  readonly id: number;
  /** Its name among the notes. */
  readonly file: string;
  readonly is: "added" | "changed" | "removed";
  readonly undone: boolean;
}

interface WaitingLine {
  readonly what: string;
  readonly why: string;
}

/** The conversation that a command is typed in, and who typed it. */
export interface CommandContext {
  readonly agent: AgentRecord;
  readonly person: PersonId;
  readonly now: number;
  readonly parts: CommandParts;
  /** By the rights of now, for everyone on the way of the command. */
  decide(effect: Effect): Decision;
  queue(): Required<QueueSettings>;
  /** The tokens that the context may have. */
  contextWindow(): Promise<number | undefined>;
  /** What entered the last turn of this conversation; undefined before the first one. */
  turn(): Promise<TurnMemory | undefined>;
  /** What runs of this conversation have cost since a time. */
  spentSince(at: number): Promise<{ readonly tokens: number; readonly dollars: number }>;
  /** The run, and what waits besides this command. */
  waits(): Promise<{ readonly run?: string; readonly waiting: readonly WaitingLine[] }>;
  /** Answers to where the command was typed that may not have arrived, the last first. */
  unconfirmed(): Promise<readonly Delivery[]>;
  /** Absent: no channel here is open to strangers. */
  readonly pairing?: PairingAccess;
  readonly approvals: {
    /** Open questions that this person may see. */
    pending(): Promise<readonly Approval[]>;
    /** Durable when it resolves. Throws a typed error that says what to do. */
    decide(
      id: ApprovalId,
      answer: { approve: boolean; always?: AlwaysScope; reason?: string; digest?: string },
    ): Promise<Approval>;
    /** Lists the rules that a yes for always would store. */
    choice(id: ApprovalId): Promise<readonly string[]>;
    get(id: ApprovalId): Promise<Approval>;
  };
}

/** Letting people in, as the commands use it. */
type PairingAccess = Pick<Pairing, "list" | "approve" | "deny" | "block" | "forget" | "linkCode">;

export interface ChatCommand {
  readonly name: string;
  readonly aliases?: readonly string[];
  /** What may follow the name, for help. */
  readonly usage?: string;
  readonly help: string;
  readonly example?: string;
  /**
   * Who may use it. `writers`: everyone who may write here. `own`: to read, everyone who has rights here; to change, the
   * person whose conversation it is. `owner`: the owner, or a person with the grant `chat_NAME`.
   */
  readonly who: "writers" | "own" | "owner";
  /** Changes settings of the conversation if a text follows: waits its turn behind earlier messages. */
  readonly inTurn?: boolean;
  /** Whether a text after the name belongs to the command. If not, the whole text is a message. */
  reads(rest: string): boolean;
  /** Absent: a message kind of its own (`stop`, `reset`, `compact`, `subagents`). */
  run?(rest: string, context: CommandContext): Promise<CommandReply> | CommandReply;
}

/** The name of a command in grants and in the audit log. */
export const actionOf = ({ name }: Pick<ChatCommand, "name">): string => `chat_${name}`;

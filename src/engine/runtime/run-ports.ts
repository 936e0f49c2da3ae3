/** What the loop is given: the world, the settings of this node, and who listens. */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { SendPolicy } from "../../core/agent/send-policy.ts";
import type { AgentState } from "../../core/agent/state.ts";
import type { SystemPromptReport } from "../../core/agent/system-prompt-report.ts";
import type { Budgets } from "../../core/budget/budget.ts";
import type { NewDelivery, Payload } from "../../core/delivery/delivery.ts";
import type { ContextLimits } from "../../core/history/compaction-settings.ts";
import type { Message } from "../../core/message/message.ts";
import type { RunOverrides } from "../../core/message/run-overrides.ts";
import type { ModelChoice } from "../../core/ports/model.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { RunResult } from "../../core/run/run.ts";
import type { Op, OpResult, Posted } from "../../core/store/change.ts";
import type { LiveRun } from "./live-run.ts";
import type { RunEvents } from "./run-events.ts";

export interface RunSettings {
  readonly timeoutMs: number;
  readonly maxIterations: number;
  /** How long tools may take to stop after an abort. */
  readonly abortGraceMs: number;
  /** Starts without progress before a run fails visibly (M13). */
  readonly maxAttempts: number;
  /** How long nodes that fell silent are watched before a run is failed on the suspicion that it killed them (M13). */
  readonly silenceMs: number;
}

/** The limits of a run that its agent's profile may set. */
export type RunLimits = Partial<Pick<RunSettings, "timeoutMs" | "maxIterations">>;

export const DEFAULT_RUN_SETTINGS: RunSettings = {
  timeoutMs: 600_000,
  maxIterations: 500,
  abortGraceMs: 5_000,
  maxAttempts: 3,
  silenceMs: 0,
};

/** What a run has said at its end. */
export interface Said {
  readonly payload: Payload;
  /** What the model thought aloud before it. */
  readonly reasoning: string;
}

/** What of it is owed. `suppress`: nothing of it is sent, for this reason. `state`: what changes in the agent's record. */
export interface Reply {
  readonly payloads: readonly Payload[];
  readonly suppress?: string;
  readonly state?: Partial<AgentState>;
}

/** How an agent speaks: which model, and what it is told about itself. */
export interface ResolvedModel extends ModelChoice {
  readonly system: string;
  /** What `system` is made of; kept in the agent's state for whoever wonders what fills the context. */
  readonly report?: SystemPromptReport;
}

export interface RunPorts extends Ports {
  readonly settings: RunSettings;
  readonly events: RunEvents;
  /** `wishes`: what the run's message wanted for this run only. */
  resolveModel(agent: AgentRecord, wishes?: RunOverrides): ResolvedModel | Promise<ResolvedModel>;
  /** What holds for this agent's runs instead of the node's settings. */
  limits?(agent: AgentRecord): RunLimits | undefined;
  /** What may be spent. Absent: nothing is limited, nothing is reserved. */
  readonly budgets?: Budgets;
  /** What else is committed with a run's end: a child's report, the end of a trigger's slot. Asked anew where what it named has gone away meanwhile. */
  opsOnRunEnd?(
    agent: AgentRecord,
    run: LiveRun,
    result: RunResult,
    deliveries: readonly NewDelivery[],
  ): Promise<readonly Op[]>;
  /** The same for messages that end without a run, and why they do. */
  opsOnSettle?(agent: AgentRecord, messages: readonly Message[], reason: string): Promise<readonly Op[]>;
  /** What stops the children of an agent whose person said stop, and how many of them there are. */
  stopChildren?(agent: AgentRecord): Promise<{ readonly ops: readonly Op[]; readonly stopped: number }>;
  /** What a person is told who asked for an agent's children, and what they wanted changed. */
  aboutChildren?(agent: AgentRecord, command: string): Promise<{ readonly text: string; readonly ops: readonly Op[] }>;
  /** What a run's answer becomes before it is owed; undefined leaves it as it is. */
  replyOf?(agent: AgentRecord, run: LiveRun, said: Said): Reply | undefined;
  /** The state of the fresh session a run begins in; undefined where it goes on in the agent's session. */
  sessionFor?(agent: AgentRecord, messages: readonly Message[]): Promise<AgentState | undefined>;
  /** How large an agent's context may be with the model that was chosen, or would be chosen now. Absent: the defaults. */
  contextLimits?(
    agent: AgentRecord,
    wishes?: RunOverrides,
    chosen?: ModelChoice,
  ): ContextLimits | Promise<ContextLimits>;
  /** Whether agents may send, beside what each was told itself. */
  readonly sendPolicy?: SendPolicy;
  /** Called with the deliveries a commit has just added, and the store's results for that commit. */
  onDeliveries(deliveries: readonly NewDelivery[], results: readonly (OpResult | undefined)[]): void;
  /** Called after the commit of a tool's step with the ops that the tools added to it. */
  onToolOps?(ops: readonly Op[]): void;
  /** Told of messages to agents that a tool's step has just committed. */
  posted(posted: readonly Posted[]): void;
}

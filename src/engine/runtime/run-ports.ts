/** What runs need: the ports, the settings in force, and the hooks of other parts of the engine. */
import type { Settings } from "../../config/settings.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { StatePatch } from "../../core/agent/patch-state.ts";
import type { SkillsSnapshot } from "../../core/agent/skills-snapshot.ts";
import type { AgentState } from "../../core/agent/state.ts";
import type { SystemPromptReport } from "../../core/agent/system-prompt-report.ts";
import type { Budgets } from "../../core/budget/budget.ts";
import type { Current } from "../../core/current.ts";
import type { NewDelivery, Payload } from "../../core/delivery/delivery.ts";
import type { ContextLimits } from "../../core/history/compaction-settings.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Message } from "../../core/message/message.ts";
import type { RunOverrides } from "../../core/message/run-overrides.ts";
import type { Gate } from "../../core/ports/gate.ts";
import type { ModelChoice, ModelMessage } from "../../core/ports/model.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Watchdog } from "../../core/ports/watchdog.ts";
import type { RunResult } from "../../core/run/run.ts";
import type { WatchdogNotes } from "../../core/run/trial.ts";
import type { Op, OpResult, Posted, Settlement } from "../../core/store/change.ts";
import type { ApprovalPort } from "../approvals/approval-port.ts";
import type { Directory } from "../people/directory.ts";
import type { LiveRun } from "./live-run.ts";
import type { People } from "./people.ts";
import type { RunEvents } from "./run-events.ts";

/** The answer of a run. */
export interface Said {
  readonly payload: Payload;
  /** What the model thought before it. */
  readonly reasoning: string;
}

/**
 * What is sent of it. `suppress`: nothing is sent, for this reason. `stateFor`: what changes in the agent's state, with the
 * delivery of the last payload.
 */
export interface Reply {
  readonly payloads: readonly Payload[];
  readonly suppress?: string;
  readonly stateFor?: (delivery: NewDelivery) => Partial<AgentState>;
}

/** The model that answers an agent, and its system prompt. */
interface ResolvedModel extends ModelChoice {
  readonly system: string;
  /** The parts of `system`. Kept in the agent's state, to show what fills the context. */
  readonly report?: SystemPromptReport;
  /** The skills that `system` names, if the session has no snapshot of them yet. Kept in the agent's state until a reset. */
  readonly skillsSnapshot?: SkillsSnapshot;
}

/** The answer to a command: the state and ops it changes, and the revision of rights that allowed it. */
export interface AnsweredCommand {
  readonly text: string;
  readonly patch?: StatePatch;
  readonly ops?: readonly Op[];
  readonly rights?: number;
}

/** How messages end without a run. */
export interface Settled {
  readonly state: Settlement["state"];
  readonly reason: string;
}

export interface RunPorts extends Ports {
  /** For what is read at each effect. Everything else a run reads from its own (`LiveRun.settings`). */
  readonly settings: Current<Settings>;
  readonly events: RunEvents;
  /** Gets what runs do, so that a blocked event loop names its run (M34). Absent: there is no watchdog. */
  readonly watchdog?: Watchdog;
  /** What watchdogs noted about runs that blocked their process (M34). */
  readonly watchdogNotes?: WatchdogNotes;
  /** `wishes`: the overrides of the run's message, for this run only. */
  resolveModel(
    agent: AgentRecord,
    wishes: RunOverrides | undefined,
    settings: Settings,
  ): ResolvedModel | Promise<ResolvedModel>;
  /** What may be spent now. */
  budgets(): Budgets;
  /** Further ops for the commit that ends a run: a child's report, the end of a trigger's slot. Called again if an op is outdated. */
  opsOnRunEnd?(
    agent: AgentRecord,
    run: LiveRun,
    result: RunResult,
    deliveries: readonly NewDelivery[],
  ): Promise<readonly Op[]>;
  /** The same for messages that are settled without a run. */
  opsOnSettle?(agent: AgentRecord, messages: readonly Message[], settled: Settled): Promise<readonly Op[]>;
  /** Called with the ops of these two, after the commit that has them. A timer that is set earlier may read a store without them. */
  onAddedOps?(ops: readonly Op[]): void;
  /** The ops that stop an agent's children, and how many children that are. */
  stopChildren?(agent: AgentRecord): Promise<{ readonly ops: readonly Op[]; readonly stopped: number }>;
  /** The answer to a person's command about an agent's children, and the ops it needs. */
  aboutChildren?(agent: AgentRecord, command: string): Promise<{ readonly text: string; readonly ops: readonly Op[] }>;
  /** The answer to a person's command in a chat, and what is committed with it. */
  answerCommand?(agent: AgentRecord, message: Message): Promise<AnsweredCommand>;
  /** Changes a run's answer before its deliveries are created; undefined leaves it unchanged. */
  replyOf?(agent: AgentRecord, run: LiveRun, said: Said): Promise<Reply | undefined> | undefined;
  /** The state of the fresh session that a run begins; undefined if it continues the agent's session. */
  sessionFor?(agent: AgentRecord, messages: readonly Message[]): Promise<AgentState | undefined>;
  /** How large an agent's context may be with the model that was chosen, or would be chosen now. Absent: the defaults. */
  contextLimits?(
    agent: AgentRecord,
    wishes: RunOverrides | undefined,
    chosen: ModelChoice | undefined,
    settings: Settings,
  ): ContextLimits | Promise<ContextLimits>;
  /** Puts the files in their places, as a model is shown them. Absent: a model reads only that they exist. */
  showFiles?(agentId: AgentId, messages: readonly ModelMessage[]): Promise<readonly ModelMessage[]>;
  /** Who is who, for the line before a message of someone other than the agent's person. */
  readonly directory?: Directory;
  /** The person an agent belongs to. Asked only about agents that an earlier version made. */
  personOf?: People["personOf"];
  /** Whether a message makes its origin the route of its agent. */
  readonly setsRoute: People["setsRoute"];
  /** Decides which calls may start. Absent: every call of a tool that the agent has. */
  readonly gate?: Gate;
  /** Questions about calls that need a person's yes. */
  readonly approvals?: ApprovalPort;
  /** Called with the deliveries a commit has just added, and the store's results for that commit. */
  onDeliveries(deliveries: readonly NewDelivery[], results: readonly (OpResult | undefined)[]): void;
  /** Called after the commit of a tool's step with the ops that the tools added to it. */
  onToolOps?(ops: readonly Op[]): void;
  /** Called with the messages to agents that a commit of a run has posted. */
  posted(posted: readonly Posted[]): void;
}

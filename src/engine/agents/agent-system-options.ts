/** The options of an agent system: its name in the store, its limits, and the functions that the configuration decides. */

import type { Config } from "../../config/config-schema.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { PeopleSettings } from "../../core/agent/person.ts";
import type { SendPolicy } from "../../core/agent/send-policy.ts";
import type { Budgets } from "../../core/budget/budget.ts";
import type { TextLimits } from "../../core/text-limits.ts";
import type { ApprovalSettings } from "../approvals/approval-port.ts";
import type { CommandParts } from "../commands/chat-command.ts";
import type { FileService } from "../files/file-service.ts";
import type { OutboxOptions, OutboxPorts } from "../outbox/outbox.ts";
import type { WaitingOptions } from "../outbox/waiting-sweep.ts";
import type { RightsSettings } from "../rights/gate.ts";
import type { LaneSizes } from "../runs/lanes.ts";
import type { RunPorts, RunSettings } from "../runtime/run-ports.ts";
import type { SubagentSettings } from "../subagents/settings.ts";
import type { AwaitEnds } from "./answers.ts";
import type { AddressOf, HostOptions } from "./connector-host.ts";
import type { InheritsParent } from "./sessions/thread-fork.ts";

export interface AgentSystemOptions {
  readonly nodeName: string;
  /** Absent: this node is alone on its store. */
  readonly leaseMs?: number;
  readonly pollMs?: number;
  readonly restore?: "resume" | "discard";
  readonly lanes?: LaneSizes;
  readonly runs?: Partial<RunSettings>;
  readonly watchdog?: RunPorts["watchdog"];
  /** Default: the notes in the store. */
  readonly watchdogNotes?: RunPorts["watchdogNotes"];
  readonly outbox?: Partial<Omit<OutboxOptions, "node">>;
  /** The time zone of people whose record names none. Default: UTC. */
  readonly zone?: () => string;
  /** Agents kept in memory while they rest. */
  readonly warm?: number;
  readonly resolveModel: RunPorts["resolveModel"];
  /** The limits of spending on models. Absent: no limit. */
  readonly budgets?: Budgets;
  readonly limits?: RunPorts["limits"];
  /** How large contexts may be. Absent: the defaults for every model. */
  readonly contextLimits?: RunPorts["contextLimits"];
  /** Which conversation a connector's message belongs to. Absent: one per person or group and channel, profile `main`. */
  readonly address?: AddressOf;
  /** How long texts from outside may be. Read at each use. Absent: `DEFAULT_TEXT_LIMITS`. */
  readonly textLimits?: TextLimits;
  /** The tags of the system agents. Absent: every tag is accepted. */
  readonly systemTags?: readonly string[];
  readonly isOwner?: HostOptions["isOwner"];
  /** Tells people apart. Absent: by `isOwner`, profile `main`. */
  readonly people?: PeopleSettings;
  /** Limits for deliveries that no connector sends. Read again for every check. */
  readonly waiting?: Partial<WaitingOptions>;
  /** People have linked accounts: read the accounts of the configuration again. */
  readonly accountsChanged?: () => Promise<void>;
  /** Lets commands in chats show and change things outside of the engine. */
  readonly commands?: CommandParts;
  /** Words that begin a new session. */
  readonly resetTriggers?: readonly string[];
  /** Whether a thread begins with the context of its parent conversation. Default: always. */
  readonly inheritsParent?: InheritsParent;
  /** Judges every tool call by the rights of the people it acts for. Absent: nothing is judged. */
  readonly rights?: RightsSettings;
  /** How long questions about calls wait, and what a call depends on. */
  readonly approvals?: ApprovalSettings;
  readonly sendPolicy?: SendPolicy;
  /** Whether a session is stale and ends before the next message. Default: never. */
  readonly isStale?: (agent: AgentRecord, lastInteractionAt: number, now: number) => boolean;
  /** What happens with messages that arrive while a run is active. Default: one run each, in order. */
  readonly queue?: Config["queue"];
  readonly subagents?: Partial<SubagentSettings>;
  /** Files of people. Absent: no file can come in, and models are shown none. */
  readonly files?: FileService;
  readonly remoteNodes?: AwaitEnds;
  /** Additions of triggers at certain points of a run; see `RunPorts`. */
  readonly hooks?: Pick<RunPorts, "opsOnRunEnd" | "opsOnSettle" | "onToolOps" | "replyOf" | "sessionFor"> &
    Pick<OutboxPorts, "opsOnDelivered">;
}

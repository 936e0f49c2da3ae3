/** The options of an agent system: its name in the store, the settings in force, and what a program provides. */

import type { Settings } from "../../config/settings.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { Current } from "../../core/current.ts";
import type { Place } from "../../core/rights/match-rule.ts";
import type { ApprovalPort } from "../approvals/approval-port.ts";
import type { CommandParts } from "../commands/chat-command.ts";
import type { FileService } from "../files/file-service.ts";
import type { OutboxPorts } from "../outbox/outbox.ts";
import type { RunPorts } from "../runtime/run-ports.ts";
import type { SubagentParts } from "../subagents/settings.ts";
import type { AwaitEnds } from "./answers.ts";

export interface AgentSystemOptions {
  readonly nodeName: string;
  readonly settings: Current<Settings>;
  /** Absent: this node is alone on its store. */
  readonly leaseMs?: number;
  readonly pollMs?: number;
  readonly remoteNodes?: AwaitEnds;
  readonly watchdog?: RunPorts["watchdog"];
  /** Default: the notes in the store. */
  readonly watchdogNotes?: RunPorts["watchdogNotes"];
  /** Agents kept in memory while they rest. */
  readonly warm?: number;
  readonly resolveModel: RunPorts["resolveModel"];
  /** How large contexts may be. Absent: the defaults for every model. */
  readonly contextLimits?: RunPorts["contextLimits"];
  /** Lets commands in chats show and change things outside of the engine. */
  readonly commands?: CommandParts;
  /** Describes a call before it is judged. Absent: no call is judged. */
  readonly rights?: RightsPort;
  readonly subagents?: SubagentParts;
  /** Files of people. Absent: no file can come in, and models are shown none. */
  readonly files?: FileService;
  /** Additions of triggers at certain points of a run; see `RunPorts`. */
  readonly hooks?: Pick<RunPorts, "opsOnRunEnd" | "opsOnSettle" | "onToolOps" | "replyOf" | "sessionFor"> &
    Pick<OutboxPorts, "opsOnDelivered">;
}

interface RightsPort {
  /** The directories that the paths in rules are relative to. */
  placeOf?(agent: AgentRecord): Promise<Place>;
  /** Finds the surroundings that a call depends on. Absent: it depends on its arguments alone. */
  readonly surroundingsOf?: ApprovalPort["surroundingsOf"];
}

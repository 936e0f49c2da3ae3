/**
 * What each command prints with `--json`: one document of this type. The types are those of the client and of the reports that
 * commands print. `npm run tool -- cli-schema --write` writes `docs/cli.schema.json` from it, and tests check every document against that.
 */

import type { DescribedModels } from "../../adapters/models/describe-models.ts";
import type { DescribedLogin } from "../../adapters/models/logins/describe-logins.ts";
import type { TriedModel } from "../../adapters/models/try-model.ts";
import type { AdoptReport } from "../../adapters/store/files/adopt.ts";
import type { LostWork } from "../../adapters/store/files/end-unfinished-work.ts";
import type { RepairReport } from "../../adapters/store/files/repair.ts";
import type { NodeReport } from "../../adapters/store/postgres/node-report.ts";
import type { ConfigNote } from "../../config/parse-config.ts";
import type { HomePaths } from "../../config/paths.ts";
import type { AgentTree } from "../../core/agent/agent-tree.ts";
import type { BusyAgent } from "../../core/agent/diagnosis.ts";
import type { InstallReport, ListedSkill } from "../../core/agent/skill-listing.ts";
import type { SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import type { SwarmContact, SwarmRecord } from "../../core/agent/swarm.ts";
import type { Lookup, TurnMemory } from "../../core/agent/turn-memory.ts";
import type { Limits } from "../../core/budget/budget.ts";
import type { Delivery } from "../../core/delivery/delivery.ts";
import type { FileChange } from "../../core/file-change.ts";
import type { Entry } from "../../core/history/entry.ts";
import type { List } from "../../core/list.ts";
import type { Message } from "../../core/message/message.ts";
import type { UnansweredMessage } from "../../core/message/unanswered-message.ts";
import type { AuditRow } from "../../core/people/audit.ts";
import type { PersonRecord } from "../../core/people/person-record.ts";
import type { Approval } from "../../core/rights/approval.ts";
import type { SpentSince } from "../../core/store/spent.ts";
import type { CarryPlan } from "../../engine/people/carry-over.ts";
import type { AlwaysOffers } from "../client/approvals-resource.ts";
import type { ShownChange } from "../client/changes-resource.ts";
import type { FileInfo } from "../client/files-resource.ts";
import type { ForgetReceipt } from "../client/people-resource.ts";
import type { ListedRule, TriedCall } from "../client/permissions-resource.ts";
import type { AgentDetails, AgentSummary, InboxMessage, NamedRun, Runs, RunWait } from "../client/resources.ts";
import type { BudgetView, Heartbeat, JobOutcome, ScheduledJob } from "../client/spending-resources.ts";
import type { ShownToken } from "../gateway/auth/token-service.ts";
import type { ConnectorItem } from "../gateway/schemas/status.ts";
import type { DoctorItem } from "../operations/doctor/examine.ts";
import type { PruneReport } from "../operations/prune/prune.ts";
import type { ServiceReport, ServiceStatus } from "../operations/service/service.ts";
import type { UpdateReport } from "../operations/update/update-program.ts";
import type { Option } from "./command.ts";
import type { Summary } from "./commands/agents.ts";
import type { Named } from "./commands/approvals.ts";
import type { NamedDelivery } from "./commands/channels-outbox.ts";
import type { NamedRow } from "./commands/engine-audit.ts";
import type { FoundKey } from "./commands/models-keys.ts";
import type { SignIn } from "./commands/open.ts";
import type { Invited, Login } from "./commands/people-logins.ts";
import type { Waiting } from "./commands/people-requests.ts";
import type { Timeline } from "./commands/runs-replay.ts";
import type { Plan } from "./commands/sessions-carry-over.ts";
import type { Info } from "./commands/status.ts";
import type { Row } from "./commands/usage.ts";
import type { Candidate } from "./complete-words.ts";
import type { Shell } from "./completion-scripts.ts";
import type { Connected } from "./connect/entry.ts";
import type { Counts } from "./demo/demo-messages.ts";
import type { LogLine } from "./read-log.ts";
import type { SetValue } from "./set-config-value.ts";
import type { SetupAnswers } from "./setup/options.ts";
import type { SentMessage } from "./wait-for-replies.ts";

/** A message that changes an agent was accepted; the engine that works on the agent applies it. */
interface Accepted {
  readonly status: "accepted";
  readonly agentId: string;
  readonly messageId: string;
  readonly seq: number;
}

interface File {
  readonly file: string;
}

interface Archived extends File {
  readonly backup: string;
  readonly left: number;
}

interface HistoryItem {
  readonly position: number;
  readonly entry?: Entry | Readonly<Record<string, unknown>>;
  /** A line that cannot be read, as it is. */
  readonly broken?: string;
  readonly unanswered?: readonly UnansweredMessage[];
}

interface Checked extends File {
  readonly errors: readonly ConfigNote[];
  readonly warnings: readonly ConfigNote[];
}

/** Null if the prompt was not built yet. */
interface PromptParts extends List<Omit<TurnMemory["parts"][number], "part"> & { readonly name: string }> {
  readonly tokens: number;
  readonly lookups: readonly Lookup[];
}

interface Conversation extends AgentSummary {
  readonly channel: string;
  readonly person?: string;
  readonly last: { readonly role: string; readonly text: string; readonly at: number } | null;
}

interface FoundText {
  readonly position: number;
  readonly entryId: string;
  readonly role: string;
  readonly at: number;
  readonly text: string;
}

interface Status extends Info {
  readonly agentId?: string | null;
  readonly sessionKey?: string;
  readonly commands?: boolean;
  readonly thinking?: string | null;
  readonly verbose?: string | null;
  readonly reasoning?: string | null;
  readonly queueMode?: string;
  readonly context?: unknown;
  readonly isRunning: boolean;
  /** Of a guest: the agents that are the guest's. */
  readonly busy: readonly (Partial<BusyAgent> | AgentSummary)[];
  readonly approvals: readonly (Pick<Approval, "id" | "tool"> & Partial<Approval>)[];
  readonly undelivered?: number;
  readonly failed?: number | null;
  readonly schedules?: readonly { readonly id: string; readonly name: string; readonly at: number }[] | null;
  readonly channels?: readonly Pick<ConnectorItem, "channel" | "name" | "state" | "detail">[] | null;
  readonly leftBehind?: string | null;
  /** Features add parts. */
  readonly [part: string]: unknown;
}

interface Usage extends List<Row, null> {
  readonly by: "day" | "agent" | "person" | "model";
  readonly days: number;
  readonly total: { readonly tokens: number; readonly dollars: number };
}

interface Helped {
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  readonly usage?: string;
  readonly actions?: readonly string[];
  readonly flags?: Readonly<Record<string, Option>>;
  readonly examples?: readonly string[];
}

interface Explained {
  readonly key: string;
  readonly description: string | null;
  readonly type: string | null;
  readonly default: unknown;
  readonly values: readonly unknown[] | null;
  readonly keys: readonly { readonly key: string; readonly description?: string }[];
}

interface Backup extends File {
  readonly bytes: number;
  readonly snapshotAt: number;
  readonly schema: number;
  readonly files: number;
  readonly rows: Readonly<Record<string, number>>;
  readonly missing: readonly string[];
  readonly removed: readonly string[];
}

interface Restored {
  readonly home: string;
  readonly kept: string | null;
  readonly lost: LostWork;
  readonly refusedLinks: readonly string[];
  readonly unreviewed: readonly string[];
  readonly marked: number;
  readonly createdAt: number;
  readonly schema: number;
  readonly version: string;
  readonly rows: Readonly<Record<string, number>>;
}

interface Setup extends Omit<SetupAnswers, "key" | "model"> {
  readonly model: string | null;
  readonly tested?: { readonly isOk: boolean; readonly ms: number; readonly problem?: string };
  readonly briefingJob?: string;
  readonly lines: readonly string[];
  readonly failed: readonly string[];
}

interface ProviderProfile {
  readonly provider: string;
  readonly profile: string;
}

type Removed = ProviderProfile & { readonly removed: true };

/** By the name of the command. `never`: it prints no document. */
export interface CommandJson {
  chat: never;
  demo: Counts;
  setup: Setup;
  send:
    | SentMessage
    | (SentMessage & {
        readonly replies: readonly { readonly text: string; readonly isError: boolean }[];
        readonly unanswered: { readonly reason: string; readonly failed: boolean } | null;
      })
    /** The answers to piped text. */
    | List<{ readonly text: string }>;
  status: Status;
  "engine remotes list": List<{ readonly name: string; readonly url: string }>;
  "engine remotes add": { readonly name: string; readonly url: string };
  "engine remotes remove": { readonly removed: string };
  serve: {
    readonly url: string;
    readonly port: number;
    readonly pid: number;
    /** Where the token is. */
    readonly token: string;
    readonly open: string;
  };
  open: SignIn;
  "people tokens list": List<ShownToken>;
  "people tokens add": { readonly token: string; readonly record: ShownToken };
  "people tokens remove": { readonly revoked: readonly string[] };
  "people list": List<PersonRecord>;
  "people show": PersonRecord;
  "people add": PersonRecord;
  "people set": PersonRecord;
  "people link": PersonRecord;
  "people unlink": PersonRecord;
  "people grant": PersonRecord;
  "people revoke": PersonRecord;
  "people limits": PersonRecord;
  "people remove": { readonly removed: string };
  "people invite": Invited;
  "people sessions": List<Login>;
  "people sign-out": { readonly ended: string; readonly person: string };
  "people forget": ForgetReceipt & { readonly export: string | null };
  "permissions list": List<ListedRule>;
  "permissions add": Omit<ListedRule, "stored">;
  "permissions remove": { readonly removed: string };
  "permissions test": TriedCall;
  "permissions explain": List<AuditRow>;
  "config changes list": List<FileChange>;
  "config changes show": ShownChange;
  "config changes write": Partial<ShownChange> & Pick<ShownChange, "file" | "kind" | "diff">;
  "config changes undo": ShownChange;
  "people requests list": List<Waiting>;
  "people requests yes": { readonly account: string; readonly person: string | null };
  "people requests no": { readonly account: string; readonly person: string | null };
  "people requests block": { readonly account: string; readonly person: string | null };
  "people requests forget": { readonly account: string; readonly person: string | null };
  "engine audit": List<NamedRow, number>;
  "models list": DescribedModels;
  "models test": TriedModel;
  "models set": SetValue & { readonly model: string };
  "models keys add": ProviderProfile & File;
  "models keys list": List<FoundKey>;
  "models keys remove": Removed;
  "models login": DescribedLogin & File;
  "models logout": Removed;
  "models logins": List<DescribedLogin>;
  "config show": Readonly<Record<string, unknown>>;
  "config get": { readonly key: string; readonly value: unknown };
  "config set": SetValue & { readonly warning?: string };
  "config explain": Explained;
  "config edit": Checked & {
    /** Of the editor. */
    readonly status: number | null;
    readonly change: number | null;
    /** Where a text that was refused is kept. */
    readonly draft: string | null;
  };
  "config check": Checked & { readonly exists: boolean; readonly ok: boolean };
  "config init": File & { readonly created: true };
  "config paths": HomePaths;
  "agents list": List<Summary, string>;
  "agents show": AgentDetails | PromptParts;
  "agents add": { readonly agentId: string; readonly sessionKey: string; readonly created: boolean };
  "agents set": Accepted;
  "agents back": Accepted;
  "agents stop": { readonly id: string };
  "agents start": { readonly id: string };
  "agents reset": { readonly id: string };
  "agents remove": { readonly id: string };
  "agents subagents list": List<SubagentRunRecord>;
  "agents subagents show": SubagentRunRecord & { readonly state: string };
  "agents subagents log": List<string>;
  "agents subagents send": { readonly runId: string };
  "agents subagents stop": { readonly runId: string };
  "agents subagents release": { readonly runId: string };
  "agents swarms list": List<SwarmRecord, string>;
  "agents swarms show": { readonly swarm: SwarmRecord; readonly contacts: readonly SwarmContact[] };
  "agents swarms add": { readonly swarm: SwarmRecord };
  "agents swarms remove": { readonly nametag: string };
  "agents tree": AgentTree;
  "skills list": List<ListedSkill>;
  "skills show":
    | (ListedSkill & {
        readonly files: readonly { readonly path: string; readonly bytes: number }[];
        readonly text: string | null;
      })
    | { readonly name: string; readonly path: string; readonly text: string | null };
  "skills check": List<Pick<ListedSkill, "name" | "directory" | "problems">>;
  "skills install": InstallReport;
  "skills update": List<InstallReport>;
  "skills remove": { readonly name: string; readonly change: number };
  "runs list": List<NamedRun, string>;
  "runs show": Awaited<ReturnType<Runs["get"]>>;
  "runs replay":
    | (Omit<Timeline, "entries"> & {
        readonly entries: readonly { readonly step: number; readonly position: number; readonly entry: Entry }[];
      })
    | (File & { readonly steps: number })
    | (Omit<Accepted, "status"> & { readonly entryId: string });
  "runs wait": RunWait;
  "runs abort": { readonly aborted: boolean };
  "sessions list": List<Conversation, string>;
  "sessions status": Readonly<Record<string, unknown>>;
  "sessions search": List<FoundText, number>;
  "sessions carry-over":
    | (Omit<CarryPlan, "items"> & Plan & { readonly next: string | number | null })
    | { readonly carried: number };
  "sessions export": File;
  "sessions archive": Archived;
  "sessions branch": Accepted;
  "sessions show": List<HistoryItem, number> | File | Archived;
  "agents inbox": List<Message, number> | List<InboxMessage, string> | Message;
  "schedules list": List<ScheduledJob, string>;
  "schedules show": ScheduledJob;
  "schedules add": ScheduledJob;
  "schedules remove": { readonly id: string };
  "schedules enable": ScheduledJob;
  "schedules disable": ScheduledJob;
  "schedules run": { readonly slot: string };
  "schedules runs": List<JobOutcome, number>;
  "schedules heartbeat": List<Heartbeat>;
  "people files list": List<FileInfo, string> & {
    readonly usage: { readonly usedBytes: number; readonly quotaBytes: number };
  };
  "people files show": FileInfo & {
    readonly as: "image" | "reference" | "text";
    readonly characters?: number;
    readonly why?: string;
  };
  "people files get":
    | (File & { readonly size: number })
    | { readonly id: string; readonly name: string; readonly base64: string };
  "people files add": FileInfo;
  "people files remove": { readonly id: string };
  "channels outbox list": List<NamedDelivery, number>;
  "channels outbox show": NamedDelivery;
  "channels outbox retry": Delivery;
  "channels outbox drop": Delivery;
  "channels add telegram": Connected;
  "channels add whatsapp": Connected;
  "channels add whatsapp-web": Connected;
  "channels add webhook": Connected;
  "channels list": List<ConnectorItem>;
  "approvals list": List<Approval & Named>;
  "approvals show": Approval & Named & { readonly always?: AlwaysOffers };
  "approvals yes": Approval;
  "approvals no": Approval;
  "usage show": Usage;
  "usage budgets": List<BudgetView> & { readonly limits: Limits; readonly today: SpentSince };
  "usage lift": BudgetView;
  "schedules webhooks": List<{
    readonly name: string;
    readonly url: string;
    readonly proof: string;
    readonly target: "isolated" | "main";
    readonly profile: string | null;
  }>;
  "engine logs": List<LogLine>;
  doctor: List<DoctorItem> & {
    readonly problems: number;
    readonly notices: number;
    readonly fixed: readonly string[];
  };
  "backup add": Backup;
  "backup restore":
    | Restored
    | { readonly finished: boolean }
    | (File & { readonly schema: number; readonly kept: string });
  "engine prune": PruneReport;
  "engine update": { readonly current: string; readonly available: string; readonly status?: "same" } | UpdateReport;
  "engine install": ServiceReport;
  "engine status": ServiceStatus;
  "engine remove": ServiceReport;
  "engine repair": RepairReport | AdoptReport;
  "mcp list": List<{
    readonly name: string;
    readonly kind: "local" | "remote";
    readonly enabled: boolean;
    readonly tools: number;
    readonly reviewed: boolean;
  }>;
  "mcp check": {
    readonly server: string;
    readonly tools: readonly unknown[];
    readonly changes: Readonly<Record<string, readonly string[]>>;
    readonly reviewed: boolean;
  };
  "mcp pin": { readonly server: string; readonly pinned: number };
  "mcp login": { readonly server: string; readonly loggedIn: true };
  "mcp serve": never;
  "engine nodes": List<NodeReport> & { readonly unheld: { readonly agents: number; readonly waiting: number } };
  "engine copy": {
    readonly tables: readonly { readonly table: string; readonly rows: number; readonly digest: string }[];
    readonly tokens: number;
  };
  "config completion": List<Candidate> | { readonly shell: Shell; readonly script: string };
  help: List<{ readonly name: string; readonly summary: string }> | Helped;
}

/** What a command that fails writes to standard error with `--json`. */
export interface CommandError {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly hint?: string;
    readonly retryable: boolean;
  };
}

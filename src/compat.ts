/**
 * `rookery/compat`: the functions and words of the ancestors, clawdbot and daycare, under their own names, and the contracts of the
 * engine. docs/internals/ancestors.md says what became of every name.
 */

export { createSessionsSpawnTool, SessionsSpawnToolSchema } from "./adapters/tools/subagents/spawn-tools.ts";
export { type Config, configDefaults } from "./config/config-schema.ts";
export { createHome } from "./config/create-home.ts";
export { type LoadedConfig, loadConfig, secretDeps } from "./config/load-config.ts";
export { type ConfigNote, parseConfig } from "./config/parse-config.ts";
export { type HomePaths, homePaths, resolveHome } from "./config/paths.ts";
export { Secret, type SecretDeps, type SecretSource } from "./config/secret.ts";
export {
  type AddressConfig,
  type Addressed,
  addressFor,
  type Binding,
  type BindingOrigin,
  type Conversation,
  type MatchedBy,
  type ResolvedBinding,
  resolveBinding,
} from "./core/agent/address.ts";
export { type AgentRecord, type AgentSeed, DEFAULT_PROFILE, type StopMark } from "./core/agent/agent.ts";
export type { AgentTree, TreeNode, TreeOptions } from "./core/agent/agent-tree.ts";
export {
  AGENT_KINDS,
  type AgentDescriptor,
  type AgentFetchStrategy,
  type AgentKind,
  isForeground,
  parseDescriptor,
} from "./core/agent/descriptor.ts";
export type { BusyAgent, Diagnosis } from "./core/agent/diagnosis.ts";
export { STATE_VERSION } from "./core/agent/fresh-state.ts";
export type { IdentityLinks } from "./core/agent/identity-links.ts";
export { type KeyShape, readSessionKey, sessionKeyCandidates } from "./core/agent/key-shape.ts";
export { isSettable, patchState, type StatePatch } from "./core/agent/patch-state.ts";
export {
  resolveSendPolicy,
  SEND_BLOCKED,
  type SendDecision,
  type SendPolicy,
  type SendQuestion,
  type SendRule,
} from "./core/agent/send-policy.ts";
export type { SessionChatType } from "./core/agent/session-entry.ts";
export {
  type ChatKind,
  chatKindOf,
  DEFAULT_RESET_TRIGGERS,
  isStale,
  type ResetConfig,
  type ResetMode,
  type ResetPolicy,
  type ResetSettings,
  resetPolicyFor,
  staleBy,
} from "./core/agent/session-freshness.ts";
export {
  buildAgentMainSessionKey,
  buildAgentPeerSessionKey,
  DM_SCOPES,
  type DmScope,
  isSubagentSessionKey,
  type KeyScoping,
  type ParsedAgentSessionKey,
  type PeerKind,
  type PeerSessionKeyParams,
  parseAgentSessionKey,
  resolveThreadParentSessionKey,
  sessionKeyOf,
} from "./core/agent/session-key.ts";
export type { SettableField } from "./core/agent/settable-fields.ts";
export { type AgentState, parseState } from "./core/agent/state.ts";
export { stateAfterReset } from "./core/agent/state-after-reset.ts";
export type { PersistedSubagentRegistry, SubagentRunOutcome, SubagentRunRecord } from "./core/agent/subagent-run.ts";
export type { SwarmContact, SwarmRecord } from "./core/agent/swarm.ts";
export type { SystemPromptReport } from "./core/agent/system-prompt-report.ts";
export { inheritsParent, type ThreadSettings } from "./core/agent/thread-settings.ts";
export {
  type BudgetRecord,
  type BudgetScope,
  type Limit,
  type Limits,
  limitsOf,
  type Reservation,
  type Spend,
} from "./core/budget/budget.ts";
export type { BudgetDecision, CallCost } from "./core/budget/budget-decision.ts";
export type {
  Delivery,
  DeliveryContext,
  DeliveryState,
  NewDelivery,
  Payload,
  SendingClass,
} from "./core/delivery/delivery.ts";
export { apiMailbox, OWNER_MAILBOXES } from "./core/delivery/route.ts";
export {
  CommitUnknownError,
  ConfigError,
  CorruptDataError,
  DeniedError,
  type ErrorOptions,
  errorText,
  HomeLockedError,
  InvalidInputError,
  InvariantError,
  MigrationError,
  NotFoundError,
  RookeryError,
  StoreClosedError,
  StoreFullError,
  StoreLostError,
  StoreNewerError,
  StoreUnreadableError,
  TimeoutError,
  TooLargeError,
  UsageError,
  WaitCycleError,
} from "./core/errors.ts";
export type { FileReference } from "./core/file-reference.ts";
export type { CompactionSettings, ContextLimits, MemoryFlushSettings } from "./core/history/compaction-settings.ts";
export {
  type Block,
  type Entry,
  type EntryType,
  entryLine,
  type ReadEntry,
  readEntry,
  type StopReason,
  TRANSCRIPT_VERSION,
  type Usage,
} from "./core/history/entry.ts";
export {
  type AgentId,
  type ChangeId,
  type DeliveryId,
  type EntryId,
  type Ids,
  isAgentId,
  type MessageId,
  parseMessageId,
  type RunId,
  type SessionId,
  type SessionKey,
} from "./core/ids.ts";
export type { Decoration, IncomingMessage, PromptText, SubmittedText } from "./core/message/incoming-message.ts";
export type {
  Message,
  MessageBody,
  MessageKind,
  MessageState,
  NewMessage,
  Source,
} from "./core/message/message.ts";
export type { QueueDedupeMode, QueueDropPolicy, QueueMode, QueueSettings } from "./core/message/queue.ts";
export { type Clock, sleep } from "./core/ports/clock.ts";
export type {
  Accepted,
  Connector,
  ConnectorCapabilities,
  ConnectorHealth,
  ConnectorHost,
  IncomingCommand,
  OutgoingDelivery,
  SendResult,
} from "./core/ports/connector.ts";
export { type Log, type LogFields, type LogLevel, silentLog } from "./core/ports/log.ts";
export type {
  Model,
  ModelError,
  ModelErrorClass,
  ModelEvent,
  ModelMessage,
  ModelRequest,
  ModelResult,
  ModelTool,
} from "./core/ports/model.ts";
export type { FileStore, Ports } from "./core/ports/ports.ts";
export type { Tool, ToolContext, ToolHost, ToolOutput } from "./core/ports/tool.ts";
export type { Right } from "./core/rights/right.ts";
export type { CompactResult } from "./core/run/compact-result.ts";
export type {
  AbortMark,
  AgentMeta,
  Lane,
  ReplayPolicy,
  RunBody,
  RunErrorKind,
  RunMeta,
  RunOutcome,
  RunRecord,
  RunResult,
} from "./core/run/run.ts";
export type {
  CronIsolation,
  CronJob,
  CronJobState,
  CronMessageChannel,
  CronPayload,
  CronSchedule,
  CronSessionTarget,
  CronWakeMode,
  Gate,
  MissedPolicy,
  OverlapPolicy,
} from "./core/schedule/job.ts";
export type { JobSlot, SlotEnd } from "./core/schedule/job-slot.ts";
export type {
  Change,
  CommitResult,
  Dedupe,
  Op,
  OpResult,
  Owner,
  Posted,
  Prunable,
  Recipient,
  Refusal,
  Settlement,
} from "./core/store/change.ts";
export type { ListedBudget, SpentBy, SpentSince } from "./core/store/spent.ts";
export type { Line, NodeRecord, Page, Store, StoreReader } from "./core/store/store.ts";
export {
  liftBudget,
  listBudgets,
  spentSince,
} from "./engine/budgets/budget-book.ts";
export { type CompactParams, compactSession } from "./engine/context/compaction/compact-session.ts";
export { buildSubagentSystemPrompt, type SubagentPromptParams } from "./engine/context/prompt/subagent-prompt.ts";
export { type ExportedSession, type Exporting, exportSession } from "./engine/context/transcript/export-session.ts";
export {
  readTranscript,
  type SessionHeader,
  type Transcript,
  type TranscriptEntry,
} from "./engine/context/transcript/read-transcript.ts";
export { transcriptFileName, writeTranscript } from "./engine/context/transcript/write-transcript.ts";
export { buildCollectPrompt, buildQueueSummaryPrompt } from "./engine/inbox/collect-prompt.ts";
export {
  DEFAULT_QUEUE_CAP,
  DEFAULT_QUEUE_DEBOUNCE_MS,
  DEFAULT_QUEUE_DROP,
  normalizeQueueDropPolicy,
  normalizeQueueMode,
  resolveQueueSettings,
} from "./engine/inbox/queue-settings.ts";
export { parseQueueDirective, parseResetCommand, type ResetCommand } from "./engine/inbox/user-input.ts";
export type { Mailbox, MailboxPage } from "./engine/outbox/mailboxes.ts";
export {
  initSubagentRegistry,
  listSubagentRunsForRequester,
  registerSubagentRun,
  releaseSubagentRun,
} from "./engine/subagents/registry.ts";
export { runSubagentAnnounceFlow } from "./engine/subagents/report.ts";
export { buildStatsLine, buildTriggerMessage } from "./engine/subagents/report-text.ts";
export type { SubagentParts } from "./engine/subagents/settings.ts";
export type { SpawnRequest, SpawnResult } from "./engine/subagents/spawn.ts";
export { spawnSubagent } from "./engine/subagents/spawn.ts";
export type { SubagentInfo, Subagents, SubagentWait } from "./engine/subagents/subagents.ts";
export { CronService, type JobView, type SlotView } from "./engine/triggers/cron/cron-service.ts";
export { resolveCronSession } from "./engine/triggers/cron/cron-session.ts";
export { computeNextRunAtMs, nextRunTimes } from "./engine/triggers/cron/schedule.ts";
export { isWithinActiveHours } from "./engine/triggers/heartbeat/active-hours.ts";
export {
  DEFAULT_HEARTBEAT_EVERY,
  HEARTBEAT_PROMPT,
  type HeartbeatConfig,
  type HeartbeatSummary,
  resolveHeartbeatSummary,
} from "./engine/triggers/heartbeat/heartbeat-config.ts";
export type { HeartbeatRunner } from "./engine/triggers/heartbeat/heartbeat-runner.ts";
export {
  type HeartbeatRunResult,
  type HeartbeatStatus,
  startHeartbeatRunner,
} from "./engine/triggers/heartbeat/heartbeat-runner.ts";
export {
  DEFAULT_HEARTBEAT_ACK_MAX_CHARS,
  stripHeartbeatToken,
} from "./engine/triggers/heartbeat/strip-heartbeat-token.ts";

/** The library's public face: the words, the ports and contracts to build on, the typed errors and the configuration. */

export {
  type ListedBudget,
  liftBudget,
  listBudgets,
  type SpentBy,
  type SpentSince,
  spentSince,
} from "./agents/budget-book.ts";
export { type CompactParams, compactSession } from "./agents/compact-session.ts";
export { buildSubagentSystemPrompt, type SubagentPromptParams } from "./agents/prompt/subagent-prompt.ts";
export {
  initSubagentRegistry,
  listSubagentRunsForRequester,
  registerSubagentRun,
  releaseSubagentRun,
} from "./agents/subagents/registry.ts";
export { runSubagentAnnounceFlow } from "./agents/subagents/report.ts";
export { type SubagentSettings, subagentSettings } from "./agents/subagents/settings.ts";
export type { SpawnRequest, SpawnResult } from "./agents/subagents/spawn.ts";
export { createSessionsSpawnTool, SessionsSpawnToolSchema } from "./agents/subagents/spawn-tools.ts";
export type { SubagentInfo, Subagents, SubagentWait } from "./agents/subagents/subagents.ts";
export { type Config, configDefaults } from "./config/config-schema.ts";
export { createHome } from "./config/create-home.ts";
export { type LoadedConfig, loadConfig, secretWorld } from "./config/load-config.ts";
export { type ConfigNote, parseConfig } from "./config/parse-config.ts";
export { type HomePaths, homePaths, resolveHome } from "./config/paths.ts";
export { Secret, type SecretSource, type SecretWorld } from "./config/secret.ts";
export { type AddressConfig, type Addressed, addressFor, type Conversation } from "./core/address.ts";
export { type AgentRecord, type AgentSeed, DEFAULT_PROFILE, type StopMark } from "./core/agent.ts";
export type { AgentTree, TreeNode, TreeOptions } from "./core/agent-tree.ts";
export {
  type Binding,
  type BindingOrigin,
  type MatchedBy,
  type ResolvedBinding,
  resolveBinding,
} from "./core/binding.ts";
export {
  type BudgetRecord,
  type BudgetScope,
  type Limit,
  type Limits,
  limitsOf,
  type Reservation,
  type Spend,
} from "./core/budget.ts";
export type { BudgetDecision, CallCost } from "./core/budget-decision.ts";
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
} from "./core/change.ts";
export { type Clock, sleep } from "./core/clock.ts";
export type { CompactResult } from "./core/compact-result.ts";
export type { CompactionSettings, ContextLimits, MemoryFlushSettings } from "./core/compaction-settings.ts";
export type {
  Accepted,
  Connector,
  ConnectorCapabilities,
  ConnectorHealth,
  ConnectorHost,
  IncomingCommand,
  IncomingMessage,
  OutgoingDelivery,
  SendResult,
} from "./core/connector.ts";
export type { Delivery, DeliveryContext, DeliveryState, NewDelivery, Payload, SendingClass } from "./core/delivery.ts";
export {
  AGENT_KINDS,
  type AgentDescriptor,
  type AgentFetchStrategy,
  type AgentKind,
  isForeground,
  parseDescriptor,
} from "./core/descriptor.ts";
export type { BusyAgent, Diagnosis } from "./core/diagnosis.ts";
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
} from "./core/entry.ts";
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
  StoreNewerError,
  StoreUnreadableError,
  TimeoutError,
  UsageError,
  WaitCycleError,
} from "./core/errors.ts";
export type { FileReference } from "./core/file-reference.ts";
export type { IdentityLinks } from "./core/identity-links.ts";
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
export type {
  CronIsolation,
  CronJob,
  CronJobState,
  CronPayload,
  CronSchedule,
  CronSessionTarget,
  CronWakeMode,
  Gate,
  MissedPolicy,
  OverlapPolicy,
} from "./core/job.ts";
export type { JobSlot, SlotEnd } from "./core/job-slot.ts";
export { type KeyShape, readSessionKey, sessionKeyCandidates } from "./core/key-shape.ts";
export { type Log, type LogFields, type LogLevel, silentLog } from "./core/log.ts";
export type {
  Message,
  MessageBody,
  MessageKind,
  MessageState,
  NewMessage,
  Source,
} from "./core/message.ts";
export type {
  Model,
  ModelError,
  ModelErrorClass,
  ModelEvent,
  ModelMessage,
  ModelRequest,
  ModelResult,
  ModelTool,
} from "./core/model.ts";
export { isSettable, patchState, type SettableField, type StatePatch } from "./core/patch-state.ts";
export type { FileStore, Ports } from "./core/ports.ts";
export type { QueueDedupeMode, QueueDropPolicy, QueueMode, QueueSettings } from "./core/queue.ts";
export { DEFAULT_RESET_TRIGGERS, parseResetCommand, type ResetCommand } from "./core/reset-command.ts";
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
} from "./core/run.ts";
export {
  resolveSendPolicy,
  SEND_BLOCKED,
  type SendDecision,
  type SendPolicy,
  type SendQuestion,
  type SendRule,
} from "./core/send-policy.ts";
export type { SessionChatType } from "./core/session-entry.ts";
export {
  type ChatKind,
  chatKindOf,
  isStale,
  type ResetConfig,
  type ResetMode,
  type ResetPolicy,
  type ResetSettings,
  resetPolicyFor,
  staleBy,
} from "./core/session-freshness.ts";
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
} from "./core/session-key.ts";
export { type AgentState, parseState, STATE_VERSION } from "./core/state.ts";
export { stateAfterReset } from "./core/state-after-reset.ts";
export type { Line, NodeRecord, Page, Store, StoreReader } from "./core/store.ts";
export type { PersistedSubagentRegistry, SubagentRunOutcome, SubagentRunRecord } from "./core/subagent-run.ts";
export type { SwarmContact, SwarmRecord } from "./core/swarm.ts";
export type { SystemPromptReport } from "./core/system-prompt-report.ts";
export { inheritsParent, type ThreadSettings } from "./core/thread-settings.ts";
export type { Right, Tool, ToolContext, ToolHost, ToolOutput } from "./core/tool.ts";
export { type ExportedSession, type Exporting, exportSession } from "./history/transcript/export-session.ts";
export {
  readTranscript,
  type SessionHeader,
  type Transcript,
  type TranscriptEntry,
} from "./history/transcript/read-transcript.ts";
export { transcriptFileName, writeTranscript } from "./history/transcript/write-transcript.ts";
export { handIn } from "./inbox/hand-in.ts";
export { parseQueueDirective } from "./inbox/queue-directive.ts";
export { normalizeQueueDropPolicy, normalizeQueueMode, resolveQueueSettings } from "./inbox/queue-settings.ts";
export { CronService, type JobView, type SlotView } from "./triggers/cron/cron-service.ts";
export { resolveCronSession } from "./triggers/cron/cron-session.ts";
export { computeNextRunAtMs, nextRunTimes } from "./triggers/cron/schedule.ts";
export {
  DEFAULT_HEARTBEAT_EVERY,
  HEARTBEAT_PROMPT,
  type HeartbeatConfig,
  type HeartbeatSummary,
  resolveHeartbeatSummary,
} from "./triggers/heartbeat/heartbeat-config.ts";
export {
  type HeartbeatRunResult,
  type HeartbeatStatus,
  startHeartbeatRunner,
} from "./triggers/heartbeat/heartbeat-runner.ts";
export { DEFAULT_HEARTBEAT_ACK_MAX_CHARS, stripHeartbeatToken } from "./triggers/heartbeat/strip-token.ts";

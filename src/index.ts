/** The library's public face: the words, the ports and contracts to build on, the typed errors and the configuration. */

export { type Config, configDefaults } from "./config/config-schema.ts";
export { createHome } from "./config/create-home.ts";
export { type LoadedConfig, loadConfig, secretWorld } from "./config/load-config.ts";
export { type ConfigNote, parseConfig } from "./config/parse-config.ts";
export { type HomePaths, homePaths, resolveHome } from "./config/paths.ts";
export { Secret, type SecretSource, type SecretWorld } from "./config/secret.ts";
export { type AgentRecord, type AgentSeed, DEFAULT_PROFILE, type StopMark } from "./core/agent.ts";
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
export type { CronJob, CronPayload, CronSchedule } from "./core/job.ts";
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
export type { FileStore, Ports } from "./core/ports.ts";
export type { QueueDedupeMode, QueueDropPolicy, QueueMode, QueueSettings } from "./core/queue.ts";
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
export { type AgentState, parseState, STATE_VERSION } from "./core/state.ts";
export type { Line, NodeRecord, Page, Store, StoreReader } from "./core/store.ts";
export type { PersistedSubagentRegistry, SubagentRunOutcome, SubagentRunRecord } from "./core/subagent-run.ts";
export type { Right, Tool, ToolContext, ToolHost, ToolOutput } from "./core/tool.ts";
export { parseQueueDirective } from "./inbox/queue-directive.ts";
export { normalizeQueueDropPolicy, normalizeQueueMode, resolveQueueSettings } from "./inbox/queue-settings.ts";

/** `rookery`: an engine in your own program. */

export type { AgentHandle } from "./app/client/agent-handle.ts";
export { OutputInvalidError, type Receipt, RunFailedError } from "./app/client/answer.ts";
export type { GivenFile } from "./app/client/files-resource.ts";
export type { AnswerEvent } from "./app/client/stream-answer.ts";
export { createRookery, type Rookery } from "./app/library/create-rookery.ts";
export { defineConnector } from "./app/library/define-connector.ts";
export { defineTool, type ToolDefinition } from "./app/library/define-tool.ts";
export { fileFromPath } from "./app/library/file-from-path.ts";
export type { RookeryOptions } from "./app/library/rookery-options.ts";
export { HomeInUseError, QueueFullError, RookeryError } from "./core/errors.ts";
export type { Clock } from "./core/ports/clock.ts";
export type { Connector } from "./core/ports/connector.ts";
export type { Log } from "./core/ports/log.ts";
export type { Model, ModelRequest, ModelResult } from "./core/ports/model.ts";
export type { Tool, ToolContext, ToolOutput } from "./core/ports/tool.ts";
export type { Store } from "./core/store/store.ts";

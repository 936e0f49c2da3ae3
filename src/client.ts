/** `rookery/client`: the methods of an engine in another process. */

export type { AgentHandle } from "./app/client/agent-handle.ts";
export { type Answer, OutputInvalidError, type Receipt, RunFailedError } from "./app/client/answer.ts";
export { ApiError, ConnectionLostError } from "./app/client/api.ts";
export type { ConnectedRookery } from "./app/client/connect-url.ts";
export type { FileInfo, GivenFile } from "./app/client/files-resource.ts";
export type { HttpOptions } from "./app/client/http-transport.ts";
export type { RookeryClient } from "./app/client/rookery-client.ts";
export type { AnswerEvent } from "./app/client/stream-answer.ts";
export { type ConnectOptions, connectRookery } from "./app/library/connect-rookery.ts";
export { fileFromPath } from "./app/library/file-from-path.ts";
export { QueueFullError } from "./core/errors.ts";

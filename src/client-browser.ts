/** `rookery/client` in browsers: over HTTP only. */

export type { AgentHandle } from "./app/client/agent-handle.ts";
export { type Answer, OutputInvalidError, type Receipt, RunFailedError } from "./app/client/answer.ts";
export { ApiError, ConnectionLostError } from "./app/client/api.ts";
export { type ConnectedRookery, connectRookery } from "./app/client/connect-url.ts";
export { EngineApi, newKey, pathOf } from "./app/client/engine-api.ts";
export type { ServerEvent } from "./app/client/event-stream.ts";
export type { FileInfo, GivenFile } from "./app/client/files-resource.ts";
export { type HttpOptions, httpTransport } from "./app/client/http-transport.ts";
export type { RookeryClient } from "./app/client/rookery-client.ts";
export type { AnswerEvent } from "./app/client/stream-answer.ts";
export { QueueFullError } from "./core/errors.ts";
export { withShortIds } from "./core/ids.ts";
export { withoutIds } from "./core/message/without-ids.ts";
export { alwaysText, type StoredAlways } from "./core/rights/standing-yes.ts";
export { visibleLine, visibleText } from "./core/visible-text.ts";

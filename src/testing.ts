/** `rookery/testing`: prove your own tools, connectors and programs, offline and against crashes. */

export { type Channel, channel, type ShownWork } from "./app/testing/channel.ts";
export { type ConnectorTrial, checkConnector } from "./app/testing/check-connector.ts";
export { checkStore, type StoreTrial } from "./app/testing/check-store.ts";
export { checkTool, type ToolTrial } from "./app/testing/check-tool.ts";
export { type VirtualClock, virtualClock } from "./app/testing/clock.ts";
export { type ConnectorCase, type ConnectorPlatform, connectorKit } from "./app/testing/connector-kit.ts";
export { crashTool, type ToolCrash } from "./app/testing/crash-tool.ts";
export { TestEngine, type TestEngineOptions } from "./app/testing/engine.ts";
export {
  echo,
  failure,
  inTurn,
  lastText,
  type ModelCall,
  type Reply,
  type Script,
  stall,
} from "./app/testing/model.ts";
export { scripted } from "./app/testing/scripted.ts";
export { type CommitOutcome, dieAt, faultyStore, memoryStore, type OnCommit } from "./app/testing/store.ts";
export { type HeldCall, TestTools, type ToolSpec } from "./app/testing/tools.ts";
export { silentLog } from "./core/ports/log.ts";

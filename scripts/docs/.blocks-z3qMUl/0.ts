import { buildAgentPeerSessionKey, parseQueueDirective, stripHeartbeatToken } from "rookery/compat";

console.log(buildAgentPeerSessionKey({ agentId: "main", channel: "telegram", peerId: "42", dmScope: "per-channel-peer" }));
console.log(parseQueueDirective("/queue collect debounce:2s"), stripHeartbeatToken("HEARTBEAT_OK", { mode: "heartbeat" }));
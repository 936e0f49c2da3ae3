/**
 * The work of one durable message: it is accepted under its session key with a dedupe key, then a step appends an entry of 500
 * bytes, puts the state and settles the message. Every measured way of writing uses the same values.
 */
import type { AgentSeed } from "../../src/core/agent/agent.ts";
import { freshState } from "../../src/core/agent/fresh-state.ts";
import type { AgentState } from "../../src/core/agent/state.ts";
import type { AgentId, EntryId, SessionId, SessionKey } from "../../src/core/ids.ts";
import type { NewMessage } from "../../src/core/message/message.ts";

export const WRITERS = 100;
export const ENTRY_BYTES = 500;
const START = 1_750_000_000_000;
export const KEEP_UNTIL = START * 2;

export const keyOf = (n: number): SessionKey => `agent:main:bench:dm:${n}` as SessionKey;
export const agentIdOf = (n: number): AgentId => `bench${String(n).padStart(19, "0")}` as AgentId;

/** An agent as a first message creates it. */
export function seedOf(n: number): AgentSeed {
  const id = agentIdOf(n);
  const sessionId = `00000000-0000-4000-8000-${String(n).padStart(12, "0")}` as SessionId;
  const descriptor = { type: "user", connector: "bench", userId: String(n), channelId: String(n) } as const;
  return {
    id,
    sessionKey: keyOf(n),
    profile: "main",
    descriptor,
    state: freshState(START),
    sessionId,
    lines: [
      JSON.stringify({ type: "session", version: 2, id: sessionId, timestamp: "2025-06-15T15:06:40.000Z", descriptor }),
      JSON.stringify({ type: "start", id: `${id}-start`, parentId: null, sessionId, timestamp: START }),
    ],
    leaf: `${id}-start` as EntryId,
    createdAt: START,
  };
}

export const messageOf = (agent: number, n: number): NewMessage => ({
  body: { kind: "user", text: `Message ${n}: what is the weather like where you are?`, sender: { id: String(agent) } },
  source: { connector: "bench", channelId: String(agent), messageId: String(n) },
  delivery: { channel: "bench", to: String(agent) },
  acceptedAt: START + n,
});
export const dedupeKeyOf = (agent: number, n: number): string => `bench||${agent}|${n}|`;

export const leafOf = (n: number): EntryId =>
  `${n.toString(16).padStart(8, "0")}-0000-8000-8000-000000000000` as EntryId;

/** One line of history of exactly 500 bytes. */
export function lineOf(n: number, leaf: EntryId): string {
  const head = `{"type":"message","id":"${leaf}","timestamp":${START + n},"role":"assistant","text":"`;
  return `${head}${"a".repeat(ENTRY_BYTES - head.length - 2)}"}`;
}

export const stateOf = (n: number): AgentState => ({ ...freshState(START), updatedAt: START + n, label: "bench" });

/**
 * `pending.json`: what of an agent is not finished (M6). Counters, messages that wait or are taken, the open run with its
 * intents, deliveries that have not ended, and the newest dedupe keys.
 */
import { jsonText } from "./layout.ts";
import type { AgentRow, DedupeRow, DeliveryRow, MessageRow, RunRow } from "./mirror-source.ts";

export const PENDING_VERSION = 1;
/** How many of an agent's newest messages keep their dedupe key in the file. */
export const DEDUPE_KEYS = 200;

export interface PendingRows {
  readonly agent: AgentRow;
  readonly run: RunRow | undefined;
  readonly messages: readonly MessageRow[];
  readonly deliveries: readonly DeliveryRow[];
  readonly dedupe: readonly DedupeRow[];
}

const json = (text: string): unknown => JSON.parse(text);

export function pendingText({ agent, run, messages, deliveries, dedupe }: PendingRows): string {
  const head = {
    version: PENDING_VERSION,
    nextSeq: agent.next_seq,
    nextPos: agent.next_pos,
    leaf: agent.leaf,
    lastHumanAt: agent.last_human_at ?? undefined,
    messages: messages.map((row) => ({
      seq: row.seq,
      state: row.state,
      runId: row.run_id ?? undefined,
      message: json(row.message),
    })),
    run: run && {
      id: run.id,
      sessionId: run.session_id,
      attempt: run.attempt,
      step: run.step,
      startedAt: run.started_at,
      abort: run.abort === null ? undefined : json(run.abort),
      body: json(run.body),
    },
    deliveries: deliveries.map((row) => ({
      id: row.id,
      runId: row.run_id ?? undefined,
      state: row.state,
      attempts: row.attempts,
      nextAt: row.next_at,
      createdAt: row.created_at,
      reason: row.reason ?? undefined,
      target: json(row.target),
      payload: json(row.payload),
    })),
  };
  // One key per line: two hundred of them, each on five lines, would bury the rest.
  const keys = dedupe.map((row) => `    ${JSON.stringify(row)}`).join(",\n");
  return `${jsonText(head).slice(0, -3)},\n  "dedupe": [${keys === "" ? "" : `\n${keys}\n  `}]\n}\n`;
}

/** The dedupe keys of a file that may be missing or broken: then none. */
export function dedupeKeysIn(bytes: Buffer | undefined): readonly string[] {
  try {
    const { dedupe } = JSON.parse(bytes?.toString() ?? "{}") as { dedupe?: readonly (readonly unknown[])[] };
    return (dedupe ?? []).map((row) => row[0]).filter((key) => typeof key === "string");
  } catch {
    return [];
  }
}

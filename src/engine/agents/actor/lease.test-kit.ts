/** An agent's lease that records what it is asked to commit, and the ports beside it. No engine and no store. */
import { seededIds } from "../../../../test/kit/ids.ts";
import { type LogLine, recordingLog } from "../../../../test/kit/log.ts";
import type { NewDelivery } from "../../../core/delivery/delivery.ts";
import type { Message, MessageBody } from "../../../core/message/message.ts";
import type { Settlement } from "../../../core/store/change.ts";
import type { AgentLease, Committing } from "../../runtime/agent-lease.ts";
import { DEFAULT_RUN_SETTINGS, type RunPorts } from "../../runtime/run-ports.ts";

/** When everything happens. */
export const NOW = 500;

/** A waiting message of ann's agent, from a chat. */
export const messageTo = (body: MessageBody, more: Partial<Message> = {}): Message =>
  ({
    ...{ agentId: "a1", seq: 4, id: "a1/4", acceptedAt: 100, body, delivery: { channel: "test", to: "ann" } },
    ...more,
  }) as Message;

export interface RecordedLease {
  readonly lease: AgentLease;
  readonly ports: RunPorts;
  readonly commits: readonly Committing[];
  /** What people are told. */
  readonly shown: readonly string[];
  /** What is said about runs: their position and the event. */
  readonly events: readonly (readonly unknown[])[];
  readonly log: readonly LogLine[];
  settled(): readonly Settlement[];
}

export function recordedLease(more: { lease?: object; record?: object; ports?: object } = {}): RecordedLease {
  const commits: Committing[] = [];
  const shown: string[] = [];
  const events: unknown[][] = [];
  const log: LogLine[] = [];
  const record = {
    ...{ id: "a1", person: "ann", profile: "main", descriptor: { type: "user" }, state: { updatedAt: 1 } },
    ...more.record,
  };
  const lease = {
    ...{ agentId: "a1", node: 3, epoch: 2, sessionId: "s1", nextPos: 5, leaf: "e1", released: false },
    ...{ record, state: record.state },
    commit: async (committing: Committing) => {
      await new Promise((resolve) => setImmediate(resolve));
      // Who does not wait for the commit does not find it here.
      commits.push(committing);
      return { ok: true, results: [] };
    },
    ...more.lease,
  };
  const ports = {
    ...{ ids: seededIds("lease"), clock: { now: () => NOW }, posted: () => {} },
    ...{ settings: { ...DEFAULT_RUN_SETTINGS, timeoutMs: 1_000 }, tools: { find: () => undefined } },
    ...{ log: recordingLog(log), events: { emit: (...all: unknown[]) => void events.push(all) } },
    connectors: new Map([["test", { capabilities: {} }]]),
    onDeliveries: (all: readonly NewDelivery[]) => void shown.push(...all.map(({ payload }) => payload.text ?? "")),
    ...more.ports,
  };
  const settled = () =>
    commits.flatMap(({ ops }) => ops.flatMap((op) => (op.op === "message.settle" ? op.settlements : [])));
  const made = { lease: lease as unknown as AgentLease, ports: ports as unknown as RunPorts };
  return { ...made, commits, shown, events, log, settled };
}

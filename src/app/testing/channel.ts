/** A channel outside the engine: it records everything sent to it, also over restarts. */
import type { SendingClass } from "../../core/delivery/delivery.ts";
import type {
  Connector,
  ConnectorCapabilities,
  ConnectorHost,
  OutgoingDelivery,
  SendResult,
  ShownRun,
} from "../../core/ports/connector.ts";
import { type Activity, type TestProcess, whileAlive } from "./process.ts";

export type Sending = (delivery: OutgoingDelivery, n: number, signal: AbortSignal) => SendResult | Promise<SendResult>;

/** A run as people see it before its answer. */
export interface ShownWork extends ShownRun {
  /** Each text and status line that was shown, in order. */
  readonly lines: readonly string[];
  readonly isOpen: boolean;
}

export interface Channel {
  readonly name: string;
  readonly sendingClass: SendingClass;
  /** Every send, whether or not it was confirmed. */
  readonly calls: OutgoingDelivery[];
  /** The messages that people see: an idempotent channel shows the same id once. */
  readonly shown: () => readonly string[];
  readonly lookups: OutgoingDelivery[];
  sending: Sending;
  lookup: (delivery: OutgoingDelivery) => Promise<"arrived" | "absent" | "unknown">;
  maxTextLength?: number;
  /** Beyond sending texts. */
  capabilities?: Partial<ConnectorCapabilities>;
  /** Whether the channel shows work in progress. `work` lists what it has shown. */
  showsWork?: boolean;
  readonly work: ShownWork[];
  /** Called when a process starts or stops its connector. */
  onStart?: (host: ConnectorHost) => Promise<unknown>;
  onStop?: () => Promise<unknown>;
  /** How long a send must wait for its turn. */
  admit?: () => number;
  /** Another node has the connector. */
  isRemote?: () => boolean;
}

export function channel(name: string, sendingClass: SendingClass = "idempotent"): Channel {
  const calls: OutgoingDelivery[] = [];
  return {
    name,
    sendingClass,
    calls,
    lookups: [],
    work: [],
    shown() {
      const seen = new Set<string>();
      return calls.flatMap(({ id, payload }) => {
        if (sendingClass === "idempotent" && seen.has(id)) return [];
        seen.add(id);
        return [payload.text ?? ""];
      });
    },
    sending: () => ({ status: "sent" }),
    lookup: async () => "unknown",
  };
}

/** The connector by which one process reaches a channel. */
export function connectorTo(
  channel: Channel,
  process: TestProcess,
  deps: { readonly activity: Activity; onStart(host: ConnectorHost): void },
): Connector {
  const { name, sendingClass, maxTextLength, calls, lookups } = channel;
  const view: Connector["view"] = (_target, run) => {
    const work = { ...run, lines: [] as string[], isOpen: true };
    channel.work.push(work);
    return {
      text: (text) => void work.lines.push(text),
      status: (line) => void work.lines.push(line),
      close: () => {
        work.isOpen = false;
      },
    };
  };
  return {
    name,
    sendingClass,
    capabilities: { sendText: true, maxTextLength, ...channel.capabilities },
    get view() {
      return channel.showsWork ? view : undefined;
    },
    start: async (host) => {
      deps.onStart(host);
      await channel.onStart?.(host);
    },
    stop: async () => void (await channel.onStop?.()),
    health: () => ({ ok: true, detail: "" }),
    admit: () => channel.admit?.() ?? 0,
    isRemote: () => channel.isRemote?.() ?? false,
    send: (delivery, signal) =>
      whileAlive(process, async () => {
        deps.activity.count += 1;
        calls.push(delivery);
        return channel.sending(delivery, calls.length, signal);
      }),
    lookup: (delivery) =>
      whileAlive(process, async () => {
        lookups.push(delivery);
        return channel.lookup(delivery);
      }),
  };
}

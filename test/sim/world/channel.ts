/**
 * A channel as the outside world runs it: it outlives every process. It hands messages in until they are acknowledged
 * (doubled, out of order, again after the acknowledgement), and remembers what it was given to show and what it showed.
 * The auditor judges by these records.
 */

import type { SendingClass } from "../../../src/core/delivery/delivery.ts";
import type { IncomingMessage } from "../../../src/core/message/incoming-message.ts";
import type {
  Connector,
  ConnectorHost,
  IncomingCommand,
  OutgoingDelivery,
  SendResult,
} from "../../../src/core/ports/connector.ts";
import type { Random } from "../../kit/random.ts";
import type { EventLog } from "./event-log.ts";
import type { Faults } from "./faults.ts";
import type { SimProcess } from "./process.ts";
import type { Scheduler } from "./scheduler.ts";

/** What somebody out there wrote. */
export interface Inbound {
  readonly message: IncomingMessage | IncomingCommand;
  readonly token: string | undefined;
  readonly writtenAt: number;
  handedAt: number | undefined;
  acknowledgedAt: number | undefined;
  handed: number;
}

/** One attempt to send that reached the channel. */
export interface SendRecord {
  readonly at: number;
  readonly process: string;
  readonly deliveryId: string;
  readonly to: string;
  /** The place within `to`, if the target names one. */
  readonly thread: string;
  readonly text: string;
  readonly shown: boolean;
  readonly result: SendResult["status"];
}

export interface Channel {
  readonly name: string;
  readonly sendingClass: SendingClass;
  readonly inbound: readonly Inbound[];
  readonly sends: readonly SendRecord[];
  /** Somebody writes. */
  write(message: IncomingMessage | IncomingCommand, token: string | undefined): void;
  /** The connector one process has to this channel. */
  connector(process: SimProcess): Connector;
}

export interface ChannelWorld {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly log: EventLog;
  readonly faults: Faults;
}

interface Receiver {
  readonly process: SimProcess;
  readonly host: ConnectorHost;
}

/** Longest time a request of a dead process may still be on its way, unless it is a slow one; shorter than a restart. */
const LATENCY = 120;

export function makeChannel(world: ChannelWorld, name: string, sendingClass: SendingClass): Channel {
  const { scheduler, random, log, faults } = world;
  const inbound: Inbound[] = [];
  const sends: SendRecord[] = [];
  const shownIds = new Set<string>();
  const refusedIds = new Set<string>();
  let receivers: Receiver[] = [];

  function submitText(item: Inbound): void {
    receivers = receivers.filter(({ process }) => process.state !== "dead");
    const up = receivers.filter(({ process }) => process.state === "up");
    scheduler.after(random.int(1_500, 4_000), () => {
      if (item.acknowledgedAt === undefined) submitText(item);
    });
    if (up.length === 0) return;
    item.handedAt ??= scheduler.time;
    item.handed += 1;
    give(random.pick(up), item);
    if (random.chance(faults.channel.duplicate)) {
      item.handed += 1;
      const other = random.pick(up);
      scheduler.after(random.int(0, 60), () => give(other, item));
    }
  }

  function give({ process, host }: Receiver, item: Inbound): void {
    const { message } = item;
    item.handedAt ??= scheduler.time;
    process.enter(() => {
      log.write(process.name, `hears ${name} ${message.messageId}`);
      const accepted = "command" in message ? host.command(message) : host.accept(message);
      accepted.then(
        () =>
          process.call<void>("acknowledge", name, (answer) => {
            acknowledge(item);
            scheduler.after(1, () => answer({ value: undefined }));
          }),
        (error: unknown) => log.write(process.name, `cannot accept ${message.messageId}: ${String(error)}`),
      );
    });
  }

  function acknowledge(item: Inbound): void {
    if (item.acknowledgedAt !== undefined) return;
    item.acknowledgedAt = scheduler.time;
    log.write(name, `${item.message.messageId} is acknowledged`);
    if (random.chance(faults.channel.redeliver)) scheduler.after(random.int(10, 6_000), () => submitText(item));
  }

  /** What becomes of a send: whether it is let through to be shown, and what its sender is told. */
  function fateOf(id: string): { readonly shows: boolean; readonly result: SendResult } {
    const refused: SendResult = { status: "refused", reason: "no such recipient" };
    const unknown: SendResult = { status: "unknown", reason: "timed out" };
    if (refusedIds.has(id)) return { shows: false, result: refused };
    const { retry, refuse, shownUnknown, hiddenUnknown } = faults.channel;
    const fault = faults.active ? random.next() : 1;
    if (fault < retry) return { shows: false, result: { status: "retry", reason: "try again" } };
    if (fault < retry + refuse && !shownIds.has(id)) {
      refusedIds.add(id);
      return { shows: false, result: refused };
    }
    if (fault < retry + refuse + shownUnknown) return { shows: true, result: unknown };
    if (fault < retry + refuse + shownUnknown + hiddenUnknown) return { shows: false, result: unknown };
    return { shows: true, result: { status: "sent", receipt: `${name}-${sends.length + 1}` } };
  }

  /** A send arrives: it is shown or not, and remembered. */
  function receive(process: SimProcess, delivery: OutgoingDelivery): SendResult {
    const { id, target, payload } = delivery;
    const { shows, result } = fateOf(id);
    // An idempotent channel knows the id again and shows it once.
    const shown = shows && !(sendingClass === "idempotent" && shownIds.has(id));
    if (shown) shownIds.add(id);
    const to = target.to ?? "";
    const thread = String(target.threadId ?? "");
    const text = payload.text ?? "";
    sends.push({
      at: scheduler.time,
      process: process.name,
      deliveryId: id,
      to,
      thread,
      text,
      shown,
      result: result.status,
    });
    log.write(name, `gets ${id} from ${process.name}: ${result.status}${shown ? ", shown" : ""}`);
    return result;
  }

  return {
    name,
    sendingClass,
    inbound,
    sends,
    write(message, token) {
      const item: Inbound = {
        message,
        token,
        writtenAt: scheduler.time,
        handedAt: undefined,
        acknowledgedAt: undefined,
        handed: 0,
      };
      inbound.push(item);
      scheduler.after(random.chance(0.1) ? random.int(0, 400) : random.int(0, 30), () => submitText(item));
    },
    connector(process) {
      const connector: Connector = {
        name,
        sendingClass,
        capabilities: { sendText: true },
        async start(host) {
          receivers.push({ process, host });
        },
        stop: () =>
          new Promise((resolve) => {
            // It takes a moment, and what was on its way in then still arrives, even afterwards.
            scheduler.after(random.int(0, 60), () => {
              const stopped = receivers.find((receiver) => receiver.process === process);
              receivers = receivers.filter((receiver) => receiver.process !== process);
              const late = inbound.find(({ acknowledgedAt }) => acknowledgedAt === undefined);
              if (stopped && late) scheduler.after(random.int(0, 300), () => give(stopped, late));
              process.enter(resolve);
            });
          }),
        health: () => ({ ok: true, detail: "simulated" }),
        send: (delivery, signal) =>
          process.call<SendResult>("send", name, (answer) => {
            let open = true;
            const tell = (value: SendResult, ms: number): void => {
              if (!open) return;
              open = false;
              scheduler.after(ms, () => answer({ value }));
            };
            const slow = faults.active && random.chance(faults.channel.slow);
            scheduler.after(slow ? random.int(300, 4_000) : random.int(5, LATENCY), () => {
              const result = receive(process, delivery);
              tell(result, result.status === "unknown" ? random.int(500, 2_000) : random.int(5, 60));
            });
            signal.addEventListener("abort", () => tell({ status: "unknown", reason: "aborted" }, 0), { once: true });
          }),
      };
      if (sendingClass !== "reconcilable") return connector;
      return {
        ...connector,
        lookup: (delivery) =>
          process.call("lookup", name, (answer) => {
            scheduler.after(random.int(5, LATENCY), () => {
              const blind = faults.active && random.chance(faults.channel.lookupUnknown);
              const value = blind ? "unknown" : shownIds.has(delivery.id) ? "arrived" : "absent";
              scheduler.after(random.int(5, 30), () => answer({ value }));
            });
          }),
      };
    },
  };
}

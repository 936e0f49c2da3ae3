/**
 * A channel of the outside world: it outlives every process. It submits each message until it is acknowledged
 * (doubled, out of order, again after the acknowledgement) and records every send and what it showed. The auditor judges
 * by these records.
 */
import type { SendingClass } from "../../../src/core/delivery/delivery.ts";
import { TooLargeError } from "../../../src/core/errors.ts";
import type { FileReference } from "../../../src/core/file-reference.ts";
import type { IncomingMessage } from "../../../src/core/message/incoming-message.ts";
import type {
  Accepted,
  Connector,
  ConnectorHost,
  DeliveryReceipt,
  IncomingCommand,
  OutgoingDelivery,
  SendResult,
} from "../../../src/core/ports/connector.ts";
import type { Random } from "../../kit/random.ts";
import type { EventLog } from "./event-log.ts";
import type { Faults } from "./faults.ts";
import type { SimProcess } from "./process.ts";
import { Receipts } from "./receipts.ts";
import type { Scheduler } from "./scheduler.ts";
import { directivesIn } from "./tokens.ts";

/** A message or command that a person wrote. */
export interface Inbound {
  readonly message: IncomingMessage | IncomingCommand;
  readonly token: string | undefined;
  readonly writtenAt: number;
  /** When it was first submitted. */
  submittedAt: number | undefined;
  acknowledgedAt: number | undefined;
  /** How often it was submitted. */
  submitted: number;
  /** What the program said to it: a stranger's message is refused, and not accepted. */
  accepted?: boolean;
  refused?: boolean;
}

/** One attempt to send that reached the channel. */
export interface SendRecord {
  readonly at: number;
  readonly process: string;
  readonly deliveryId: string;
  readonly attempt?: number;
  readonly to: string;
  /** The place within `to`, if the target names one. */
  readonly thread: string;
  readonly text: string;
  readonly shown: boolean;
  readonly result: SendResult["status"];
  /** What a channel with receipts says about it later; undefined if it never does. */
  readonly later?: DeliveryReceipt["status"];
}

export interface ChannelDeps {
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

export class Channel {
  readonly name: string;
  readonly sendingClass: SendingClass;
  readonly inbound: Inbound[] = [];
  readonly sends: SendRecord[] = [];
  /** Deliveries of a mailbox that a reader has acknowledged, whether or not a node has heard it. */
  readonly acknowledged = new Set<string>();
  /** Whether a process that starts now has a connector to this channel. */
  readonly connected: () => boolean;
  /** Of a channel that says later what became of a message. */
  readonly receipts: Receipts | undefined;
  readonly #deps: ChannelDeps;
  readonly #shownIds = new Set<string>();
  readonly #refusedIds = new Set<string>();
  #receivers: Receiver[] = [];

  constructor(
    deps: ChannelDeps,
    name: string,
    sendingClass: SendingClass,
    {
      connected = () => true,
      receipts = false,
    }: { readonly connected?: () => boolean; readonly receipts?: boolean } = {},
  ) {
    this.#deps = deps;
    this.connected = connected;
    this.receipts = receipts ? new Receipts(deps, name, () => this.#receivers) : undefined;
    this.name = name;
    this.sendingClass = sendingClass;
  }

  /** A person writes. */
  write(message: IncomingMessage | IncomingCommand, token: string | undefined): void {
    const { scheduler, random } = this.#deps;
    const item: Inbound = {
      message,
      token,
      writtenAt: scheduler.time,
      submittedAt: undefined,
      acknowledgedAt: undefined,
      submitted: 0,
    };
    this.inbound.push(item);
    scheduler.after(random.chance(0.1) ? random.int(0, 400) : random.int(0, 30), () => this.#submit(item));
  }

  /** A reader has taken a delivery out of a mailbox. It recognises an id it has shown before. */
  show({ id, target, payload }: OutgoingDelivery, from: string): void {
    const shown = !this.#shownIds.has(id);
    this.#shownIds.add(id);
    const place = { to: target.to ?? "", thread: String(target.threadId ?? ""), text: payload.text ?? "" };
    const at = this.#deps.scheduler.time;
    this.sends.push({ at, process: from, deliveryId: id, ...place, shown, result: "sent" });
    this.#deps.log.write(this.name, `a reader gets ${id}${shown ? ", shown" : " again"}`);
  }

  /** The connector of one process to this channel. */
  connector(process: SimProcess): Connector {
    const { name, sendingClass } = this;
    const connector: Connector = {
      name,
      sendingClass,
      capabilities: { sendText: true },
      start: async (host) => void this.#receivers.push({ process, host }),
      stop: () => this.#stop(process),
      health: () => ({ ok: true, detail: "simulated" }),
      send: (delivery, signal) => this.#send(process, delivery, signal),
    };
    if (sendingClass !== "reconcilable") return connector;
    return { ...connector, lookup: (delivery) => this.#lookup(process, delivery) };
  }

  /** Submits the message to some node, and again until it is acknowledged. */
  #submit(item: Inbound): void {
    const { scheduler, random, faults } = this.#deps;
    this.#receivers = this.#receivers.filter(({ process }) => process.state !== "dead");
    const up = this.#receivers.filter(({ process }) => process.state === "up");
    scheduler.after(random.int(1_500, 4_000), () => {
      if (item.acknowledgedAt === undefined) this.#submit(item);
    });
    if (up.length === 0) return;
    item.submittedAt ??= scheduler.time;
    item.submitted += 1;
    this.#give(random.pick(up), item);
    if (random.chance(faults.channel.duplicate)) {
      item.submitted += 1;
      const other = random.pick(up);
      scheduler.after(random.int(0, 60), () => this.#give(other, item));
    }
  }

  #give({ process, host }: Receiver, item: Inbound): void {
    const { scheduler, log } = this.#deps;
    const { message } = item;
    item.submittedAt ??= scheduler.time;
    process.enter(() => {
      log.write(process.name, `receives ${this.name} ${message.messageId}`);
      const accepted = "command" in message ? host.command(message) : this.#accept(host, message);
      accepted.then(
        ({ status }) =>
          process.call<void>("acknowledge", this.name, (answer) => {
            if (status === "refused") item.refused = true;
            else item.accepted = true;
            this.#acknowledge(item);
            scheduler.after(1, () => answer({ value: undefined }));
          }),
        (error: unknown) => log.write(process.name, `cannot accept ${message.messageId}: ${String(error)}`),
      );
    });
  }

  /** A file is stored before its message; over the quota the message comes without. */
  async #accept(host: ConnectorHost, message: IncomingMessage): Promise<Accepted> {
    const directives = [...directivesIn(message.text).values()].flat();
    const put = async (name: string): Promise<FileReference | undefined> => {
      const data = new TextEncoder().encode(`${name} `.repeat(20));
      try {
        return await host.files?.put({ data, name: `${name}.txt`, userId: message.userId });
      } catch (error) {
        if (error instanceof TooLargeError) return undefined;
        throw error;
      }
    };
    if (directives.includes("file:unused")) await put(`unused-${message.messageId}`);
    const file = directives.includes("file") ? await put(`sent-${message.messageId}`) : undefined;
    return host.accept(file ? { ...message, files: [file] } : message);
  }

  #acknowledge(item: Inbound): void {
    const { scheduler, random, log, faults } = this.#deps;
    if (item.acknowledgedAt !== undefined) return;
    item.acknowledgedAt = scheduler.time;
    log.write(this.name, `${item.message.messageId} is acknowledged`);
    if (random.chance(faults.channel.redeliver)) scheduler.after(random.int(10, 6_000), () => this.#submit(item));
  }

  /** Stopping takes a moment. Messages in flight still arrive, even afterwards. */
  #stop(process: SimProcess): Promise<void> {
    const { scheduler, random } = this.#deps;
    return new Promise((resolve) => {
      scheduler.after(random.int(0, 60), () => {
        const stopped = this.#receivers.find((receiver) => receiver.process === process);
        this.#receivers = this.#receivers.filter((receiver) => receiver.process !== process);
        const late = this.inbound.find(({ acknowledgedAt }) => acknowledgedAt === undefined);
        if (stopped && late) scheduler.after(random.int(0, 300), () => this.#give(stopped, late));
        process.enter(resolve);
      });
    });
  }

  #send(process: SimProcess, delivery: OutgoingDelivery, signal: AbortSignal): Promise<SendResult> {
    const { scheduler, random, faults } = this.#deps;
    return process.call<SendResult>("send", this.name, (answer) => {
      let open = true;
      const end = (value: SendResult, ms: number): void => {
        if (!open) return;
        open = false;
        scheduler.after(ms, () => answer({ value }));
      };
      const slow = faults.active && random.chance(faults.channel.slow);
      scheduler.after(slow ? random.int(300, 4_000) : random.int(5, LATENCY), () => {
        const result = this.#receive(process, delivery);
        end(result, result.status === "unknown" ? random.int(500, 2_000) : random.int(5, 60));
      });
      signal.addEventListener("abort", () => end({ status: "unknown", reason: "aborted" }, 0), { once: true });
    });
  }

  /** A send arrives: it is shown or not, and recorded. */
  #receive(process: SimProcess, { id, attempt = 1, target, payload }: OutgoingDelivery): SendResult {
    const { scheduler, log } = this.#deps;
    const { shows, result } = this.#decide(id);
    const later = shows ? this.receipts?.decide() : undefined;
    // An idempotent channel recognises the id and shows it once.
    const isNew = !(this.sendingClass === "idempotent" && this.#shownIds.has(id));
    const shown = shows && isNew && (later ?? "arrived") === "arrived";
    if (shown) this.#shownIds.add(id);
    if (later) this.receipts?.add(id, attempt, later, `${this.name}-${this.sends.length + 1}`);
    this.sends.push({
      at: scheduler.time,
      process: process.name,
      deliveryId: id,
      attempt,
      to: target.to ?? "",
      thread: String(target.threadId ?? ""),
      text: payload.text ?? "",
      shown,
      result: result.status,
      later,
    });
    log.write(this.name, `gets ${id} from ${process.name}: ${result.status}${shown ? ", shown" : ""}`);
    return result;
  }

  /** Whether a send is shown, and the answer its sender gets. */
  #decide(id: string): { readonly shows: boolean; readonly result: SendResult } {
    const { random, faults } = this.#deps;
    const refused: SendResult = { status: "refused", reason: "no such recipient" };
    const unknown: SendResult = { status: "unknown", reason: "timed out" };
    if (this.#refusedIds.has(id)) return { shows: false, result: refused };
    const { retry, refuse, shownUnknown, hiddenUnknown } = faults.channel;
    const fault = faults.active ? random.next() : 1;
    if (fault < retry) return { shows: false, result: { status: "retry", reason: "try again" } };
    if (fault < retry + refuse && !this.#shownIds.has(id)) {
      this.#refusedIds.add(id);
      return { shows: false, result: refused };
    }
    if (fault < retry + refuse + shownUnknown) return { shows: true, result: unknown };
    if (fault < retry + refuse + shownUnknown + hiddenUnknown) return { shows: false, result: unknown };
    return { shows: true, result: { status: "sent", receipt: `${this.name}-${this.sends.length + 1}` } };
  }

  #lookup(process: SimProcess, { id }: OutgoingDelivery): Promise<"arrived" | "absent" | "unknown"> {
    const { scheduler, random, faults } = this.#deps;
    return process.call("lookup", this.name, (answer) => {
      scheduler.after(random.int(5, LATENCY), () => {
        const blind = faults.active && random.chance(faults.channel.lookupUnknown);
        const value = blind ? "unknown" : this.#shownIds.has(id) ? "arrived" : "absent";
        scheduler.after(random.int(5, 30), () => answer({ value }));
      });
    });
  }
}

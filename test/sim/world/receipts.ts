/**
 * What a channel says about a message after the send has ended, as a platform does that brings statuses: late, twice, in any order, before
 * the answer of the send, and until they are acknowledged. Each is about one attempt.
 */
import type { DeliveryId } from "../../../src/core/ids.ts";
import type { ConnectorHost, DeliveryReceipt } from "../../../src/core/ports/connector.ts";
import type { ChannelDeps } from "./channel.ts";
import type { SimProcess } from "./process.ts";

/** One status. It is true: `arrived` was shown, the others were not. */
export interface StatusRecord extends DeliveryReceipt {
  readonly attempt: number;
  acknowledgedAt: number | undefined;
}

interface Receiver {
  readonly process: SimProcess;
  readonly host: ConnectorHost;
}

export class Receipts {
  readonly records: StatusRecord[] = [];
  readonly #deps: ChannelDeps;
  readonly #name: string;
  readonly #receivers: () => readonly Receiver[];

  constructor(deps: ChannelDeps, name: string, receivers: () => readonly Receiver[]) {
    this.#deps = deps;
    this.#name = name;
    this.#receivers = receivers;
  }

  /** How a send that the platform has taken goes on: shown, or not for a reason that comes later. */
  decide(): DeliveryReceipt["status"] {
    const { random, faults } = this.#deps;
    if (!faults.active || random.chance(0.6)) return "arrived";
    return random.chance(0.5) ? "again" : "failed";
  }

  add(deliveryId: string, attempt: number, status: DeliveryReceipt["status"], receipt: string): void {
    const { scheduler, random } = this.#deps;
    const reason = status === "arrived" ? undefined : `${status} on ${this.#name}`;
    const record: StatusRecord = {
      ...{ deliveryId: deliveryId as DeliveryId, attempt, status, receipt, reason, acknowledgedAt: undefined },
    };
    this.records.push(record);
    // The platform has it before its sender has the answer.
    const soon = random.chance(0.3) ? 0 : random.int(1, 400);
    scheduler.after(random.chance(0.2) ? random.int(1_000, 9_000) : soon, () => this.#bring(record));
  }

  #bring(record: StatusRecord): void {
    const { scheduler, random, faults } = this.#deps;
    scheduler.after(random.int(1_500, 4_000), () => {
      if (record.acknowledgedAt === undefined) this.#bring(record);
    });
    const up = this.#receivers().filter(({ process }) => process.state === "up");
    if (up.length === 0) return;
    this.#give(random.pick(up), record);
    if (!random.chance(faults.channel.duplicate)) return;
    const other = random.pick(up);
    scheduler.after(random.int(0, 60), () => this.#give(other, record));
  }

  #give({ process, host }: Receiver, record: StatusRecord): void {
    const { scheduler, log } = this.#deps;
    const { deliveryId, attempt, status } = record;
    const { acknowledgedAt: _, ...receipt } = record;
    process.enter(() => {
      log.write(process.name, `hears that ${deliveryId} (${attempt}) has ${status}`);
      (host.receipt?.(receipt) ?? Promise.resolve()).then(
        () =>
          process.call<void>("acknowledge", `${this.#name}.receipt`, (answer) => {
            this.#acknowledge(record);
            scheduler.after(1, () => answer({ value: undefined }));
          }),
        (error: unknown) => log.write(process.name, `cannot take a receipt of ${deliveryId}: ${String(error)}`),
      );
    });
  }

  #acknowledge(record: StatusRecord): void {
    const { scheduler, random, faults } = this.#deps;
    if (record.acknowledgedAt !== undefined) return;
    record.acknowledgedAt = scheduler.time;
    if (random.chance(faults.channel.redeliver)) scheduler.after(random.int(10, 6_000), () => this.#bring(record));
  }
}

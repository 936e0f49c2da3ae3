/** Shared by the cases of the contract kit: a host in memory, waiting, sending. */
import type { SendingClass } from "../../../core/delivery/delivery.ts";
import { type IncomingMessage, promptText, typedText } from "../../../core/message/incoming-message.ts";
import type {
  Accepted,
  Connector,
  ConnectorHost,
  IncomingCommand,
  OutgoingDelivery,
  SendResult,
} from "../../../core/ports/connector.ts";
import type { ConnectorPlatform } from "../connector-kit.ts";

export interface KitCase {
  readonly name: string;
  play(platform: ConnectorPlatform): Promise<void>;
}

export function fail(what: string): never {
  throw new TypeError(what);
}

export function check(holds: boolean, what: string): void {
  if (!holds) fail(what);
}

const REFUSED: Accepted = { status: "refused", say: "I do not know you yet." };

/** A host that stores in memory, and can be out of order. */
export class MemoryHost implements ConnectorHost {
  readonly messages: IncomingMessage[] = [];
  readonly typed: IncomingCommand[] = [];
  broken = false;
  /** Everyone is a stranger. */
  closed = false;
  stops = 0;

  /** Each message as the model would read it. */
  get prompts(): readonly string[] {
    return this.messages.map(({ text, decoration }) => promptText(typedText(text), decoration));
  }

  async stopRun(): Promise<boolean> {
    this.stops += 1;
    return false;
  }

  async entry(): Promise<Accepted | undefined> {
    return this.closed ? REFUSED : undefined;
  }

  async accept(message: IncomingMessage): Promise<Accepted> {
    if (this.broken) throw Object.assign(new TypeError("The store does not answer."), { retryable: true });
    if (this.closed) return REFUSED;
    const known = this.messages.some((one) => keyOf(one) === keyOf(message));
    if (!known) this.messages.push(message);
    return { status: known ? "duplicate" : "accepted", agentId: "a" as never, messageId: "a:1" as never };
  }

  async command(command: IncomingCommand): Promise<Accepted> {
    if (this.broken) throw Object.assign(new TypeError("The store does not answer."), { retryable: true });
    this.typed.push(command);
    return { status: "accepted", agentId: "a" as never, messageId: "a:1" as never };
  }
}

const keyOf = ({ connector, accountId, channelId, messageId, revision }: IncomingMessage): string =>
  JSON.stringify([connector, accountId, channelId, messageId, revision]);

const RESULTS: readonly SendResult["status"][] = ["sent", "refused", "retry", "unknown"];
export const WAIT_MS = 8_000;

/** Lets time pass on the platform. */
export const wait = (platform: ConnectorPlatform, ms: number): Promise<void> =>
  platform.wait?.(ms) ?? new Promise((resolve) => setTimeout(resolve, ms));

export async function until(platform: ConnectorPlatform, holds: () => boolean, what: string): Promise<void> {
  for (const end = performance.now() + WAIT_MS; !holds(); await wait(platform, 10)) {
    if (performance.now() > end) fail(what);
  }
}

let deliveries = 0;
export const deliveryTo = ({ target }: ConnectorPlatform, text: string): OutgoingDelivery => ({
  id: `kit-${++deliveries}.0` as OutgoingDelivery["id"],
  target,
  payload: { text },
});

/** Lets time pass until it has settled. */
export async function during<T>(platform: ConnectorPlatform, work: Promise<T>): Promise<T> {
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  over.catch(() => undefined);
  await until(platform, () => isOver, "something took too long");
  return over;
}

export async function started(platform: ConnectorPlatform, host: ConnectorHost): Promise<Connector> {
  const connector = await platform.connector();
  await connector.start(host);
  return connector;
}

export async function sendNow(
  platform: ConnectorPlatform,
  connector: Connector,
  delivery: OutgoingDelivery,
): Promise<SendResult> {
  const admitted = (): number => connector.admit?.(delivery.target) ?? 0;
  for (let ms = admitted(); ms > 0; ms = admitted()) await wait(platform, ms);
  const sending = connector.send(delivery, AbortSignal.timeout(WAIT_MS)).catch(() => fail("`send` throws"));
  const result = await during(platform, sending);
  check(RESULTS.includes(result.status), `\`send\` returned the status ${String(result.status)}`);
  return result;
}

/** How an unknown outcome may end, by what the channel can tell. */
export const AFTER_LOSS: Readonly<Record<SendingClass, readonly SendResult["status"][]>> = {
  ambiguous: ["unknown"],
  reconcilable: ["unknown"],
  // The same id may be sent again: the channel shows it once.
  idempotent: ["unknown", "retry", "sent"],
};

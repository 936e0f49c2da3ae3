/**
 * The contract of a connector as cases that any test runner can run against a fake of its platform: what comes in is acknowledged after
 * it is stored and is the same message when it comes again; what goes out ends in one of four ways, and an unknown end is never
 * repeated by the connector itself.
 */
import type { SendingClass } from "../../core/delivery/delivery.ts";
import type { IncomingMessage } from "../../core/message/incoming-message.ts";
import type {
  Accepted,
  Connector,
  ConnectorHost,
  IncomingCommand,
  OutgoingDelivery,
  SendResult,
} from "../../core/ports/connector.ts";

/** A platform for the connector under test. A case that the platform cannot play is left out. */
export interface ConnectorPlatform {
  /** A new connector to the same platform, as a new process has it. */
  connector(): Connector | Promise<Connector>;
  /** A person writes. Returns something that names the message. Absent: nothing comes in on this channel. */
  say?(text: string): Promise<unknown> | unknown;
  /** The same message is brought again. */
  sayAgain?(said: unknown): Promise<void> | void;
  /** Whether the platform was told that everything brought so far is done with. */
  isAcknowledged?(): boolean;
  /** Resolves when the connector has had the time to read what was brought. */
  settled?(): Promise<void>;
  /** Where a delivery can be sent. */
  readonly target: OutgoingDelivery["target"];
  /** The texts that people see. */
  shown(): readonly string[];
  /** The next send fails: never accepted, accepted and the answer lost, refused for good, or refused for now. */
  failNext?(how: "not-sent" | "lost-answer" | "refused" | "rate"): void;
}

export interface ConnectorCase {
  readonly name: string;
  /** Rejects with what is wrong. */
  run(): Promise<void>;
}

/** Every case that this platform can play, for `it.each` of any test runner. */
export function connectorKit(platform: () => ConnectorPlatform | Promise<ConnectorPlatform>): readonly ConnectorCase[] {
  return CASES.map(({ name, play }) => ({ name, run: async () => play(await platform()) }));
}

interface Case {
  readonly name: string;
  play(platform: ConnectorPlatform): Promise<void>;
}

function fail(what: string): never {
  throw new TypeError(what);
}

function check(holds: boolean, what: string): void {
  if (!holds) fail(what);
}

/** A host that stores in memory, and can be out of order. */
class MemoryHost implements ConnectorHost {
  readonly messages: IncomingMessage[] = [];
  readonly typed: IncomingCommand[] = [];
  broken = false;

  async accept(message: IncomingMessage): Promise<Accepted> {
    if (this.broken) throw Object.assign(new TypeError("The store does not answer."), { retryable: true });
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
const WAIT_MS = 8_000;

async function until(holds: () => boolean, what: string): Promise<void> {
  const end = performance.now() + WAIT_MS;
  while (!holds()) {
    if (performance.now() > end) fail(what);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

let deliveries = 0;
const deliveryTo = ({ target }: ConnectorPlatform, text: string): OutgoingDelivery => ({
  id: `kit-${++deliveries}.0` as OutgoingDelivery["id"],
  target,
  payload: { text },
});

async function started(platform: ConnectorPlatform, host: ConnectorHost): Promise<Connector> {
  const connector = await platform.connector();
  await connector.start(host);
  return connector;
}

async function sendNow(connector: Connector, delivery: OutgoingDelivery): Promise<SendResult> {
  for (let wait = connector.admit?.(delivery.target) ?? 0; wait > 0; wait = connector.admit?.(delivery.target) ?? 0) {
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
  const result = await connector.send(delivery, AbortSignal.timeout(WAIT_MS)).catch(() => fail("`send` throws"));
  check(RESULTS.includes(result.status), `\`send\` returned the status ${String(result.status)}`);
  return result;
}

/** How an unknown outcome may end, by what the channel can tell. */
const AFTER_LOSS: Readonly<Record<SendingClass, readonly SendResult["status"][]>> = {
  ambiguous: ["unknown"],
  reconcilable: ["unknown"],
  // The same id may be sent again: the channel shows it once.
  idempotent: ["unknown", "retry", "sent"],
};

const CASES: readonly Case[] = [
  {
    name: "brings a message in once, with the same ids across a restart",
    async play(platform) {
      if (!platform.say || !platform.sayAgain) return;
      const host = new MemoryHost();
      const first = await started(platform, host);
      const said = await platform.say("hello from the kit");
      await until(() => host.messages.length === 1, "the message did not come in");
      await first.stop();
      const second = await started(platform, host);
      await platform.sayAgain(said);
      await platform.settled?.();
      await second.stop();
      check(host.messages.length === 1, "the same message has other ids when it comes again");
      check(host.messages[0]?.text.includes("hello from the kit") === true, "the text of the message is not there");
    },
  },
  {
    name: "does not acknowledge a message that was not stored, and brings it again",
    async play(platform) {
      if (!platform.say || !platform.isAcknowledged) return;
      const host = new MemoryHost();
      host.broken = true;
      const connector = await started(platform, host);
      await platform.say("while the store is away");
      await platform.settled?.();
      check(!platform.isAcknowledged(), "the platform was told that a message is done with which was not stored");
      host.broken = false;
      await until(() => host.messages.length === 1, "the message did not come again");
      await until(() => platform.isAcknowledged?.() === true, "the message was never acknowledged");
      await connector.stop();
    },
  },
  {
    name: "reads commands as commands",
    async play(platform) {
      if (!platform.say) return;
      const host = new MemoryHost();
      const connector = await started(platform, host);
      await platform.say("/status");
      await until(() => host.typed.length === 1, "the command did not come in as a command");
      await connector.stop();
      check(host.messages.length === 0, "the command came in as a message too");
    },
  },
  {
    name: "sends a text, and says so",
    async play(platform) {
      const connector = await started(platform, new MemoryHost());
      const result = await sendNow(connector, deliveryTo(platform, "a plain text"));
      check(result.status === "sent", `a good send ended ${result.status}`);
      await until(() => platform.shown().some((text) => text.includes("a plain text")), "the text is not shown");
      await connector.stop();
    },
  },
  {
    name: "says that the outcome is unknown if the connection breaks after the platform accepted, and sends nothing again by itself",
    async play(platform) {
      if (!platform.failNext) return;
      const connector = await started(platform, new MemoryHost());
      platform.failNext("lost-answer");
      const result = await sendNow(connector, deliveryTo(platform, "lost answer"));
      await connector.stop();
      const allowed = AFTER_LOSS[connector.sendingClass];
      check(allowed.includes(result.status), `a send of the class ${connector.sendingClass} ended ${result.status}`);
      const shown = platform.shown().filter((text) => text.includes("lost answer")).length;
      check(shown <= 1, `the text is shown ${shown} times`);
    },
  },
  {
    name: "tells a refusal for good from one for now and from a send that never left",
    async play(platform) {
      if (!platform.failNext) return;
      const connector = await started(platform, new MemoryHost());
      // An idempotent channel may have sent it again by itself.
      const again: readonly SendResult["status"][] = connector.sendingClass === "idempotent" ? ["sent"] : [];
      const expected = { refused: ["refused"], rate: ["retry"], "not-sent": ["retry", "unknown", ...again] } as const;
      for (const [how, allowed] of Object.entries(expected) as [keyof typeof expected, readonly string[]][]) {
        platform.failNext(how);
        const { status } = await connector.send(deliveryTo(platform, how), AbortSignal.timeout(WAIT_MS));
        check(allowed.includes(status), `a send that ended "${how}" was reported as ${status}`);
      }
      await connector.stop();
    },
  },
  {
    name: "settles a send that is aborted",
    async play(platform) {
      const connector = await started(platform, new MemoryHost());
      const result = await connector.send(deliveryTo(platform, "aborted"), AbortSignal.abort()).catch(() => undefined);
      check(result !== undefined, "`send` throws when it is aborted");
      await connector.stop();
    },
  },
  {
    name: "shows nothing after a view is closed, and a view never throws",
    async play(platform) {
      const connector = await started(platform, new MemoryHost());
      const view = connector.view?.(platform.target, { runId: "kit-run" as never, agentId: "a" as never });
      view?.text("so far");
      view?.status("working");
      view?.close();
      view?.text("after the end");
      await connector.stop();
      check(!platform.shown().some((text) => text.includes("after the end")), "a draft became a message");
    },
  },
  {
    name: "stops while sends are under way, and says how it is",
    async play(platform) {
      const connector = await started(platform, new MemoryHost());
      check(typeof connector.health().ok === "boolean", "`health` does not say whether it is ok");
      const sends = [1, 2, 3].map((n) =>
        connector.send(deliveryTo(platform, `many ${n}`), AbortSignal.timeout(WAIT_MS)),
      );
      await connector.stop();
      const ended = await Promise.all(sends.map((send) => send.catch(() => undefined)));
      check(
        ended.every((one) => one !== undefined),
        "a send throws when the connector stops",
      );
      check(
        connector.sendingClass !== "reconcilable" || connector.lookup !== undefined,
        "it is reconcilable and has no `lookup`",
      );
    },
  },
];

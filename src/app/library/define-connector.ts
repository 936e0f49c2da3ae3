/** `defineConnector`: a connector from the parts that differ between channels. The rest has defaults that lose nothing. */
import { API_CHANNEL, PERSON_CHANNEL, TERMINAL_CHANNEL } from "../../core/delivery/route.ts";
import { errorText, InvalidInputError } from "../../core/errors.ts";
import type { DeliveryId } from "../../core/ids.ts";
import { assertKnownKeys, type KeyTable } from "../../core/known-keys.ts";
import type { IncomingMessage } from "../../core/message/incoming-message.ts";
import {
  type Accepted,
  type Connector,
  type ConnectorCapabilities,
  type ConnectorHealth,
  type ConnectorHost,
  type IncomingCommand,
  type OutgoingDelivery,
  OWNERS_SEAT,
  type SendResult,
} from "../../core/ports/connector.ts";

interface ConnectorDefinition
  extends Pick<Connector, "name" | "start" | "replayHorizonMs" | "once" | "lookup" | "receive">,
    Partial<Pick<Connector, "capabilities" | "sendingClass" | "health" | "stop">> {
  /**
   * Sends a delivery. Returns how it ended; nothing or a receipt means that the channel has it. An error it throws means that the
   * channel may have it: then `sendingClass` decides what happens.
   */
  send(
    delivery: OutgoingDelivery,
    signal: AbortSignal,
  ): SendResult | string | undefined | Promise<SendResult | string | undefined> | Promise<void>;
}

/** Who writes there has proven to be the owner, or is vouched for by a token. */
const OWN_CHANNELS: readonly string[] = [TERMINAL_CHANNEL, API_CHANNEL, PERSON_CHANNEL];
const TELL_MS = 10_000;

const DEFINITION: KeyTable<ConnectorDefinition> = {
  name: true,
  start: true,
  replayHorizonMs: true,
  once: true,
  lookup: true,
  receive: true,
  capabilities: true,
  sendingClass: true,
  health: true,
  stop: true,
  send: true,
};
const CAPABILITIES: KeyTable<ConnectorCapabilities> = {
  sendText: true,
  sendFiles: true,
  reactions: true,
  typing: true,
  edits: true,
  buttons: true,
  maxTextLength: true,
  formatPrompt: true,
};

const CONVERSATION = {
  connector: true,
  accountId: true,
  userId: true,
  channelId: true,
  peerKind: true,
  threadId: true,
  guildId: true,
  teamId: true,
  messageId: true,
  revision: true,
  sentAt: true,
  replyToId: true,
  senderName: true,
  others: true,
  untrusted: true,
  subject: true,
  groupChannel: true,
  space: true,
  burst: true,
  summaryLine: true,
  queue: true,
  queueDefault: true,
  delivery: true,
  decoration: true,
  names: true,
} as const;
const MESSAGE: KeyTable<IncomingMessage> = { ...CONVERSATION, text: true, files: true };
const COMMAND: KeyTable<IncomingCommand> = { ...CONVERSATION, command: true };

const OK: ConnectorHealth = { ok: true, detail: "ready" };

/** The connectors of a program, with `defineConnector` or without. Throws `InvalidInputError` for a name that a program may not use. */
export function connectorsOf(connectors: readonly Connector[] = []): readonly Connector[] {
  for (const connector of connectors) assertNotOurs(connector);
  return connectors;
}

function assertNotOurs({ name, [OWNERS_SEAT]: isOurs }: Pick<Connector, "name" | typeof OWNERS_SEAT>): void {
  if (isOurs || !OWN_CHANNELS.includes(name)) return;
  throw new InvalidInputError(
    `A connector cannot be called ${name}: its people would have rights without being let in.`,
    { hint: "Use another name." },
  );
}

/** A channel of your own, for `createRookery({ connectors })`. Throws `InvalidInputError` if the definition cannot be used. */
export function defineConnector(definition: ConnectorDefinition): Connector {
  assertKnownKeys("defineConnector()", definition, DEFINITION);
  assertKnownKeys("defineConnector() capabilities", definition.capabilities, CAPABILITIES);
  const { name, sendingClass = "ambiguous", lookup } = definition;
  if (!/^[a-z][a-z0-9-]{0,31}$/.test(name)) {
    throw new InvalidInputError(`A connector cannot be called ${JSON.stringify(String(name).slice(0, 80))}.`, {
      hint: "Use up to 32 lower-case letters, digits and -, with a letter first.",
    });
  }
  assertNotOurs({ name });
  if (sendingClass === "reconcilable" && !lookup) {
    throw new InvalidInputError(`${name} is reconcilable and has no \`lookup\`.`, {
      hint: "Add `lookup`, or leave `sendingClass` out: then a send with an unknown outcome is listed.",
    });
  }
  /** Tells people who are not known here how to be let in. Best effort: this is not a delivery and is never repeated. */
  const telling = (host: ConnectorHost): ConnectorHost => {
    const tell = async (accepting: Promise<Accepted>, to: Omit<IncomingMessage, "text">): Promise<Accepted> => {
      const accepted = await accepting;
      if (accepted.status !== "refused" || accepted.say === undefined) return accepted;
      const { say: text, buttons } = accepted;
      const id = `say-${to.messageId}` as DeliveryId;
      void send({ id, target: to.delivery, payload: { text, buttons } }, AbortSignal.timeout(TELL_MS));
      return { status: "refused" };
    };
    // Everything else is the host's, as it is at each use.
    const own: ConnectorHost = Object.create(host);
    own.accept = async (message) => {
      assertKnownKeys("accept()", message, MESSAGE);
      return tell(host.accept(message), message);
    };
    own.command = async (command) => {
      assertKnownKeys("command()", command, COMMAND);
      return tell(host.command(command), command);
    };
    return own;
  };
  // Called on the definition: it may be an object of a class.
  const send: Connector["send"] = async (delivery, signal) => {
    try {
      const sent = await definition.send(delivery, signal);
      return typeof sent === "object" ? sent : { status: "sent", receipt: sent || undefined };
    } catch (error) {
      return { status: "unknown", reason: errorText(error) };
    }
  };
  return {
    name,
    sendingClass,
    capabilities: definition.capabilities ?? { sendText: true },
    replayHorizonMs: definition.replayHorizonMs,
    once: definition.once,
    start: (host) => definition.start(telling(host)),
    stop: async () => definition.stop?.(),
    health: () => definition.health?.() ?? OK,
    receive:
      definition.receive &&
      ((request, host) => definition.receive?.(request, telling(host)) ?? Promise.resolve(undefined)),
    lookup: lookup && ((delivery) => lookup.call(definition, delivery)),
    send,
  };
}

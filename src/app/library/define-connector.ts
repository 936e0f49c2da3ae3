/** `defineConnector`: a connector from the parts that differ between channels. The rest has defaults that lose nothing. */
import { errorText, InvalidInputError } from "../../core/errors.ts";
import type { Connector, ConnectorHealth, OutgoingDelivery, SendResult } from "../../core/ports/connector.ts";

export interface ConnectorDefinition
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

const OK: ConnectorHealth = { ok: true, detail: "ready" };

/** A channel of your own, for `createRookery({ connectors })`. Throws `InvalidInputError` if the definition cannot be used. */
export function defineConnector(definition: ConnectorDefinition): Connector {
  const { name, sendingClass = "ambiguous", lookup } = definition;
  if (!/^[a-z][a-z0-9-]{0,31}$/.test(name)) {
    throw new InvalidInputError(`A connector cannot be called ${JSON.stringify(String(name).slice(0, 80))}.`, {
      hint: "Use up to 32 lower-case letters, digits and -, with a letter first.",
    });
  }
  if (sendingClass === "reconcilable" && !lookup) {
    throw new InvalidInputError(`${name} is reconcilable and has no \`lookup\`.`, {
      hint: "Add `lookup`, or leave `sendingClass` out: then a send with an unknown outcome is listed.",
    });
  }
  // Called on the definition: it may be an object of a class.
  return {
    name,
    sendingClass,
    capabilities: definition.capabilities ?? { sendText: true },
    replayHorizonMs: definition.replayHorizonMs,
    once: definition.once,
    start: (host) => definition.start(host),
    stop: async () => definition.stop?.(),
    health: () => definition.health?.() ?? OK,
    receive:
      definition.receive && ((request, host) => definition.receive?.(request, host) ?? Promise.resolve(undefined)),
    lookup: lookup && ((delivery) => lookup.call(definition, delivery)),
    async send(delivery, signal) {
      try {
        const sent = await definition.send(delivery, signal);
        return typeof sent === "object" ? sent : { status: "sent", receipt: sent || undefined };
      } catch (error) {
        return { status: "unknown", reason: errorText(error) };
      }
    },
  };
}

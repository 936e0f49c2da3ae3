/** The channel of benches: messages come from the bench itself, and answers go back to it at once. */
import type { Connector, ConnectorHost } from "../src/core/ports/connector.ts";

export interface Channel {
  readonly connector: Connector;
  /** Sends a message as a person. Resolves when it is accepted. */
  say(person: string, messageId: string, text: string): Promise<unknown> | undefined;
}

export function channelTo(answered: (person: string) => void): Channel {
  const name = "bench";
  let host: ConnectorHost | undefined;
  return {
    connector: {
      name,
      capabilities: { sendText: true },
      sendingClass: "idempotent",
      async start(given) {
        host = given;
      },
      async stop() {},
      health: () => ({ ok: true, detail: "" }),
      async send({ target }) {
        answered(target.to ?? "");
        return { status: "sent" };
      },
    },
    say: (person, messageId, text) =>
      host?.accept({
        connector: name,
        userId: person,
        channelId: person,
        messageId,
        text,
        delivery: { channel: name, to: person },
      }),
  };
}

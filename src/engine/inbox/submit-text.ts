/**
 * What every connector does with a person's text: reads whether it is a command, and hands it in as what it is. Durable
 * when it resolves; a rejection means that it was not accepted and must not be acknowledged.
 */

import { unreachable } from "../../core/errors.ts";
import type { IncomingMessage } from "../../core/message/incoming-message.ts";
import type { Accepted, ConnectorHost } from "../../core/ports/connector.ts";
import { parseUserInput } from "./parse-user-input.ts";

/** `mentions`: the names the agent is addressed by in groups; one in front of a command is passed over. */
export function submitText(
  host: ConnectorHost,
  incoming: IncomingMessage,
  mentions: readonly string[] = [],
): Promise<Accepted> {
  const { text, files, ...origin } = incoming;
  const typed = parseUserInput(text, host.resetTriggers, mentions);
  switch (typed.kind) {
    case "message":
      return host.accept({ ...incoming, text: typed.text, queue: typed.queue ?? incoming.queue });
    case "stop":
      return host.command({ ...origin, command: { name: "stop" } });
    case "reset":
      return host.command({ ...origin, command: { name: "reset", text: typed.text } });
    case "compact":
      return host.command({ ...origin, command: { name: "compact", instructions: typed.instructions } });
    case "subagents":
      return host.command({ ...origin, command: { name: "subagents", text: typed.text } });
    case "queue":
      return host.command({ ...origin, command: { name: "queue", settings: typed.settings } });
    case "send":
      return host.command({ ...origin, command: { name: "send", policy: typed.policy } });
    default:
      return unreachable(typed, "typed text");
  }
}

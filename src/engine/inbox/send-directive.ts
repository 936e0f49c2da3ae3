/**
 * The `/send` directive as the owner types it: `/send on|off|inherit`. Read on the connector's side; the engine never looks
 * for commands in text.
 */
import type { SendDecision } from "../../core/agent/send-policy.ts";

const MEANT: Readonly<Record<string, SendDecision | null>> = {
  on: "allow",
  allow: "allow",
  off: "deny",
  deny: "deny",
  inherit: null,
  default: null,
  reset: null,
};

/**
 * What is to be set; `null`: back to what the rules say. Undefined where the text is no such directive: it is one only as
 * a whole, "/send it to Ann" is said to the agent.
 */
export function parseSendDirective(text: string): SendDecision | null | undefined {
  const word = /^\/send(?:\s*:\s*|\s+)(\S+)$/iu.exec(text.trim())?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(MEANT, word) ? MEANT[word] : undefined;
}

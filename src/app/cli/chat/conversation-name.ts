/** The conversation that a person names: `main`, a name of the person's own, or an agent by its id or session key. */
import { isAgentId } from "../../../core/ids.ts";
import type { Conversation } from "./terminal-info.ts";

export function conversationNamed(name: string | undefined): Conversation {
  if (name === undefined || name === "main") return {};
  return name.includes(":") || isAgentId(name) ? { agent: name } : { thread: name };
}

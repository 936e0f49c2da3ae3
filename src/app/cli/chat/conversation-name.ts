/**
 * The conversation that a person names: `main`, an agent by its id, session key or name, or a conversation of the person. The engine
 * decides which one a plain name is, because it knows the agents and what the person may reach.
 */
import { isAgentId } from "../../../core/ids.ts";
import type { Conversation } from "./terminal-info.ts";

export function conversationNamed(name: string | undefined): Conversation {
  if (name === undefined || name === "main") return {};
  return name.includes(":") || isAgentId(name) ? { agent: name } : { to: name };
}

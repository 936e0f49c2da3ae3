/** What the system prompt says about the chat an agent is in: how to write there, and who reads along. Empty where nothing is to be said. */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { Connector } from "../../../core/ports/connector.ts";

/** More than any channel needs. */
const MAX_PROMPT = 2_000;
const MAX_SUBJECT = 200;

export function channelPrompt(
  { descriptor, state }: Pick<AgentRecord, "descriptor" | "state">,
  connectors: ReadonlyMap<string, Pick<Connector, "capabilities">>,
): string {
  if (descriptor.type !== "user") return "";
  const channel = state.deliveryContext?.channel ?? descriptor.connector;
  const format = connectors.get(channel)?.capabilities.formatPrompt?.slice(0, MAX_PROMPT) ?? "";
  return [format, groupText(state)].filter((part) => part !== "").join("\n");
}

function groupText({ chatType, subject, groupActivation }: AgentRecord["state"]): string {
  if (chatType !== "group" && chatType !== "room") return "";
  const name = subject === undefined ? "a group" : `the group "${line(subject)}"`;
  const when =
    groupActivation === "always"
      ? "You get every message. Answer only what is meant for you or where you help; otherwise reply with exactly NO_REPLY."
      : "You get the messages that address you, with some of what was said before.";
  return `You are in ${name}. ${when} Everyone there reads what you write.`;
}

/** The name of a group is chosen by its members. */
const line = (text: string): string =>
  text.replaceAll(/\s+/gu, " ").replaceAll("<", "&lt;").replaceAll('"', "'").trim().slice(0, MAX_SUBJECT);

/** What the system prompt says about the chat an agent is in: how to write there, and who reads along. Empty where nothing is to be said. */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { Connector } from "../../../core/ports/connector.ts";

/** More than any channel needs. */
const MAX_PROMPT = 2_000;
const MAX_SUBJECT = 200;

export function channelPrompt(
  { descriptor, state }: Pick<AgentRecord, "descriptor" | "state">,
  connectors: ReadonlyMap<string, Pick<Connector, "capabilities" | "groupActivation">>,
  /** The owner's accounts, as `channel:id`. */
  ownerNumbers: readonly string[] = [],
): string {
  if (descriptor.type !== "user") return "";
  const channel = state.deliveryContext?.channel ?? descriptor.connector;
  const connector = connectors.get(channel);
  const format = connector?.capabilities.formatPrompt?.slice(0, MAX_PROMPT) ?? "";
  return [
    format,
    groupText(
      withDefault(state, connector, descriptor.accountId),
      ownerNumbers.filter((account) => account.startsWith(`${channel}:`)),
    ),
  ]
    .filter((part) => part !== "")
    .join("\n");
}

/** As the account says, unless someone there has said otherwise. */
const withDefault = (
  state: AgentRecord["state"],
  connector: Pick<Connector, "groupActivation"> | undefined,
  accountId: string | undefined,
): AgentRecord["state"] => ({
  ...state,
  groupActivation: state.groupActivation ?? connector?.groupActivation?.(state.deliveryContext ?? { accountId }),
});

function groupText(
  { chatType, subject, groupChannel, space, groupActivation }: AgentRecord["state"],
  ownerNumbers: readonly string[],
): string {
  if (chatType !== "group" && chatType !== "room") return "";
  const group = subject === undefined ? "a group" : `the group "${line(subject)}"`;
  const part = groupChannel === undefined ? group : `"${line(groupChannel)}" in ${group}`;
  const name = space === undefined || space === subject ? part : `${part} of "${line(space)}"`;
  const owner = ownerNumbers.length === 0 ? "" : ` The owner writes there as ${ownerNumbers.map(line).join(", ")}.`;
  const when =
    groupActivation === "always"
      ? "You get every message. Answer only what is meant for you or where you help; otherwise reply with exactly NO_REPLY."
      : "You get the messages that address you, with some of what was said before.";
  return `You are in ${name}. ${when} Everyone there reads what you write.${owner}`;
}

/** The name of a group is chosen by its members. */
const line = (text: string): string =>
  text.replaceAll(/\s+/gu, " ").replaceAll("<", "&lt;").replaceAll('"', "'").trim().slice(0, MAX_SUBJECT);

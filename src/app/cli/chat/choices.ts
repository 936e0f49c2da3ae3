/** What a person chooses from: conversations and agents, and earlier messages. */
import type { SelectItem } from "@earendil-works/pi-tui";
import type { ChatState } from "./chat-state.ts";
import { type CleanText, cleanLine } from "./clean-text.ts";
import type { ListedAgent, OtherAgents } from "./other-agents.ts";
import type { Conversation } from "./terminal-info.ts";

export async function agentChoices(others: OtherAgents): Promise<{
  readonly items: readonly SelectItem[];
  conversationOf(id: string): Conversation | undefined;
}> {
  const agents = await others.list();
  return {
    items: agents.map((agent) => ({
      value: agent.id,
      label: `${others.unreadOf(agent.id) > 0 ? "● " : "  "}${nameOfAgent(agent)}`,
      description: describeAgent(agent, others.unreadOf(agent.id)),
    })),
    conversationOf(id) {
      const agent = agents.find((one) => one.id === id);
      return agent && { agent: agent.id, name: nameOfAgent(agent) };
    },
  };
}

const nameOfAgent = ({ name }: ListedAgent): string => cleanLine(name, 60);

function describeAgent({ kind, waiting, runId, stopped }: ListedAgent, unread: number): string {
  const facts = [
    kind === "user" ? "conversation" : kind,
    ...(runId === null ? [] : ["working"]),
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    ...(unread > 0 ? [`${unread} unread`] : []),
    ...(stopped ? ["stopped"] : []),
  ];
  return facts.join(", ");
}

interface EarlierMessage {
  readonly key: string;
  readonly text: CleanText;
  /** The entry before it. */
  readonly before: string;
}

/** The person's messages of the current session, newest first. */
export function earlierMessages({ blocks }: ChatState): readonly EarlierMessage[] {
  const from = blocks.findLastIndex((block) => block.kind === "marker" && block.text === "new session");
  return blocks
    .slice(from + 1)
    .flatMap((block) =>
      block.kind === "user" && typeof block.parentId === "string"
        ? [{ key: block.key, text: block.text, before: block.parentId }]
        : [],
    )
    .toReversed();
}

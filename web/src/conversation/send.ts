/** Sends messages of this page. A message keeps its key over all tries, so the engine accepts it once. */
import { pathOf } from "../../../src/client-browser.ts";
import { api, isLost, messageOf } from "../api.ts";
import { currentMe, isOwner } from "../session.ts";
import { t } from "../texts.ts";
import type { Chat, Sent } from "./chat.ts";

interface Accepted {
  readonly agentId: string;
  readonly seq: number;
}

/** Sends or sends again. The message shows the outcome. Must not reject. */
export function sendMessage(chat: Chat, { problem: _, ...message }: Sent): Promise<void> {
  chat.add(message);
  const agent = chat.agent.peek()?.id ?? "";
  return chat.inTurn(async () => {
    try {
      const { seq } = await postTo(agent, message);
      chat.update({ ...message, seq });
    } catch (error) {
      chat.update({ ...message, problem: isLost(error) ? t.chat.noAnswer : messageOf(error) });
    }
  });
}

/** The first message of the owner makes the main conversation, that of a guest the guest's own. */
export async function sendFirst(message: Sent): Promise<Accepted> {
  if (!isOwner()) return postTo(ownKey(), message);
  const body = { user: "control-room", ...contentOf(message) };
  const { messages } = await api.post<{ messages: readonly Accepted[] }>("/api/terminal/messages", body, {
    id: message.key,
  });
  return messages.at(-1) ?? { agentId: "main", seq: 0 };
}

const postTo = (agent: string, message: Sent): Promise<Accepted> =>
  api.post(
    pathOf("api", "agents", agent, "messages"),
    { ...contentOf(message), queue: { mode: message.mode }, answerTo: "caller" },
    { id: message.key },
  );

const contentOf = ({ text, files }: Sent) => ({
  text,
  files: files.length > 0 ? files.map(({ id }) => id) : undefined,
});

/** The session key of the conversation that a guest has over the API. */
export const ownKey = (): string => `agent:main:api:dm:${encodeURIComponent(currentMe().person ?? "")}`;

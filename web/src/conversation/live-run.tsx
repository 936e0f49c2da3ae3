/** The current activity of a conversation's run: thoughts, text, tools. */
import type { Approval } from "../../../src/core/rights/approval.ts";
import { api, type Page } from "../api.ts";
import { useQuery } from "../query.ts";
import { t } from "../texts.ts";
import { ApprovalRow } from "../ui/approval-row.tsx";
import { Icon } from "../ui/icons.tsx";
import { GrowingText } from "../ui/markdown-text.tsx";
import type { Chat, LiveRun } from "./chat.ts";
import { Thinking } from "./entries.tsx";

export function LiveRunView({ chat }: { chat: Chat }) {
  const live = chat.live.value;
  if (!live) return null;
  const tools = [...live.tools].filter(([, { isDone }]) => !isDone);
  const isQuiet = live.text === "" && live.thinking === "" && tools.length === 0 && !live.asks;
  return (
    <article class="chat-agent live" aria-label={t.role.assistant} aria-busy="true">
      {live.thinking !== "" && <Thinking text={live.thinking} open={live.text === ""} />}
      {live.text !== "" && <GrowingText text={live.text} />}
      {tools.map(([id, { name, text }]) => (
        <div class="tool running" key={id}>
          <div class="tool-line">
            <Icon name="tool" />
            <span class="tool-name">{name}</span>
            <span class="tool-args">{text.slice(-200)}</span>
          </div>
        </div>
      ))}
      {live.error && <p class="problem-text">{live.error}</p>}
      {live.asks && <Asks agentId={chat.agent.value?.id ?? ""} />}
      {isQuiet && (
        <p class="working">
          <span class="pulse on" aria-hidden="true" /> {t.chat.working}
        </p>
      )}
    </article>
  );
}

/** The questions that this conversation waits for. */
export function Asks({ agentId }: { agentId: string }) {
  const open = useQuery(
    (signal) => api.get<Page<Approval>>("/api/approvals", { state: "pending", agent: agentId }, signal),
    {
      key: agentId,
    },
  );
  const items = open.data?.items ?? [];
  return items.length === 0 ? null : (
    <ul class="rows boxed">
      {items.map((one) => (
        <ApprovalRow key={one.id} approval={one} onDecided={open.reload} />
      ))}
    </ul>
  );
}

export const isWriting = (live: LiveRun | undefined): boolean => live !== undefined;

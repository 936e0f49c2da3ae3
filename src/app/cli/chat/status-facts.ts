/** What the status line says, from what is known about the open conversation and the others. */
import type { ChatSession } from "./chat-session.ts";
import { cleanLine } from "./clean-text.ts";
import { isOffline } from "./first-screen.ts";
import type { StatusFacts } from "./status-line.ts";

type Shown = Pick<ChatSession, "info" | "connection" | "state" | "waiting" | "conversation">;

export function statusFacts(
  { info, connection, state, waiting, conversation }: Shown,
  others: Pick<StatusFacts, "background" | "unread" | "approvals">,
): StatusFacts {
  const { used, window } = info?.context ?? { used: null, window: null };
  const { name, thread, to, agent } = conversation;
  return {
    ...others,
    agent: cleanLine(name ?? thread ?? to ?? agent ?? "main", 24),
    model: info?.model ? cleanLine(shortModel(info.model), 30) : undefined,
    isOffline: isOffline(info?.model),
    context: used !== null && window !== null ? { used, window } : undefined,
    dollars: info?.today.dollars ?? 0,
    tokens: info?.today.tokens ?? 0,
    queueMode: info ? cleanLine(info.queueMode, 16) : undefined,
    waiting,
    connection,
    isBusy: state.live !== undefined,
  };
}

/** Without the provider. */
const shortModel = (model: string): string => model.slice(model.indexOf("/") + 1);

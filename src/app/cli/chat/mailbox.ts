/**
 * What agents say to the person on their own: shown, then acknowledged. What a killed chat has not acknowledged is shown by the
 * next one. An answer that stands in the open conversation is not shown a second time (L12).
 */
import { type EngineApi, pathOf } from "../../client/engine-api.ts";
import { withDelivery } from "./apply-event.ts";
import type { ChatSession } from "./chat-session.ts";

interface Delivered {
  readonly id: string;
  readonly agentId: string;
  readonly runId?: string;
  readonly text?: string;
  readonly isError?: boolean;
  /** Answers to choose from. */
  readonly buttons?: readonly { readonly label: string; readonly token: string }[];
}

interface MailboxOptions {
  readonly api: EngineApi;
  /** The owner's mailbox at the terminal. Absent: that of the token's person. */
  readonly terminal: string | undefined;
  readonly session: () => ChatSession;
  /** How an agent is called on the screen. */
  readonly nameOf: (agentId: string) => Promise<string | undefined>;
  readonly onDelivery: () => void;
  readonly signal: AbortSignal;
}

const HISTORY = 60;
/** How the text of a question about a call begins. */
const QUESTION = /^Approval ([a-z0-9]{1,64}) is needed\.\n/u;

/** Ends with the signal. A delivery that cannot be handled now comes again with the next stream. */
export async function followMailbox(options: MailboxOptions): Promise<void> {
  const { api, terminal, signal } = options;
  const path = `/api/deliveries/events${terminal === undefined ? "" : `?terminal=${encodeURIComponent(terminal)}`}`;
  const shown = new Set<string>();
  try {
    for await (const { data } of api.events(path, { signal, keepTrying: true })) {
      const item = data as unknown as Delivered;
      if (!shown.has(item.id)) await show(options, item);
      shown.add(item.id);
      await api.post("/api/deliveries/ack", { ids: [item.id], terminal }).catch(() => shown.delete(item.id));
      options.onDelivery();
    }
  } catch {
    // The chat is closed, or this token has no such mailbox.
  }
}

async function show({ api, session, nameOf }: MailboxOptions, item: Delivered): Promise<void> {
  if (await isQuestion(api, item)) return;
  const open = session();
  const isHere = item.agentId === open.agentId;
  // The delivery is committed with the answer, so the answer is in the history by now, if it is one.
  if (isHere && (await isInHistory(api, item).catch(() => false))) return;
  const name = isHere ? undefined : ((await nameOf(item.agentId)) ?? "another agent");
  const choices = (item.buttons ?? []).map(({ label }) => `- ${label}`);
  const text = [item.text ?? "", ...choices].join("\n");
  open.update((state) => withDelivery(state, { ...item, text }, name));
}

/** A question about a call is asked in place. */
async function isQuestion(api: EngineApi, { agentId, text = "" }: Delivered): Promise<boolean> {
  const id = QUESTION.exec(text)?.[1];
  if (id === undefined) return false;
  const found = await api.get<{ agentId: string }>(pathOf("api", "approvals", id)).catch(() => undefined);
  return found?.agentId === agentId;
}

interface Page {
  readonly items: readonly {
    readonly entry?: { role?: string; runId?: string; content?: readonly { text?: string }[] };
  }[];
}

async function isInHistory(api: EngineApi, { agentId, runId, text = "" }: Delivered): Promise<boolean> {
  if (runId === undefined) return false;
  const { items } = await api.get<Page>(pathOf("api", "agents", agentId, "history"), { limit: HISTORY });
  const said = items
    .filter(({ entry }) => entry?.role === "assistant" && entry.runId === runId)
    .flatMap(({ entry }) => entry?.content ?? [])
    .map((block) => block.text ?? "");
  return said.some((one) => one.trim() !== "" && (text.includes(one.trim()) || one.includes(text.trim())));
}

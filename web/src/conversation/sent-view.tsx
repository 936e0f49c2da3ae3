/** A message of this page that the history does not contain yet, with its state and actions. */
import type { ComponentChildren } from "preact";
import { t } from "../texts.ts";
import { MarkdownText } from "../ui/markdown-text.tsx";
import { Badge, Button, type Tone } from "../ui/parts.tsx";
import type { Chat, Sent } from "./chat.ts";
import { sendMessage } from "./send.ts";

interface BubbleProps {
  readonly text: string;
  readonly files?: readonly string[];
  /** It is on its way. */
  readonly isSending?: boolean;
  readonly children?: ComponentChildren;
}

export function Bubble({ text, files = [], isSending, children }: BubbleProps) {
  return (
    <article class={`chat-person ${isSending ? "sending" : ""}`} aria-label={t.role.user}>
      <div class="bubble">
        <MarkdownText text={text} />
        {files.length > 0 && <p class="muted">{files.join(", ")}</p>}
      </div>
      {children}
    </article>
  );
}

/** One line: the state of a message, why, and what to do. */
export function StateLine({
  state,
  tone,
  why,
  children,
}: {
  state: string;
  tone: Tone;
  why?: string;
  children?: ComponentChildren;
}) {
  return (
    <div class="chat-state">
      <Badge tone={tone}>{state}</Badge>
      {why && <span class="muted">{why}</span>}
      {children}
    </div>
  );
}

export function SentView({ one, chat, onEdit }: { one: Sent; chat: Chat; onEdit: (text: string) => void }) {
  const { key, text, files, problem } = one;
  const edit = (): void => {
    chat.drop(key);
    onEdit(text);
  };
  return (
    <Bubble text={text} files={files.map(({ name }) => name)} isSending={problem === undefined}>
      {problem !== undefined && (
        <StateLine state={t.chat.notSent} tone="bad" why={problem}>
          <Button icon="retry" onClick={() => void sendMessage(chat, one)}>
            {t.common.tryAgain}
          </Button>
          <Button onClick={edit}>{t.inbox.editAction}</Button>
          <Button kind="quiet" onClick={() => chat.drop(key)}>
            {t.inbox.drop}
          </Button>
        </StateLine>
      )}
    </Bubble>
  );
}

/** Writing a message: text, files by drop and paste, into the run or after it, and stopping the run. */
import { useEffect, useRef, useState } from "preact/hooks";
import { newKey, pathOf } from "../../../src/client-browser.ts";
import { api, messageOf } from "../api.ts";
import { go } from "../router.ts";
import { currentMe, isOwner } from "../session.ts";
import { t } from "../texts.ts";
import { Icon } from "../ui/icons.tsx";
import { Button } from "../ui/parts.tsx";
import { showDone, showProblem } from "../ui/toast.tsx";
import type { Chat } from "./chat.ts";

export interface Draft {
  readonly text: string;
  /** Rises when the text was put here from elsewhere. */
  readonly n: number;
}

interface Accepted {
  readonly agentId: string;
  readonly seq: number;
}

export function Composer({ chat, name, draft }: { chat: Chat | undefined; name: string; draft: Draft }) {
  const [text, setText] = useState("");
  const [isInto, setInto] = useState(true);
  const [isSending, setSending] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const isBusy = chat?.live.value !== undefined;
  useEffect(() => {
    if (draft.n === 0) return;
    setText(draft.text);
    field.current?.focus();
  }, [draft]);
  useEffect(() => grow(field.current), [text]);
  const send = async (): Promise<void> => {
    const said = text.trim();
    if (said === "" || isSending) return;
    const key = newKey();
    setSending(true);
    chat?.add({ key, text: said, files: [] });
    try {
      const mode = isBusy && isInto ? "steer" : "queue";
      const accepted = await post(chat, said, mode, key);
      setText("");
      chat?.add({ key, text: said, files: [], seq: accepted.seq });
      if (!chat) go("conversations", accepted.agentId);
    } catch (error) {
      chat?.drop(key);
      showProblem(messageOf(error));
    } finally {
      setSending(false);
      field.current?.focus();
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    void send();
  };
  const stop = async (): Promise<void> => {
    const id = chat?.agent.value?.id ?? "";
    await api.post(pathOf("api", "agents", id, "stop"));
    showDone(t.chat.stopDone);
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {isBusy && isOwner() && (
        <fieldset class="composer-mode" aria-label={t.chat.whenBusy}>
          <button type="button" class="tab" aria-pressed={isInto} onClick={() => setInto(true)}>
            {t.chat.steer}
          </button>
          <button type="button" class="tab" aria-pressed={!isInto} onClick={() => setInto(false)}>
            {t.chat.queue}
          </button>
        </fieldset>
      )}
      <div class="composer-box">
        <textarea
          ref={field}
          rows={1}
          value={text}
          aria-label={t.chat.writeTo(name)}
          placeholder={t.chat.placeholder}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        {isBusy && isOwner() && (
          <Button kind="danger" icon="stop" onClick={stop}>
            {t.chat.stop}
          </Button>
        )}
        <button type="submit" class="button primary" disabled={text.trim() === "" || isSending}>
          <Icon name="send" />
          <span>{t.chat.send}</span>
        </button>
      </div>
    </form>
  );
}

const MOST_HEIGHT = 220;

function grow(field: HTMLTextAreaElement | null): void {
  if (!field) return;
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight, MOST_HEIGHT)}px`;
}

/** The first message of the owner makes the main conversation, that of a guest the guest's own. */
async function post(chat: Chat | undefined, text: string, mode: string, id: string): Promise<Accepted> {
  const agent = chat?.agent.value?.id;
  if (agent === undefined && isOwner()) {
    const sent = { user: "control-room", text };
    const { messages } = await api.post<{ messages: readonly Accepted[] }>("/api/terminal/messages", sent, { id });
    return messages.at(-1) ?? { agentId: "main", seq: 0 };
  }
  const to = agent ?? ownKey();
  return api.post(pathOf("api", "agents", to, "messages"), { text, queue: { mode }, answerTo: "caller" }, { id });
}

/** The session key of the conversation that a guest has over the API. */
export const ownKey = (): string => `agent:main:api:dm:${encodeURIComponent(currentMe().person ?? "")}`;

/** Writing a message: text, files by drop and paste, into the run or after it, and stopping the run. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { newKey, pathOf } from "../../../src/client-browser.ts";
import { api, messageOf } from "../api.ts";
import { keepDraft, readDraft } from "../drafts.ts";
import { type StoredFile, upload } from "../files.ts";
import { go } from "../router.ts";
import { currentMe, isOwner } from "../session.ts";
import { t } from "../texts.ts";
import { Icon } from "../ui/icons.tsx";
import { Button } from "../ui/parts.tsx";
import { showDone, showProblem } from "../ui/toast.tsx";
import type { Chat, Sent } from "./chat.ts";
import { sendFirst, sendMessage } from "./send.ts";

export interface Draft {
  readonly text: string;
  /** Rises when the text was put here from elsewhere. */
  readonly n: number;
}

export function Composer({ chat, name, draft }: { chat: Chat | undefined; name: string; draft: Draft }) {
  const place = chat?.agent.value?.id ?? "main";
  const { person } = currentMe();
  const [kept] = useState(() => readDraft(person, place));
  const [text, setText] = useState(kept.text);
  const [isInto, setInto] = useState(true);
  const [isSending, setSending] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const [files, setFiles] = useState<readonly Attached[]>(kept.files);
  const [uploading, setUploading] = useState(0);
  const isBusy = chat?.live.value !== undefined;
  const attach = async (given: Iterable<File>): Promise<void> => {
    for (const file of given) {
      setUploading((n) => n + 1);
      try {
        const stored = await upload(file);
        setFiles((before) => [...before.filter(({ id }) => id !== stored.id), attachedFrom(stored)]);
      } catch (error) {
        showProblem(messageOf(error));
      } finally {
        setUploading((n) => n - 1);
      }
    }
  };
  const isDropping = useDrop(attach);
  useEffect(() => {
    if (draft.n === 0) return;
    setText(draft.text);
    field.current?.focus();
  }, [draft]);
  useEffect(() => {
    for (const one of kept.unsent) chat?.add({ ...one, problem: one.problem ?? t.chat.notKnown });
  }, []);
  const unsent = chat?.sent.value.filter(({ seq }) => seq === undefined) ?? kept.unsent;
  useLayoutEffect(() => keepDraft(person, place, { text, files, unsent }), [text, files, chat?.sent.value]);
  useEffect(() => grow(field.current), [text]);
  /** The first message has no conversation yet that shows its outcome: it stays in the field until it is accepted. */
  const first = useRef<Sent>(undefined);
  const send = async (): Promise<void> => {
    const said = text.trim();
    if ((said === "" && files.length === 0) || isSending || uploading > 0) return;
    const mode = isBusy && isInto ? "steer" : "queue";
    const message: Sent = { key: newKey(), text: said, files, mode, during: chat?.live.peek()?.runId };
    if (chat) {
      setText("");
      setFiles([]);
      field.current?.focus();
      return sendMessage(chat, message);
    }
    setSending(true);
    // The same key for the same message: an attempt without an answer may have arrived.
    first.current = isSame(first.current, message) ? first.current : message;
    try {
      const { agentId } = await sendFirst(first.current);
      keepDraft(person, place, { text: "", files: [], unsent: [] });
      go("conversations", agentId);
    } catch (error) {
      showProblem(messageOf(error));
    } finally {
      setSending(false);
      field.current?.focus();
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!isSendKey(event)) return;
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
      class={`composer ${isDropping ? "dropping" : ""}`}
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
      {isDropping && <p class="drop-hint">{t.chat.dropHere}</p>}
      {(files.length > 0 || uploading > 0) && (
        <ul class="composer-files" aria-label={t.chat.attachments}>
          {files.map(({ id, name: own }) => (
            <li class="chip" key={id}>
              <Icon name="file" />
              <span>{own}</span>
              <Button
                kind="quiet"
                icon="x"
                label={t.chat.removeFile(own)}
                onClick={() => setFiles(files.filter((one) => one.id !== id))}
              />
            </li>
          ))}
          {uploading > 0 && <li class="chip muted">{t.chat.uploading}</li>}
        </ul>
      )}
      <div class="composer-box">
        <input
          ref={picker}
          class="visually-hidden"
          type="file"
          multiple
          tabIndex={-1}
          aria-label={t.chat.attach}
          onChange={(event) => void attach([...(event.currentTarget.files ?? [])])}
        />
        <Button kind="quiet" icon="plus" label={t.chat.attach} onClick={() => picker.current?.click()} />
        <textarea
          ref={field}
          rows={1}
          value={text}
          aria-label={t.chat.writeTo(name)}
          placeholder={t.chat.placeholder}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={onKeyDown}
          onPaste={(event) => {
            const pasted = [...(event.clipboardData?.files ?? [])];
            if (pasted.length === 0) return;
            event.preventDefault();
            void attach(pasted);
          }}
        />
        {isBusy && isOwner() && (
          <Button kind="danger" icon="stop" label={t.chat.stop} onClick={stop}>
            {t.chat.stop}
          </Button>
        )}
        <button
          type="submit"
          aria-label={t.chat.send}
          class="button primary"
          disabled={(text.trim() === "" && files.length === 0) || isSending || uploading > 0}
        >
          <Icon name="send" />
          <span>{t.chat.send}</span>
        </button>
      </div>
    </form>
  );
}

/** Files that are dropped anywhere on the page. True while some are held over it. */
function useDrop(attach: (files: Iterable<File>) => void): boolean {
  const [isOver, setOver] = useState(false);
  const taking = useRef(attach);
  taking.current = attach;
  useEffect(() => {
    const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") === true;
    const onOver = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const onLeave = (event: DragEvent): void => {
      if (event.relatedTarget === null) setOver(false);
    };
    const onDrop = (event: DragEvent): void => {
      setOver(false);
      if (!hasFiles(event)) return;
      event.preventDefault();
      taking.current([...(event.dataTransfer?.files ?? [])]);
    };
    addEventListener("dragover", onOver);
    addEventListener("dragleave", onLeave);
    addEventListener("drop", onDrop);
    return () => {
      removeEventListener("dragover", onOver);
      removeEventListener("dragleave", onLeave);
      removeEventListener("drop", onDrop);
    };
  }, []);
  return isOver;
}

const MOST_HEIGHT = 220;

function grow(field: HTMLTextAreaElement | null): void {
  if (!field) return;
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight, MOST_HEIGHT)}px`;
}

type Attached = Sent["files"][number];

const attachedFrom = ({ id, name }: StoredFile): Attached => ({ id, name });

const isSame = (before: Sent | undefined, { text, files }: Sent): before is Sent =>
  before?.text === text && before.files.map(({ id }) => id).join() === files.map(({ id }) => id).join();

/** The key code of a key that an input method takes. Safari reports the Enter that ends a composition only with it. */
const IN_COMPOSITION = 229;

export const isSendKey = (event: Pick<KeyboardEvent, "key" | "shiftKey" | "isComposing" | "keyCode">): boolean =>
  event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== IN_COMPOSITION;

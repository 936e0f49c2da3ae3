/** The inboxes of all agents: what waits and why, what a run works on, and what got no answer. */
import { useState } from "preact/hooks";
import { newKey, pathOf } from "../../../src/client-browser.ts";
import { api, type Page } from "../api.ts";
import { oneLine } from "../format.ts";
import { usePaged } from "../query.ts";
import { linkTo, route, setQuery } from "../router.ts";
import { isOwner } from "../session.ts";
import { t } from "../texts.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { PagedList } from "../ui/list.tsx";
import { Badge, Button, Field, inputValue, Row, Tabs, Time, type Tone, ViewHead } from "../ui/parts.tsx";
import { showDone } from "../ui/toast.tsx";

interface Item {
  readonly agentId: string;
  readonly agentName?: string;
  readonly seq: number;
  readonly kind: string;
  readonly text: string;
  readonly state: string;
  readonly will?: string;
  readonly reason?: string;
  readonly acceptedAt: number;
  readonly settledAt?: number;
  readonly runId?: string;
}

const STATES = ["waiting", "taken", "unanswered", "dropped", "failed"] as const;
type State = (typeof STATES)[number];
const TONES: Readonly<Record<string, Tone>> = { waiting: "warn", taken: "ok", failed: "bad", dropped: "bad" };
const EMPTY: Readonly<Record<string, string>> = { waiting: t.inbox.emptyWaiting, taken: t.inbox.emptyTaken };
const POLL_MS = 4_000;

export function Inbox() {
  const state = STATES.find((one) => one === route.value.query.state) ?? "waiting";
  const list = usePaged<Item>(
    (limit, before, signal) => api.get<Page<Item>>("/api/inbox", { state, before, limit }, signal),
    {
      key: state,
      pollMs: POLL_MS,
    },
  );
  return (
    <div class="view">
      <ViewHead title={t.inbox.title} text={t.inbox.text}>
        <Tabs<State>
          label={t.inbox.label}
          value={state}
          tabs={STATES.map((one) => [one, t.inbox[one]])}
          onChange={(next) => setQuery({ state: next })}
        />
      </ViewHead>
      <PagedList
        list={list}
        label={t.inbox.title}
        empty={["inbox", t.inbox.emptyTitle, EMPTY[state] ?? t.inbox.emptyEnded]}
      >
        {(item) => <ItemRow key={`${item.agentId}.${item.seq}`} item={item} onChanged={list.reload} />}
      </PagedList>
    </div>
  );
}

const sendTo = (item: Item, text: string) =>
  api.post(pathOf("api", "agents", item.agentId, "messages"), { text, answerTo: "caller" }, { id: newKey() });

function ItemRow({ item, onChanged }: { item: Item; onChanged: () => void }) {
  const [isEditing, setEditing] = useState(false);
  const { agentId, kind, text, state, will, reason, acceptedAt, settledAt, runId } = item;
  const isEnded = state !== "waiting" && state !== "taken";
  const again = async (): Promise<void> => {
    await sendTo(item, text);
    showDone(t.inbox.sentAgain);
  };
  const drop = async (): Promise<void> => {
    await api.post(pathOf("api", "agents", agentId, "messages", String(item.seq), "drop"));
    onChanged();
  };
  return (
    <Row
      title={item.agentName ?? t.common.none}
      href={linkTo("conversations", agentId)}
      side={<Badge tone={TONES[state] ?? "neutral"}>{state}</Badge>}
      meta={
        <>
          <span>{kind}</span>
          <span>
            {t.inbox.accepted} <Time at={acceptedAt} />
          </span>
          {settledAt !== undefined && (
            <span>
              {t.inbox.settled} <Time at={settledAt} />
            </span>
          )}
          {runId && <a href={linkTo("runs", runId)}>{t.chat.runLink}</a>}
        </>
      }
      actions={
        isEnded && text.trim() !== "" ? (
          <>
            <Button icon="retry" onClick={again}>
              {t.inbox.sendAgain}
            </Button>
            <Button kind="quiet" icon="edit" label={t.inbox.edit} onClick={() => setEditing(true)} />
          </>
        ) : (
          state === "waiting" &&
          isOwner() && (
            <Confirm
              text={t.inbox.drop}
              title={t.inbox.dropTitle}
              body={t.inbox.dropText}
              done={t.inbox.droppedNow}
              onConfirm={drop}
            />
          )
        )
      }
    >
      {text !== "" && <p class="row-text">{oneLine(text, 300)}</p>}
      {(will ?? reason) && <p class="row-note">{will ?? reason}</p>}
      {isEditing && <EditDialog item={item} onClose={() => setEditing(false)} />}
    </Row>
  );
}

function EditDialog({ item, onClose }: { item: Item; onClose: () => void }) {
  const [text, setText] = useState(item.text);
  const send = async (): Promise<void> => {
    await sendTo(item, text.trim());
    showDone(t.inbox.sentAgain);
  };
  return (
    <Dialog title={t.inbox.editTitle} action={t.inbox.send} onClose={onClose} onAction={send}>
      <Field label={t.inbox.editField}>
        <textarea rows={6} value={text} onInput={(event) => setText(inputValue(event))} />
      </Field>
    </Dialog>
  );
}

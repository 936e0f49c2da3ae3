/** Deliveries to channels, in every state, with the actions that a person can take. */
import { useState } from "preact/hooks";
import { pathOf } from "../../../src/client-browser.ts";
import type { Delivery } from "../../../src/core/delivery/delivery.ts";
import { api, type Page } from "../api.ts";
import { markdownLine } from "../markdown.ts";
import { usePaged } from "../query.ts";
import { linkTo, route, setQuery } from "../router.ts";
import { t } from "../texts.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { PagedList } from "../ui/list.tsx";
import { Badge, Button, DueTime, Field, inputValue, Row, Tabs, Time, type Tone, ViewHead } from "../ui/parts.tsx";
import { showDone } from "../ui/toast.tsx";

const TONES: Readonly<Record<string, Tone>> = {
  pending: "warn",
  sending: "info",
  unroutable: "warn",
  failed: "bad",
  unconfirmed: "warn",
  sent: "ok",
};
const STATES = ["open", "failed", "unconfirmed", "unroutable", "waiting-reader", "sent", "suppressed"] as const;
type State = (typeof STATES)[number];
const WAITS = ["pending", "waiting-reader", "unroutable"];
const MAY_RETRY = ["failed", "unconfirmed", "unroutable", "suppressed"];
const POLL_MS = 4_000;

export function Outbox() {
  const state = STATES.find((one) => one === route.value.query.state) ?? "open";
  const list = usePaged<Delivery>(
    (limit, after, signal) =>
      api.get<Page<Delivery>>("/api/outbox", { state: state === "open" ? undefined : state, after, limit }, signal),
    { key: state, pollMs: POLL_MS },
  );
  return (
    <div class="view">
      <ViewHead title={t.outbox.title} text={t.outbox.text} />
      <div class="filter">
        <Tabs<State>
          label={t.outbox.label}
          value={state}
          tabs={STATES.map((one) => [one, one === "open" ? t.outbox.open : (t.outbox.states[one] ?? one)])}
          onChange={(next) => setQuery({ state: next })}
        />
      </div>
      {state === "unconfirmed" && <p class="hint">{t.outbox.unconfirmedHint}</p>}
      <PagedList
        list={list}
        label={t.outbox.title}
        empty={["outbox", t.outbox.emptyTitle, state === "open" ? t.outbox.emptyOpen : t.outbox.emptyEnded]}
      >
        {(one) => <DeliveryRow key={one.id} delivery={one} onChanged={list.reload} />}
      </PagedList>
    </div>
  );
}

/** With the names of its agent and its recipient. */
export type NamedDelivery = Delivery & { readonly agentName?: string; readonly personName?: string };

export function DeliveryRow({ delivery, onChanged }: { delivery: NamedDelivery; onChanged: () => void }) {
  const [isEditing, setEditing] = useState(false);
  const {
    id,
    agentId,
    agentName,
    personName,
    runId,
    target,
    payload,
    state,
    attempts,
    reason,
    createdAt,
    nextAt,
    endedAt,
  } = delivery;
  const retry = async (): Promise<void> => {
    await api.post(pathOf("api", "outbox", id, "retry"));
    showDone(t.outbox.retried);
    onChanged();
  };
  const drop = async (): Promise<void> => {
    await api.post(pathOf("api", "outbox", id, "drop"));
    onChanged();
  };
  return (
    <Row
      title={personName ?? target.channel ?? t.common.none}
      side={<Badge tone={TONES[state] ?? "neutral"}>{t.outbox.states[state]}</Badge>}
      meta={
        <>
          <a href={linkTo("conversations", agentId)}>{agentName ?? t.approvals.conversation}</a>
          {runId && <a href={linkTo("runs", runId)}>{t.chat.runLink}</a>}
          <Time at={endedAt ?? createdAt} />
          {attempts > 0 && <span>{t.outbox.attempts(attempts)}</span>}
          {state === "pending" && nextAt > createdAt && (
            <span>
              {t.schedules.next} <DueTime at={nextAt} />
            </span>
          )}
        </>
      }
      actions={
        <>
          {MAY_RETRY.includes(state) && (
            <Button icon="retry" onClick={retry}>
              {t.outbox.retry}
            </Button>
          )}
          {MAY_RETRY.includes(state) && (
            <Button kind="quiet" icon="edit" label={t.outbox.edit} onClick={() => setEditing(true)} />
          )}
          {WAITS.includes(state) && (
            <Confirm
              text={t.outbox.drop}
              title={t.outbox.dropTitle}
              body={t.outbox.dropText}
              done={t.outbox.dropped}
              onConfirm={drop}
            />
          )}
        </>
      }
    >
      <p class="row-text">{markdownLine(payload.text ?? t.outbox.noText, 300)}</p>
      {reason && <p class="row-note">{reason}</p>}
      {isEditing && <EditDialog delivery={delivery} onClose={() => setEditing(false)} onSent={onChanged} />}
    </Row>
  );
}

function EditDialog({ delivery, onClose, onSent }: { delivery: Delivery; onClose: () => void; onSent: () => void }) {
  const [text, setText] = useState(delivery.payload.text ?? "");
  const send = async (): Promise<void> => {
    await api.post(pathOf("api", "outbox", delivery.id, "edit"), { text: text.trim() });
    showDone(t.outbox.retried);
    onSent();
  };
  return (
    <Dialog title={t.outbox.edit} action={t.inbox.send} onClose={onClose} onAction={send}>
      <Field label={t.inbox.editField} hint={t.outbox.editText}>
        <textarea required rows={6} value={text} onInput={(event) => setText(inputValue(event))} />
      </Field>
    </Dialog>
  );
}

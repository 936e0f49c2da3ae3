/** People: who they are, what they may do, their limits, the browsers that are signed in, and the audit log. */
import { useState } from "preact/hooks";
import { pathOf, withShortIds } from "../../../src/client-browser.ts";
import type { AuditRow } from "../../../src/core/people/audit.ts";
import type { PersonRecord } from "../../../src/core/people/person-record.ts";
import { api, type Page } from "../api.ts";
import { usePaged, useQuery } from "../query.ts";
import { linkTo, route } from "../router.ts";
import { currentMe, isOwner } from "../session.ts";
import { t } from "../texts.ts";
import { Dialog } from "../ui/dialog.tsx";
import { List, PagedList } from "../ui/list.tsx";
import { Badge, Button, Field, inputValue, Row, Rows, Section, Time, type Tone, ViewHead } from "../ui/parts.tsx";
import { showDone } from "../ui/toast.tsx";
import { PersonDetail } from "./person-detail.tsx";

export function People() {
  const { id } = route.value;
  return id === undefined ? <Everyone /> : <PersonDetail key={id} id={id} />;
}

function Everyone() {
  const [isAdding, setAdding] = useState(false);
  const list = usePaged<PersonRecord>(
    (limit, after, signal) => api.get<Page<PersonRecord>>("/api/people", { after, limit }, signal),
    { key: "people" },
  );
  return (
    <div class="view">
      <ViewHead title={t.people.title} text={t.people.text}>
        {isOwner() && (
          <Button kind="primary" icon="plus" onClick={() => setAdding(true)}>
            {t.people.add}
          </Button>
        )}
      </ViewHead>
      <PagedList list={list} label={t.people.title} empty={["people", t.people.none, t.people.noneText]}>
        {({ id, name, role, accounts, grants }) => (
          <Row
            key={id}
            href={linkTo("people", id)}
            title={name ?? id}
            side={<Badge>{t.people.role[role]}</Badge>}
            meta={
              <>
                <span class="mono">{id}</span>
                {accounts.map((account) => (
                  <span key={account}>{account}</span>
                ))}
                {grants.length > 0 && (
                  <span>
                    {t.people.grants}: {grants.length}
                  </span>
                )}
              </>
            }
          />
        )}
      </PagedList>
      {isOwner() && <Pairings onDecided={list.reload} />}
      <Sessions />
      {isOwner() && <Audit />}
      {isAdding && <AddPerson onClose={() => setAdding(false)} onAdded={list.reload} />}
    </div>
  );
}

function AddPerson({ onClose, onAdded }: { onClose: () => void; onAdded: () => void }) {
  const [id, setId] = useState("");
  const [name, setName] = useState("");
  const add = async (): Promise<void> => {
    await api.post("/api/people", { id, name: name.trim() || undefined });
    showDone(t.people.added);
    onAdded();
  };
  return (
    <Dialog title={t.people.add} action={t.people.addAction} onClose={onClose} onAction={add}>
      <Field label={t.people.id} hint={t.people.idHint}>
        <input required maxLength={64} value={id} onInput={(event) => setId(inputValue(event))} />
      </Field>
      <Field label={t.people.name}>
        <input maxLength={200} value={name} onInput={(event) => setName(inputValue(event))} />
      </Field>
    </Dialog>
  );
}

interface Pairing {
  readonly code: string;
  readonly account: string;
  readonly name?: string;
  readonly at: number;
}

/** Strangers who wrote on a channel and wait to be let in. */
function Pairings({ onDecided }: { onDecided: () => void }) {
  const waiting = useQuery((signal) => api.get<Page<Pairing>>("/api/pairings", {}, signal), {
    key: "pairings",
    pollMs: 10_000,
  });
  const items = waiting.data?.items ?? [];
  const decide = async (code: string, answer: "yes" | "no" | "block"): Promise<void> => {
    await api.post(pathOf("api", "pairings", code), { answer });
    if (answer === "yes") showDone(t.people.paired);
    if (answer === "block") showDone(t.people.blocked);
    waiting.reload();
    onDecided();
  };
  return items.length === 0 ? null : (
    <Section title={t.people.pairings}>
      <Rows label={t.people.pairings}>
        {items.map(({ code, account, name, at }) => (
          <Row
            key={code}
            title={name ?? account}
            meta={
              <>
                <span class="mono">{account}</span>
                <span>{code}</span>
                <Time at={at} />
              </>
            }
            actions={
              <>
                <Button kind="primary" onClick={() => decide(code, "yes")}>
                  {t.people.pair}
                </Button>
                <Button onClick={() => decide(code, "no")}>{t.common.no}</Button>
                <Button kind="danger" onClick={() => decide(code, "block")}>
                  {t.people.block}
                </Button>
              </>
            }
          />
        ))}
      </Rows>
    </Section>
  );
}

interface Login {
  readonly id: string;
  readonly person: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly browser?: string;
}

/** “Chrome on Linux”, of the long text in which a browser names itself. */
function browserName(text = ""): string {
  const name = ["Edg", "Firefox", "Chrome", "Safari"].find((one) => text.includes(one));
  const system = ["Android", "iPhone", "Windows", "Mac OS", "Linux"].find((one) => text.includes(one));
  return name === undefined ? text.slice(0, 60) : `${name}${system ? `, ${system}` : ""}`;
}

function Sessions() {
  const logins = useQuery((signal) => api.get<Page<Login>>("/api/logins", {}, signal), { key: "logins" });
  const end = async (id: string): Promise<void> => {
    await api.delete(pathOf("api", "logins", id));
    showDone(t.people.ended);
    logins.reload();
  };
  return (
    <Section title={t.people.sessions}>
      <List query={logins} rows={2} label={t.people.sessions} none={t.people.noSessions}>
        {({ id, person, createdAt, browser }) => (
          <Row
            key={id}
            title={person}
            side={id === currentMe().login ? <Badge tone="accent">{t.people.thisOne}</Badge> : undefined}
            meta={
              <>
                <span>
                  {t.people.since} <Time at={createdAt} />
                </span>
                <span>{browserName(browser)}</span>
              </>
            }
            actions={
              <Button kind="danger" onClick={() => end(id)}>
                {t.people.end}
              </Button>
            }
          />
        )}
      </List>
    </Section>
  );
}

const DECISIONS: Readonly<Record<string, Tone>> = { allow: "ok", ask: "warn", deny: "bad" };

export function Audit({ person }: { person?: string }) {
  const list = usePaged<AuditRow>(
    (limit, before, signal) =>
      api.get<Page<AuditRow>>("/api/audit", { person, before, limit: Math.min(limit, 100) }, signal),
    {
      key: person ?? "all",
    },
  );
  return (
    <Section title={t.people.audit}>
      <PagedList list={list} label={t.people.audit} none={t.people.noAudit}>
        {({ n, at, person: who, action, target, decision, reason, surface }) => (
          <Row
            key={n}
            title={`${action}${target ? ` ${withShortIds(target)}` : ""}`}
            side={<Badge tone={DECISIONS[decision] ?? "neutral"}>{t.people.verdicts[decision]}</Badge>}
            meta={
              <>
                <Time at={at} />
                <span>{who}</span>
                <span>{surface}</span>
                {reason && <span>{reason}</span>}
              </>
            }
          />
        )}
      </PagedList>
    </Section>
  );
}

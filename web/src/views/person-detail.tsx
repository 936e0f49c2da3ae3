/** One person: accounts, rights, limits, an invitation, and forgetting the person. */
import { useState } from "preact/hooks";
import { pathOf } from "../../../src/client-browser.ts";
import type { PersonRecord } from "../../../src/core/people/person-record.ts";
import { api } from "../api.ts";
import { useQuery } from "../query.ts";
import { go } from "../router.ts";
import { isOwner } from "../session.ts";
import { t } from "../texts.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Badge, Button, Field, inputValue, Loaded, Row, Rows, Section, type Tone, ViewHead } from "../ui/parts.tsx";
import { showDone } from "../ui/toast.tsx";
import { Audit } from "./people.tsx";

interface PartProps {
  readonly person: PersonRecord;
  readonly onChanged: () => void;
}

export function PersonDetail({ id }: { id: string }) {
  const person = useQuery((signal) => api.get<PersonRecord>(pathOf("api", "people", id), {}, signal), { key: id });
  return (
    <div class="view">
      <Loaded query={person}>
        {(data) => (
          <>
            <ViewHead title={data.name ?? data.id} text={<span class="mono">{data.id}</span>}>
              {isOwner() && <Commands person={data} onChanged={person.reload} />}
            </ViewHead>
            <div class="columns">
              <div>
                <Grants person={data} onChanged={person.reload} />
                {isOwner() && <Audit person={data.id} />}
              </div>
              <div>
                <Accounts person={data} onChanged={person.reload} />
                <Limits person={data} onChanged={person.reload} />
              </div>
            </div>
          </>
        )}
      </Loaded>
    </div>
  );
}

function Commands({ person: { id } }: PartProps) {
  const [link, setLink] = useState<string>();
  const invite = async (): Promise<void> => {
    setLink((await api.post<{ link: string }>(pathOf("api", "people", id, "invitations"))).link);
  };
  const forget = async (): Promise<void> => {
    await api.delete(pathOf("api", "people", id, "data"));
    go("people");
  };
  return (
    <>
      <Button onClick={invite}>{t.people.invite}</Button>
      <Confirm
        text={t.people.forget}
        icon="trash"
        title={t.people.forgetTitle}
        body={t.people.forgetText}
        done={t.people.forgotten}
        onConfirm={forget}
      />
      {link !== undefined && (
        <Dialog title={t.people.invite} onClose={() => setLink(undefined)}>
          <p>{t.people.invited}</p>
          <p class="link-box">{link}</p>
        </Dialog>
      )}
    </>
  );
}

function Accounts({ person: { id, accounts }, onChanged }: PartProps) {
  const [account, setAccount] = useState("");
  const path = pathOf("api", "people", id, "accounts");
  const link = async (): Promise<void> => {
    await api.post(path, { account: account.trim() });
    setAccount("");
    onChanged();
  };
  const unlink = async (given: string): Promise<void> => {
    await api.delete(path, { account: given });
    onChanged();
  };
  return (
    <Section title={t.people.accounts}>
      {accounts.length === 0 && <p class="calm">{t.people.noAccounts}</p>}
      <Rows label={t.people.accounts}>
        {accounts.map((one) => (
          <Row
            key={one}
            title={one}
            actions={isOwner() && <Button onClick={() => unlink(one)}>{t.people.unlink}</Button>}
          />
        ))}
      </Rows>
      {isOwner() && (
        <div class="card form spaced">
          <Field label={t.people.link} hint={t.people.linkHint}>
            <input value={account} onInput={(event) => setAccount(inputValue(event))} />
          </Field>
          <div>
            <Button onClick={link} disabled={account.trim() === ""}>
              {t.people.linkAction}
            </Button>
          </div>
        </div>
      )}
    </Section>
  );
}

const TONES: Readonly<Record<string, Tone>> = { allow: "ok", ask: "warn", deny: "bad" };

function Grants({ person: { id, grants }, onChanged }: PartProps) {
  const [subject, setSubject] = useState("");
  const [verdict, setVerdict] = useState("allow");
  const path = pathOf("api", "people", id, "grants");
  const listed = grants.map((grant) => {
    const [kind = "allow"] = Object.keys(TONES).filter((one) => one in grant);
    return { kind, what: String((grant as Record<string, unknown>)[kind]) };
  });
  const grant = async (): Promise<void> => {
    await api.post(path, { subject: subject.trim(), verdict });
    setSubject("");
    onChanged();
  };
  const revoke = async (given: string): Promise<void> => {
    await api.delete(path, { subject: given });
    onChanged();
  };
  return (
    <Section title={t.people.grants}>
      {listed.length === 0 && <p class="calm">{t.people.noGrants}</p>}
      <Rows label={t.people.grants}>
        {listed.map(({ kind, what }) => (
          <Row
            key={what}
            title={<span class="mono">{what}</span>}
            side={<Badge tone={TONES[kind] ?? "neutral"}>{t.people.verdicts[kind]}</Badge>}
            actions={isOwner() && <Button onClick={() => revoke(what)}>{t.people.revoke}</Button>}
          />
        ))}
      </Rows>
      {isOwner() && (
        <div class="card form spaced">
          <div class="form-line">
            <Field label={t.people.subject} hint={t.people.subjectHint}>
              <input value={subject} onInput={(event) => setSubject(inputValue(event))} />
            </Field>
            <Field label={t.people.verdict}>
              <select value={verdict} onChange={(event) => setVerdict(inputValue(event))}>
                {Object.keys(TONES).map((one) => (
                  <option key={one} value={one}>
                    {t.people.verdicts[one]}
                  </option>
                ))}
              </select>
            </Field>
          </div>
          <div>
            <Button onClick={grant} disabled={subject.trim() === ""}>
              {t.people.grant}
            </Button>
          </div>
        </div>
      )}
    </Section>
  );
}

const LIMITS = [
  ["messagesPerDay", t.people.messages],
  ["tokensPerDay", t.people.tokens],
  ["dollarsPerDay", t.people.dollars],
] as const;

function Limits({ person: { id, limits }, onChanged }: PartProps) {
  const [values, setValues] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(LIMITS.map(([field]) => [field, limits?.[field] === undefined ? "" : String(limits[field])])),
  );
  const save = async (): Promise<void> => {
    const given = Object.entries(values).filter(([, value]) => value.trim() !== "");
    const next = given.length === 0 ? null : Object.fromEntries(given.map(([field, value]) => [field, Number(value)]));
    await api.patch(pathOf("api", "people", id), { limits: next });
    showDone(t.people.saved);
    onChanged();
  };
  return (
    <Section title={t.people.limits}>
      <div class="card form">
        {LIMITS.map(([field, name]) => (
          <Field key={field} label={name}>
            <input
              type="number"
              min={0}
              step="any"
              disabled={!isOwner()}
              value={values[field]}
              placeholder={t.people.noLimit}
              onInput={(event) => setValues({ ...values, [field]: inputValue(event) })}
            />
          </Field>
        ))}
        {isOwner() && (
          <div>
            <Button kind="primary" onClick={save}>
              {t.common.save}
            </Button>
          </div>
        )}
      </div>
    </Section>
  );
}

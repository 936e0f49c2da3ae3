/** Notes, prompt files and skills of the owner: read, edit after seeing the difference, and undo any change that was made. */
import { useState } from "preact/hooks";
import { ApiError, pathOf } from "../../../src/client-browser.ts";
import { api, type Page } from "../api.ts";
import { bytes, plainText } from "../format.ts";
import { usePaged, useQuery } from "../query.ts";
import { linkTo } from "../router.ts";
import { t } from "../texts.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icons.tsx";
import { List, PagedList } from "../ui/list.tsx";
import { LongText } from "../ui/markdown-text.tsx";
import { Badge, Button, Details, Field, inputValue, Loaded, Row, Section, Time, ViewHead } from "../ui/parts.tsx";
import { showDone } from "../ui/toast.tsx";

interface Version {
  readonly sha256: string;
  readonly bytes: number;
}

interface Kept {
  readonly file: string;
  readonly kind: string;
  readonly bytes: number;
  readonly changedAt: number;
}

interface Change {
  readonly id: number;
  readonly at: number;
  readonly kind: string;
  readonly file: string;
  readonly by: { readonly person: string; readonly surface: string; readonly runId?: string };
  readonly why?: string;
  readonly after: Version | null;
  readonly state: string;
  readonly undoes?: number;
  readonly undoneBy?: number;
}

/** Every file whose changes are kept, and the latest changes of all of them. */
export function Notes({ q }: { q: string }) {
  const files = useQuery((signal) => orNone(api.get<Page<Kept>>("/api/changes/files", {}, signal)), { key: "kept" });
  const shown = files.data && { ...files.data, items: files.data.items.filter(({ file }) => matches(file, q)) };
  return (
    <>
      <Section title={t.memory.notes}>
        <List query={{ ...files, data: shown }} label={t.memory.notes} none={t.memory.noNotes}>
          {({ file, kind, bytes: size, changedAt }) => (
            <Row
              key={file}
              lead={<Icon name="memory" />}
              href={linkTo("memory", file)}
              title={file}
              side={bytes(size)}
              meta={
                <>
                  <Badge>{t.memory.kinds[kind]}</Badge>
                  <Time at={changedAt} />
                </>
              }
            />
          )}
        </List>
      </Section>
      <History />
    </>
  );
}

/** An engine inside a program may have no files of its own. */
const orNone = <T,>(asked: Promise<Page<T>>): Promise<Page<T>> =>
  asked.catch((error) => {
    if (error instanceof ApiError && (error.status === 404 || error.status === 400)) return { items: [], next: null };
    throw error;
  });

export const matches = (name: string, q: string): boolean => name.toLowerCase().includes(q.toLowerCase());

interface Current {
  readonly file: string;
  readonly kind: string;
  readonly text: string | null;
  readonly version: Version | null;
}

export function Note({ file }: { file: string }) {
  const [isEditing, setEditing] = useState(false);
  const current = useQuery((signal) => api.get<Current>("/api/changes/file", { file }, signal), { key: file });
  return (
    <div class="view">
      <ViewHead title={<span class="mono">{file}</span>}>
        <a class="button" href={linkTo("memory")}>
          {t.common.back}
        </a>
        {current.data && (
          <Button kind="primary" icon="edit" onClick={() => setEditing(true)}>
            {t.memory.edit}
          </Button>
        )}
      </ViewHead>
      <Loaded query={current}>
        {(data) => (
          <>
            {data.text === null ? (
              <p class="calm">{t.memory.noFile}</p>
            ) : (
              <div class="card">
                <LongText text={data.text} />
              </div>
            )}
            {isEditing && <Edit current={data} onClose={() => setEditing(false)} onSaved={current.reload} />}
          </>
        )}
      </Loaded>
      <History file={file} version={current.data?.version?.sha256} onUndone={current.reload} />
    </div>
  );
}

function Edit({ current, onClose, onSaved }: { current: Current; onClose: () => void; onSaved: () => void }) {
  const { file, version } = current;
  const [text, setText] = useState(current.text ?? "");
  const [diff, setDiff] = useState<string>();
  const body = { file, text, expect: version?.sha256 ?? null };
  const preview = async (): Promise<void> => {
    setDiff((await api.post<{ diff: string | null }>("/api/changes", { ...body, dryRun: true })).diff ?? "");
  };
  const save = async (): Promise<void> => {
    await api.post("/api/changes", body);
    showDone(t.people.saved);
    onSaved();
  };
  return (
    <Dialog title={t.memory.editTitle} action={t.common.save} onClose={onClose} onAction={save}>
      <Field label={file} hint={t.memory.editHint}>
        <textarea class="mono" rows={14} value={text} onInput={(event) => setText(inputValue(event))} />
      </Field>
      <Button onClick={preview}>{t.memory.difference}</Button>
      {diff !== undefined && <Diff text={diff} />}
    </Dialog>
  );
}

/** The changes of one file or of all, the newest first. */
function History({ file, version, onUndone }: { file?: string; version?: string; onUndone?: () => void }) {
  const list = usePaged<Change>(
    (limit, before, signal) => orNone(api.get<Page<Change>>("/api/changes", { file, before, limit }, signal)),
    { key: `${file ?? ""} ${version ?? ""}` },
  );
  const changed = (): void => {
    list.reload();
    onUndone?.();
  };
  return (
    <Section title={t.memory.history}>
      <PagedList list={list} label={t.memory.history} none={t.memory.noHistory}>
        {(change) => <ChangeRow key={change.id} change={change} isOfAll={file === undefined} onUndone={changed} />}
      </PagedList>
    </Section>
  );
}

function ChangeRow({ change, isOfAll, onUndone }: { change: Change; isOfAll: boolean; onUndone: () => void }) {
  const { id, at, kind, file, by, why, state, undoes, undoneBy } = change;
  const path = pathOf("api", "changes", String(id));
  const undo = async (): Promise<void> => {
    await api.post(`${path}/undo`);
    onUndone();
  };
  return (
    <Row
      title={isOfAll ? file : <Time at={at} />}
      href={isOfAll && kind !== "config" ? linkTo("memory", file) : undefined}
      side={undoneBy === undefined ? undefined : <Badge>{t.memory.undone}</Badge>}
      meta={
        <>
          {isOfAll && <Time at={at} />}
          <span>{t.memory.by(by.person, by.surface)}</span>
          {undoes !== undefined && <span>{t.memory.undoes(undoes)}</span>}
          {why && <span>{why}</span>}
          {by.runId && <a href={linkTo("runs", by.runId)}>{t.chat.runLink}</a>}
        </>
      }
      actions={
        state === "done" && undoneBy === undefined ? (
          <Confirm
            text={t.memory.undo}
            icon="retry"
            title={t.memory.undoTitle}
            body={<Difference id={id} />}
            done={t.memory.undone}
            onConfirm={undo}
          />
        ) : undefined
      }
    >
      <Details summary={t.memory.difference}>
        <Difference id={id} />
      </Details>
    </Row>
  );
}

function Difference({ id }: { id: number }) {
  const change = useQuery(
    (signal) => api.get<{ diff: string | null }>(pathOf("api", "changes", String(id)), {}, signal),
    { key: String(id), isLive: false },
  );
  return <Loaded query={change}>{({ diff }) => <Diff text={diff ?? t.memory.noDifference} />}</Loaded>;
}

const TONES: Readonly<Record<string, string>> = { "+": "added", "-": "removed" };
const MOST_LINES = 400;

function Diff({ text }: { text: string }) {
  const lines = plainText(text).split("\n").slice(0, MOST_LINES);
  return (
    <pre class="code diff">
      {lines.map((line, n) => (
        <span key={n} class={TONES[line[0] ?? ""]}>
          {`${line}\n`}
        </span>
      ))}
    </pre>
  );
}

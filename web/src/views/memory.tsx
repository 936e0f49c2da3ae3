/** The memory of agents: notes with their history, files of people, and a search over all of it and every conversation. */
import { useRef, useState } from "preact/hooks";
import { pathOf } from "../../../src/client-browser.ts";
import { api, messageOf, type Page } from "../api.ts";
import { download, type StoredFile, upload } from "../files.ts";
import { bytes } from "../format.ts";
import { usePaged, useQuery } from "../query.ts";
import { route, setQuery } from "../router.ts";
import { isOwner } from "../session.ts";
import { t } from "../texts.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Icon } from "../ui/icons.tsx";
import { PagedList } from "../ui/list.tsx";
import { Button, inputValue, Row, Section, Tabs, Time, ViewHead } from "../ui/parts.tsx";
import { SearchAll } from "../ui/search-all.tsx";
import { showDone, showProblem } from "../ui/toast.tsx";
import { matches, Note, Notes } from "./notes.tsx";

interface Used {
  readonly usedBytes: number;
  readonly quotaBytes: number;
}

const TABS = ["notes", "files"] as const;

/** One field finds words in everything that was said and noted; below it are the notes, with their history, and the files. */
export function Memory() {
  const { id, query } = route.value;
  return id === undefined || !isOwner() ? <Everything tab={query.tab} /> : <Note key={id} file={id} />;
}

function Everything({ tab: asked }: { tab: string | undefined }) {
  const [q, setQ] = useState("");
  const tab = isOwner() && asked !== "files" ? "notes" : "files";
  return (
    <div class="view">
      <ViewHead title={t.memory.title} text={t.memory.text}>
        {isOwner() && (
          <Tabs
            label={t.memory.title}
            value={tab}
            tabs={TABS.map((one) => [one, t.memory[one]])}
            onChange={(next) => setQuery({ tab: next })}
          />
        )}
      </ViewHead>
      <div class="filter">
        <input
          type="search"
          value={q}
          placeholder={t.memory.search}
          aria-label={t.memory.search}
          maxLength={200}
          onInput={(event) => setQ(inputValue(event))}
        />
      </div>
      {q.trim().length > 1 && (
        <Section title={t.search.found}>
          <SearchAll q={q.trim()} />
        </Section>
      )}
      {tab === "notes" ? <Notes q={q} /> : <Files q={q} />}
    </div>
  );
}

function Files({ q }: { q: string }) {
  const list = usePaged<StoredFile>(
    (limit, after, signal) => api.get<Page<StoredFile>>("/api/files", { after, limit }, signal),
    { key: "files" },
  );
  const used = useQuery((signal) => api.get<Used>("/api/files/usage", {}, signal), { key: "used" });
  const field = useRef<HTMLInputElement>(null);
  const changed = (): void => {
    list.reload();
    used.reload();
  };
  const add = async (): Promise<void> => {
    try {
      for (const file of field.current?.files ?? []) await upload(file);
      showDone(t.memory.uploaded);
    } catch (error) {
      showProblem(messageOf(error));
    } finally {
      changed();
    }
  };
  return (
    <Section
      title={t.memory.files}
      side={
        <>
          {used.data && (
            <span class="muted">
              {bytes(used.data.usedBytes)} {t.memory.quota(bytes(used.data.quotaBytes))}
            </span>
          )}
          <input
            ref={field}
            class="visually-hidden"
            type="file"
            multiple
            tabIndex={-1}
            aria-label={t.memory.upload}
            onChange={() => void add()}
          />
          <Button kind="primary" icon="plus" onClick={() => field.current?.click()}>
            {t.memory.upload}
          </Button>
        </>
      }
    >
      <PagedList
        list={{ ...list, data: list.data?.filter(({ name }) => matches(name, q)) }}
        label={t.memory.files}
        empty={["file", t.memory.none, t.memory.noneText]}
      >
        {(file) => <FileRow key={file.id} file={file} onChanged={changed} />}
      </PagedList>
    </Section>
  );
}

function FileRow({
  file: { id, name, mimeType, size, createdAt },
  onChanged,
}: {
  file: StoredFile;
  onChanged: () => void;
}) {
  const remove = async (): Promise<void> => {
    await api.delete(pathOf("api", "files", id));
    onChanged();
  };
  return (
    <Row
      lead={<Icon name="file" />}
      title={name}
      side={bytes(size)}
      meta={
        <>
          <span>{mimeType}</span>
          <span>
            {t.memory.added} <Time at={createdAt} />
          </span>
        </>
      }
      actions={
        <>
          <Button onClick={() => download({ id, name })}>{t.memory.download}</Button>
          <Confirm
            text={t.memory.remove}
            icon="trash"
            isQuiet
            title={t.memory.removeTitle}
            body={t.memory.removeText}
            done={t.memory.removed}
            onConfirm={remove}
          />
        </>
      }
    />
  );
}

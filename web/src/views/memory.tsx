/** Files of the person: search, upload, download, remove. */
import { useRef, useState } from "preact/hooks";
import { pathOf } from "../../../src/client-browser.ts";
import { api, type Page } from "../api.ts";
import { contentUrl, type StoredFile, upload } from "../files.ts";
import { bytes } from "../format.ts";
import { usePaged, useQuery } from "../query.ts";
import { t } from "../texts.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Icon } from "../ui/icons.tsx";
import { Button, Empty, inputValue, Loaded, More, Row, Rows, Stat, Time, ViewHead } from "../ui/parts.tsx";
import { showDone } from "../ui/toast.tsx";

interface Used {
  readonly usedBytes: number;
  readonly quotaBytes: number;
}

export function Memory() {
  const [q, setQ] = useState("");
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
    for (const file of field.current?.files ?? []) await upload(file);
    showDone(t.memory.uploaded);
    changed();
  };
  return (
    <div class="view">
      <ViewHead title={t.memory.title} text={t.memory.text}>
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
      </ViewHead>
      <div class="stats">
        <Stat
          label={t.memory.used}
          value={used.data ? bytes(used.data.usedBytes) : "–"}
          note={used.data && t.memory.quota(bytes(used.data.quotaBytes))}
        />
      </div>
      <div class="filter">
        <input
          type="search"
          value={q}
          placeholder={t.memory.search}
          aria-label={t.memory.search}
          onInput={(event) => setQ(inputValue(event))}
        />
      </div>
      <Loaded query={list}>
        {(items) => {
          const shown = items.filter(({ name }) => name.toLowerCase().includes(q.toLowerCase()));
          return shown.length === 0 ? (
            <Empty icon="file" title={t.memory.none}>
              <p>{t.memory.noneText}</p>
            </Empty>
          ) : (
            <Rows label={t.memory.files}>
              {shown.map((file) => (
                <FileRow key={file.id} file={file} onChanged={changed} />
              ))}
            </Rows>
          );
        }}
      </Loaded>
      <More list={list} />
    </div>
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
          <a class="button" href={contentUrl(id)} download={name}>
            {t.memory.download}
          </a>
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

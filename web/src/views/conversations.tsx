/** Conversations of all channels: a list with a search, and the one that is open. */
import { useMemo, useState } from "preact/hooks";
import { api, type Page } from "../api.ts";
import { Conversation } from "../conversation/conversation.tsx";
import { saidIn } from "../conversation/entry.ts";
import { markdownLine } from "../markdown.ts";
import { usePaged } from "../query.ts";
import { linkTo, route } from "../router.ts";
import { t } from "../texts.ts";
import { Icon } from "../ui/icons.tsx";
import { Badge, Empty, inputValue, Loaded, More, Row, Rows, Section, Time } from "../ui/parts.tsx";
import { SearchAll } from "../ui/search-all.tsx";

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly channel: string;
  readonly sessionKey: string;
  readonly waiting: number;
  readonly runId: string | null;
  readonly lastHumanAt: number | null;
  readonly last: { readonly role: string; readonly text: string; readonly at: number } | null;
}

export function Conversations() {
  const { id } = route.value;
  return (
    <div class={`split ${id === undefined ? "" : "has-detail"}`}>
      <List current={id} />
      <section class="split-detail" aria-label={t.chat.title}>
        {id === undefined ? (
          <Empty icon="chat" title={t.chat.pickTitle}>
            <p>{t.chat.pickText}</p>
            <a class="button primary" href={linkTo("conversations", "main")}>
              {t.chat.start}
            </a>
          </Empty>
        ) : (
          <Conversation key={id} id={id} />
        )}
      </section>
    </div>
  );
}

function List({ current }: { current: string | undefined }) {
  const [q, setQ] = useState("");
  const list = usePaged<Listed>(
    (limit, before, signal) =>
      api.get<Page<Listed>>("/api/conversations", { q: q || undefined, before, limit }, signal),
    { key: q },
  );
  return (
    <div class="split-list">
      <div class="list-head">
        <h1>{t.chat.title}</h1>
        <a
          class="button quiet only-icon"
          href={linkTo("conversations", "main")}
          aria-label={t.chat.start}
          title={t.chat.start}
        >
          <Icon name="plus" />
        </a>
        <input
          type="search"
          value={q}
          placeholder={t.chat.searchLabel}
          aria-label={t.chat.searchLabel}
          maxLength={200}
          onInput={(event) => setQ(inputValue(event))}
        />
      </div>
      <div class="list-scroll">
        <Loaded query={list} rows={8}>
          {(items) =>
            items.length === 0 ? (
              q ? (
                <p class="calm">{t.chat.noMatch}</p>
              ) : (
                <Empty icon="chat" title={t.chat.noneTitle}>
                  <p>{t.chat.noneText}</p>
                </Empty>
              )
            ) : (
              <Rows label={t.chat.title}>
                {items.map((one) => (
                  <ListRow key={one.id} one={one} current={current === one.id} />
                ))}
              </Rows>
            )
          }
        </Loaded>
        <More list={list} />
        {q.trim().length > 1 && (
          <Section title={t.chat.inTexts}>
            <SearchAll q={q.trim()} />
          </Section>
        )}
      </div>
    </div>
  );
}

const PREVIEW_LENGTH = 90;

const previewOf = (text: string): string =>
  markdownLine(saidIn(text).text.replace(/<\/?system_message[^>]{0,200}>/g, ""), PREVIEW_LENGTH);

function ListRow({ one, current }: { one: Listed; current: boolean }) {
  const { id, channel, waiting, runId, lastHumanAt, last } = one;
  const preview = useMemo(() => (last ? previewOf(last.text) : "\u00a0"), [last?.text]);
  return (
    <Row
      href={linkTo("conversations", id)}
      current={current}
      title={one.name}
      side={<Time at={last?.at ?? lastHumanAt} />}
      meta={
        <>
          <Badge>{channel}</Badge>
          {runId !== null && <Badge tone="ok">{t.now.running.toLowerCase()}</Badge>}
          {waiting > 0 && <Badge tone="warn">{t.now.waits(waiting)}</Badge>}
        </>
      }
    >
      <p class="row-preview">{preview}</p>
    </Row>
  );
}

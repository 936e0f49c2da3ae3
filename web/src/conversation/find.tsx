/** Finds a text in the whole history of a conversation, on the server. */
import { useState } from "preact/hooks";
import { pathOf } from "../../../src/client-browser.ts";
import { api, type Page } from "../api.ts";
import { oneLine } from "../format.ts";
import { t } from "../texts.ts";
import { Button, inputValue, Row, Rows, Time } from "../ui/parts.tsx";

interface Found {
  readonly position: number;
  readonly entryId: string;
  readonly role: string;
  readonly at: number;
  readonly text: string;
}

export function Find({ agentId }: { agentId: string }) {
  const [q, setQ] = useState("");
  const [found, setFound] = useState<Page<Found, number>>();
  const look = async (before?: number): Promise<void> => {
    if (q.trim() === "") return;
    const page = await api.get<Page<Found, number>>(pathOf("api", "agents", agentId, "search"), {
      q: q.trim(),
      before,
    });
    setFound({ items: before === undefined ? page.items : [...(found?.items ?? []), ...page.items], next: page.next });
  };
  return (
    <section class="find" aria-label={t.chat.find}>
      <form
        class="find-form"
        onSubmit={(event) => {
          event.preventDefault();
          void look();
        }}
      >
        <input
          type="search"
          value={q}
          aria-label={t.chat.find}
          placeholder={t.chat.find}
          maxLength={200}
          onInput={(event) => setQ(inputValue(event))}
        />
        <Button onClick={() => look()}>{t.common.search}</Button>
      </form>
      {found && (
        <div class="find-results">
          {found.items.length === 0 && <p class="muted">{t.chat.notFound}</p>}
          <Rows label={t.chat.found(found.items.length)}>
            {found.items.map(({ position, role, at, text }) => (
              <Row key={position} title={t.role[role] ?? role} side={<Time at={at} />}>
                <p class="row-text">{oneLine(text, 240)}</p>
              </Row>
            ))}
          </Rows>
          {found.next !== null && (
            <Button kind="quiet" onClick={() => look(found.next ?? undefined)}>
              {t.chat.goOn}
            </Button>
          )}
        </div>
      )}
    </section>
  );
}

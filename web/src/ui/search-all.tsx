/** Finds words in all conversations and notes, on the server. A hit leads to where it is. */
import { api, type Page } from "../api.ts";
import { oneLine } from "../format.ts";
import { useQuery, useSettled } from "../query.ts";
import { linkTo } from "../router.ts";
import { t } from "../texts.ts";
import { List } from "./list.tsx";
import { Badge, Row, Time } from "./parts.tsx";

interface Hit {
  readonly source: string;
  readonly ref: string;
  readonly speaker: string;
  readonly at: number;
  readonly snippet: string;
  readonly agentId?: string;
  readonly agentName?: string;
  readonly path?: string;
  readonly line?: number;
}

const LIMIT = 20;

export function SearchAll({ q: typed }: { q: string }) {
  const q = useSettled(typed);
  const hits = useQuery((signal) => api.get<Page<Hit>>("/api/search", { q, limit: LIMIT }, signal), {
    key: q,
    isLive: false,
  });
  return (
    <List query={hits} rows={3} label={t.search.found} none={t.search.nothing}>
      {({ source, ref, speaker, at, snippet, agentId, agentName, path, line }) => (
        <Row
          key={ref}
          href={agentId === undefined ? linkTo("memory", path) : linkTo("conversations", agentId)}
          title={path === undefined ? (t.role[speaker] ?? speaker) : `${path}${line === undefined ? "" : `:${line}`}`}
          side={<Time at={at} />}
          meta={
            <>
              <Badge>{t.search.sources[source] ?? source}</Badge>
              {agentName && <span>{agentName}</span>}
            </>
          }
        >
          <p class="row-text">{oneLine(snippet, 240)}</p>
        </Row>
      )}
    </List>
  );
}

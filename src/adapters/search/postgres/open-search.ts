/** The search index of a shared store. Any node searches; the one that holds the lease follows the commits of all nodes. */

import { errorText } from "../../../core/errors.ts";
import type { Log } from "../../../core/ports/log.ts";
import {
  notesSpace,
  personSpace,
  type SearchIndex,
  type Space,
  spacesPrefix,
} from "../../../core/search/search-index.ts";
import type { Statement } from "../../store/postgres/batched-reads.ts";
import type { PostgresStore } from "../../store/postgres/open-store.ts";
import { backgroundTimeout } from "../../system/background-timers.ts";
import { findDocuments } from "../find-documents.ts";
import { noteFollower } from "../follow-notes.ts";
import { sharedFollower } from "./follow-shared.ts";
import { postgresDocuments } from "./search-documents.ts";
import { createSearchTables, emptySearchTables, forgetInTables, type SpaceRow } from "./search-tables.ts";
import { sharedNotes } from "./shared-notes.ts";
import { wordShares } from "./word-shares.ts";

export interface SharedSearchOptions {
  readonly store: PostgresStore;
  readonly log: Pick<Log, "warn">;
  /** Whether this process follows commits between searches. */
  readonly stays: boolean;
  readonly now?: () => number;
}

const LEASE = "search";
const EVERY_MS = 2_000;
const SPACES: Statement = { name: "search-spaces", text: "SELECT no, next FROM search_spaces WHERE name = ANY ($1)" };
/** The largest first, and not all of them: a query names each space that it searches. */
const PEOPLE: Statement = {
  name: "search-people",
  text: "SELECT no, next FROM search_spaces WHERE starts_with(name, $1) ORDER BY next DESC LIMIT 200",
};
const COUNT: Statement = {
  name: "search-count",
  text: "SELECT coalesce(sum(next), 0)::bigint AS count FROM search_spaces",
};

export function openSharedSearch({ store, log, stays, now = Date.now }: SharedSearchOptions): SearchIndex {
  const { connections, leases } = store;
  const follower = sharedFollower(store);
  const notes = noteFollower(sharedNotes(store), now);
  const frequent = wordShares(connections, now);
  let created: Promise<void> | undefined;
  let holds = false;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let working: Promise<void> = Promise.resolve();

  const ready = (): Promise<void> => {
    created ??= createSearchTables(connections).catch((error) => {
      created = undefined;
      throw error;
    });
    return created;
  };
  /** Indexes what is committed, if no other node does. */
  const step = (): Promise<void> => {
    working = working
      .catch(() => undefined)
      .then(async () => {
        await ready();
        if (!holds) {
          holds = await leases.tryHold(LEASE, () => {
            holds = false;
          });
          if (holds) follower.forget();
        }
        if (holds) await follower.step();
      });
    return working;
  };
  const poll = (): void => {
    timer = backgroundTimeout(() => {
      step()
        .catch((error) => {
          if (!closed) log.warn("The search index is behind; trying again.", { error: errorText(error) });
        })
        .finally(() => closed || poll());
    }, EVERY_MS);
  };
  if (stays) poll();

  const spacesOf = (names: readonly Space[]): Promise<readonly SpaceRow[]> => connections.all<SpaceRow>(SPACES, names);
  return {
    async search({ query, people, notes: directories, agentId, limit }) {
      await step();
      for (const directory of directories) await notes.follow(directory);
      const names = Array.isArray(people) ? people.map(personSpace) : undefined;
      const own = names
        ? await spacesOf(names)
        : await connections.all<SpaceRow>(PEOPLE, spacesPrefix(people as "all" | { app: string }));
      const files = agentId === undefined ? await spacesOf(directories.map(notesSpace)) : [];
      const index = postgresDocuments(connections, [...own, ...files], frequent, agentId);
      return own.length + files.length === 0 ? [] : findDocuments(index, query, { limit, now: now() });
    },
    async rebuild() {
      await ready();
      await emptySearchTables(connections);
      follower.forget();
      notes.forget();
      frequent.forget();
      await step();
    },
    async forget(traces) {
      await ready();
      await forgetInTables(connections, traces);
      notes.forget();
      frequent.forget();
    },
    async state() {
      await ready();
      return { documents: Number((await connections.one<{ count: number }>(COUNT))?.count ?? 0) };
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await working.catch(() => undefined);
      if (holds) await leases.release(LEASE).catch(() => undefined);
    },
  };
}

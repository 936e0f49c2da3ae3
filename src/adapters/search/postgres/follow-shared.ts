/**
 * Keeps the index of a shared store in step. One node at a time follows, under a lease. It reads each agent's lines by the agent's own
 * position, because a later change may commit before an earlier one, and moves its mark only up to the oldest open transaction (M35).
 */
import type pg from "pg";
import type { AgentId } from "../../../core/ids.ts";
import { personSpace } from "../../../core/search/search-index.ts";
import { endedBefore, touchedSince } from "../../store/postgres/changes.ts";
import type { PostgresStore } from "../../store/postgres/open-store.ts";
import { documentsOfLine } from "../documents-of.ts";
import { addDocuments, spaceNumber } from "./search-tables.ts";

interface SharedFollower {
  /** Indexes everything that is committed. */
  step(): Promise<void>;
  forget(): void;
}

const LINES = 1_000;
const AGENTS = 500;
const LEFT_OUT = new Set(["heartbeat"]);

export function sharedFollower(store: PostgresStore): SharedFollower {
  const { connections } = store;
  /** Changes of all transactions below this id are in the index: none of them is open any more. */
  let mark: string | undefined;
  /** How many changes from the mark on are in the index, by agent. */
  const written = new Map<string, number>();
  const followAll = async (): Promise<void> => {
    for (let after: AgentId | undefined; ; ) {
      const page = await store.agents({ limit: AGENTS, after });
      for (const { id } of page) await followAgent(store, id);
      if (page.length < AGENTS) return;
      after = page.at(-1)?.id;
    }
  };
  return {
    forget() {
      mark = undefined;
    },
    async step() {
      const before = await endedBefore(connections);
      if (mark === undefined) await followAll();
      else {
        for (const { word, changes } of await touchedSince(connections, mark)) {
          if (written.get(word) === changes || !/^[a-z0-9]{24,32}$/.test(word)) continue;
          await followAgent(store, word as AgentId);
          written.set(word, changes);
        }
      }
      if (mark !== before) written.clear();
      mark = before;
    },
  };
}

/** Lines and position are one transaction, and the agent's row is locked: two nodes never index a line twice. */
async function followAgent(store: PostgresStore, id: AgentId): Promise<void> {
  const agent = await store.agent(id);
  if (!agent || agent.person === undefined || LEFT_OUT.has(agent.descriptor.type)) return;
  const { person, sessionKey } = agent;
  for (let more = true; more; ) {
    more = await inTransaction(store, async (client) => {
      if (agent.stopped?.removed) {
        await client.query("DELETE FROM search_docs WHERE agent = $1", [id]);
        await client.query("DELETE FROM search_agents WHERE id = $1", [id]);
        return false;
      }
      const put = "INSERT INTO search_agents (id, session_key, pos) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING";
      await client.query(put, [id, sessionKey]);
      const { rows } = await client.query("SELECT pos FROM search_agents WHERE id = $1 FOR UPDATE", [id]);
      const pos = Number(rows[0]?.pos ?? 0);
      if (pos >= agent.nextPos) return false;
      const select = "SELECT pos, line FROM entries WHERE agent = $1 AND pos >= $2 ORDER BY pos LIMIT $3";
      const lines: readonly { pos: number; line: string }[] = (await client.query(select, [id, pos, LINES])).rows;
      const documents = lines.flatMap(({ pos: at, line }) =>
        documentsOfLine(line).map((each) => ({ ...each, pos: at })),
      );
      if (documents.length > 0)
        await addDocuments(client, await spaceNumber(client, personSpace(person)), { agent: id }, documents);
      const next = (lines.at(-1)?.pos ?? agent.nextPos - 1) + 1;
      await client.query("UPDATE search_agents SET pos = $2 WHERE id = $1", [id, next]);
      return lines.length === LINES;
    });
  }
}

export const inTransaction = <Result>(
  { connections }: Pick<PostgresStore, "connections">,
  act: (client: pg.ClientBase) => Promise<Result>,
): Promise<Result> =>
  connections.use("read", async (client) => {
    await client.query("BEGIN");
    try {
      // The index can be rebuilt: its commits need not wait for the disk.
      await client.query("SET LOCAL synchronous_commit = off");
      const result = await act(client);
      await client.query("COMMIT");
      return result;
    } catch (error) {
      await client.query("ROLLBACK").catch(() => undefined);
      throw error;
    }
  });

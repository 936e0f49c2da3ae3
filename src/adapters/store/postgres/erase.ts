/** How a person's rows are erased on PostgreSQL, and the reads over whole tables that this needs. */
import { freshState } from "../../../core/agent/fresh-state.ts";
import { type Prunable, QUESTION_FACTS } from "../../../core/store/change.ts";
import type { StoreEraser } from "../../../core/store/store.ts";
import { FORGOTTEN_REPLY } from "../forgotten-key.ts";
import { type AgentRow, agentOf, readablePage } from "../rows.ts";
import { SELECT_AGENTS_FROM } from "./agents.ts";
import type { Statement } from "./batched-reads.ts";
import { clean } from "./clean-text.ts";
import type { Connections } from "./connections.ts";
import { type OpForms, whole } from "./op-form.ts";

export const eraseOps: OpForms<"agent.erase" | "person.erase"> = {
  "agent.erase": {
    wire: ({ agentId, tombstone }, at) => ({
      agentId: clean(agentId),
      tombstone: clean(tombstone),
      reply: FORGOTTEN_REPLY,
      mark: JSON.stringify({ at: whole(at), reason: "forgotten", removed: true }),
      state: JSON.stringify(freshState(at)),
    }),
    locks: ({ agentId }) => [
      ["agents", clean(agentId)],
      ["stops", clean(agentId)],
    ],
  },
  "person.erase": {
    wire: ({ people, jobs, budgets, tombstone }) => ({
      people: people.map(clean),
      jobs: jobs.map(clean),
      budgets: budgets.map(clean),
      tombstone: clean(tombstone),
      reply: FORGOTTEN_REPLY,
    }),
    locks: ({ budgets }) => budgets.map((key) => ["budgets", clean(key)] as const),
  },
};

const SELECT_AGENTS: Statement = {
  name: "select-agents-ever",
  text: `${SELECT_AGENTS_FROM}
WHERE no > coalesce((SELECT earlier.no FROM agents AS earlier WHERE earlier.id = $1), 0) ORDER BY no LIMIT $2`,
};
const SELECT_FACTS: Statement = {
  name: "select-facts",
  text: "SELECT key, value FROM facts WHERE key > $1 ORDER BY key LIMIT $2",
};
const SELECT_MENTIONS: Statement = {
  name: "select-mentions",
  text: `SELECT agent AS "agentId", count(*)::int AS count FROM (
  SELECT agent, line AS text FROM entries WHERE agent = ANY ($1)
  UNION ALL SELECT agent, message FROM messages WHERE agent = ANY ($1)
) AS said WHERE text ~ $2 GROUP BY agent`,
};

const PRUNABLE: Readonly<Record<Prunable, string>> = {
  messages: "SELECT count(*)::int AS count FROM messages WHERE settled_at < $1",
  deliveries: "SELECT count(*)::int AS count FROM deliveries WHERE ended_at < $1",
  dedupe: `SELECT count(*)::int AS count FROM dedupe d LEFT JOIN messages m ON m.agent = d.agent AND m.seq = d.seq
WHERE d.keep_until < $1 AND coalesce(m.state NOT IN ('waiting', 'taken'), true)`,
  requests: "SELECT count(*)::int AS count FROM requests WHERE keep_until < $1",
  runs: "SELECT count(*)::int AS count FROM runs WHERE ended_at < $1",
  changes: "SELECT count(*)::int AS count FROM changes WHERE at < $1",
  audit: "SELECT count(*)::int AS count FROM audit WHERE at < $1",
  approvals: "SELECT count(*)::int AS count FROM approvals WHERE ended_at < $1",
  slots: "SELECT count(*)::int AS count FROM job_slots WHERE at < $1",
  questions: `SELECT count(*)::int AS count FROM facts WHERE key >= '${QUESTION_FACTS}' AND key < '${QUESTION_FACTS}~'
  AND CASE WHEN key LIKE '${QUESTION_FACTS}%' THEN (value::jsonb->>'askedAt')::bigint END < $1`,
};

/** A text between signs that cannot belong to a name. */
const wordPattern = (texts: readonly string[]): string =>
  `(^|[^[:alnum:]_])(${texts.map((text) => text.replaceAll(/[^\p{L}\p{N}_]/gu, "\\$&")).join("|")})($|[^[:alnum:]_])`;

export const eraserOf = (connections: Connections): StoreEraser => ({
  agents: ({ after, limit }) =>
    readablePage(limit, agentOf, (asked) => connections.all<AgentRow>(SELECT_AGENTS, after ?? null, asked)),
  facts: ({ after = "", limit }) => connections.all(SELECT_FACTS, clean(after), limit),
  mentions: (agents, texts) => connections.all(SELECT_MENTIONS, agents, wordPattern(texts.map(clean))),
  prunable: async (what, before) =>
    (await connections.one<{ count: number }>({ name: `count-prunable-${what}`, text: PRUNABLE[what] }, whole(before)))
      ?.count ?? 0,
  async compact() {
    const client = await connections.own();
    try {
      await client.query(`SET search_path TO "${connections.options.schema.replaceAll('"', '""')}"`);
      // Not FULL: that would stop every node until the tables are written anew. The space is used again, and so overwritten, later.
      const { rows } = await client.query("SELECT tablename FROM pg_tables WHERE schemaname = $1", [
        connections.options.schema,
      ]);
      for (const { tablename } of rows) await client.query(`VACUUM "${tablename}"`);
    } finally {
      await client.end();
    }
  },
});

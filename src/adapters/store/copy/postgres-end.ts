/** A shared database as one end of a copy. Refused while a node works on it, because its later writes would be missed. */
import type pg from "pg";
import { StoreUnsuitableError } from "../../../core/errors.ts";
import { openPostgresStore } from "../postgres/open-store.ts";
import { wireBody } from "../postgres/runs.ts";
import { type CopyEnd, PORTION } from "./copy-end.ts";
import type { ColumnType, CopiedRow, CopiedTable } from "./tables.ts";

const CAST: Readonly<Record<ColumnType, string>> = {
  text: "text",
  integer: "bigint",
  real: "float8",
  boolean: "bigint",
  list: "text",
};

export interface PostgresEndOptions {
  readonly schema?: string;
  /** Reads while nodes work: one snapshot, without what they write later. */
  readonly besideNodes?: boolean;
}

export async function postgresEnd(
  url: string,
  { schema, besideNodes = false }: PostgresEndOptions = {},
): Promise<CopyEnd> {
  const store = await openPostgresStore({ url, schema });
  const client = await store.connections.own();
  try {
    const { rows } = await client.query(
      "SELECT count(*) AS living FROM nodes WHERE gone = 0 AND lease_until > extract(epoch FROM clock_timestamp()) * 1000",
    );
    if (!besideNodes && Number(rows[0]?.living) > 0) {
      throw new StoreUnsuitableError(`${rows[0]?.living} nodes work on that database.`, {
        hint: "Stop them first; `rookery engine nodes` lists them. Nothing was copied.",
      });
    }
    // One snapshot for all tables, and one transaction for all writes.
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
    await client.query("SET LOCAL enable_seqscan = on; SET LOCAL plan_cache_mode = auto");
  } catch (error) {
    await client.end();
    await store.close();
    throw error;
  }
  return {
    describe: new URL(url).host + new URL(url).pathname,
    isEmpty: async () => (await client.query("SELECT 1 FROM agents LIMIT 1")).rows.length === 0,
    read: (table) => readAll(client, table),
    write: (table, rows) => writeRows(client, table, rows),
    async finish() {
      for (const [sequence, table, column] of [
        ["agent_numbers", "agents", "no"],
        ["run_numbers", "runs", "n"],
        ["delivery_numbers", "deliveries", "n"],
        ["job_slots_n_seq", "job_slots", "n"],
        ["audit_n_seq", "audit", "n"],
        ["approvals_n_seq", "approvals", "n"],
      ]) {
        await client.query(`SELECT setval('${sequence}', greatest((SELECT max(${column}) FROM ${table}), 1))`);
      }
      await client.query("COMMIT");
      await client.query("ANALYZE");
    },
    async close() {
      await client.query("ROLLBACK").catch(() => undefined);
      await client.end();
      await store.close();
    },
  };
}

async function* readAll(client: pg.Client, table: CopiedTable): AsyncIterable<readonly CopiedRow[]> {
  const { name, columns, key } = table;
  const of = ([column, type]: readonly [string, ColumnType]): string => {
    if (name === "agents" && column === "state") return "states.state";
    if (type === "boolean") return `t.${column}::int AS ${column}`;
    return type === "list" ? `to_json(t.${column})::text AS ${column}` : `t.${column}`;
  };
  const join = name === "agents" ? " JOIN states ON states.agent = t.id" : "";
  const order = key.map((column) => `t.${column}`).join(", ");
  await client.query(
    `DECLARE copied NO SCROLL CURSOR FOR SELECT ${Object.entries(columns).map(of).join(", ")} FROM ${name} AS t${join} ORDER BY ${order}`,
  );
  try {
    for (;;) {
      const { rows } = await client.query({ text: `FETCH ${PORTION} FROM copied`, rowMode: "array" });
      if (rows.length === 0) return;
      yield rows as CopiedRow[];
    }
  } finally {
    await client.query("CLOSE copied").catch(() => undefined);
  }
}

async function writeRows(client: pg.Client, table: CopiedTable, rows: readonly CopiedRow[]): Promise<void> {
  const { name, columns } = table;
  const names = Object.keys(columns);
  const of = (wanted: readonly string[]): unknown[] =>
    wanted.map((column) => rows.map((row) => row[names.indexOf(column)]));
  const insert = async (
    into: string,
    wanted: readonly string[],
    as: readonly string[] = wanted,
    made: Readonly<Record<string, string>> = {},
  ): Promise<void> => {
    const types = wanted.map((column) => columns[column] as ColumnType);
    const picked = types.map((type, at) => {
      if (type === "boolean") return `(c${at} = 1)`;
      return type === "list" ? `ARRAY(SELECT json_array_elements_text(c${at}::json))` : `c${at}`;
    });
    await client.query(
      `INSERT INTO ${into} (${[...as, ...Object.keys(made)].join(", ")}) SELECT ${[...picked, ...Object.values(made)].join(", ")}
       FROM unnest(${types.map((type, at) => `$${at + 1}::${CAST[type]}[]`).join(", ")}) AS t (${types.map((_, at) => `c${at}`).join(", ")})`,
      of(wanted),
    );
  };
  if (name === "jobs") {
    return insert(name, names, names, {
      version: `coalesce((substring(c${names.indexOf("job")} FROM '"version":([0-9]+)\\}$'))::bigint, 0)`,
    });
  }
  if (name !== "agents") {
    await insert(name, names);
    if (name === "runs") await summarise(client, rows, names);
    if (name === "messages") await markResets(client, rows, names);
    return;
  }
  const own = names.filter((column) => column !== "state");
  const at = (column: string): string => `c${own.indexOf(column)}`;
  await insert("agents", own, own, {
    busy: `${at("waiting")} > 0 OR (${at("run_id")} IS NOT NULL AND ${at("suspended")} = 0)`,
    stop_seq: `(substring(${at("stopped")} FROM '"seq":([0-9]+)'))::bigint`,
    removed: `coalesce(${at("stopped")} LIKE '%"removed":true%', false)`,
  });
  await insert("states", ["id", "state"], ["agent", "state"]);
}

/** A run's person, tokens and cost have columns of their own here. */
async function summarise(client: pg.Client, rows: readonly CopiedRow[], names: readonly string[]): Promise<void> {
  const sums = rows.map((row) => {
    const { person, tokens, cost } = wireBody(JSON.parse(row[names.indexOf("body")] as string));
    return [row[names.indexOf("id")], person ?? null, tokens ?? 0, cost ?? 0];
  });
  await client.query(
    `UPDATE runs SET person = s.person, tokens = s.tokens, cost = s.cost
     FROM unnest($1::text[], $2::text[], $3::bigint[], $4::float8[]) AS s (id, person, tokens, cost) WHERE runs.id = s.id`,
    [0, 1, 2, 3].map((at) => sums.map((sum) => sum[at])),
  );
}

/** Resets have a column of their own here. */
async function markResets(client: pg.Client, rows: readonly CopiedRow[], names: readonly string[]): Promise<void> {
  const at = (row: CopiedRow, column: string) => row[names.indexOf(column)];
  const resets = rows.filter((row) => {
    if (at(row, "urgent") !== 1) return false;
    return (JSON.parse(at(row, "message") as string) as { body: { kind: string } }).body.kind === "reset";
  });
  if (resets.length === 0) return;
  await client.query(
    `UPDATE messages SET is_reset = true FROM unnest($1::text[], $2::bigint[]) AS s (agent, seq)
     WHERE messages.agent = s.agent AND messages.seq = s.seq`,
    [resets.map((row) => at(row, "agent")), resets.map((row) => at(row, "seq"))],
  );
}

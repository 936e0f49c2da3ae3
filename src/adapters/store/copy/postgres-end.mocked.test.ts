/** A shared database as an end of a copy, statement by statement: one after the other, in one transaction, and always closed. */
import { beforeEach, describe, expect, test, vi } from "vitest";
import { StoreUnsuitableError } from "../../../core/errors.ts";
import { PORTION } from "./copy-end.ts";
import { type PostgresEndOptions, postgresEnd } from "./postgres-end.ts";
import { COPIED, type CopiedRow, type CopiedTable } from "./tables.ts";

/** What was done, in the order in which it was finished. */
const done: string[] = [];
const values: unknown[] = [];
const state = { fails: "", living: "0", agents: 0, opened: {} as object };
/** Rows that fetches answer, a portion at a time. */
let portions: CopiedRow[][] = [];
let isBusy = false;

async function step(name: string): Promise<void> {
  if (isBusy) throw new Error(`${name} did not wait for what came before it.`);
  isBusy = true;
  await new Promise(setImmediate);
  isBusy = false;
  done.push(name);
  if (state.fails !== "" && name.includes(state.fails)) throw new Error(`${name} fails`);
}

const client = {
  async query(asked: string | { text: string; rowMode: string }, given?: unknown[]): Promise<{ rows: unknown[] }> {
    const text = (typeof asked === "string" ? asked : `${asked.rowMode} ${asked.text}`).replaceAll(/\s+/g, " ");
    if (given) values.push(given);
    await step(text);
    if (text.includes("AS living")) return { rows: [{ living: state.living }] };
    if (text.includes("FROM agents LIMIT 1")) return { rows: Array.from({ length: state.agents }, () => ({})) };
    return { rows: text.includes("FETCH") ? (portions.shift() ?? []) : [] };
  },
  end: () => step("end"),
};

vi.mock("../postgres/open-store.ts", () => ({
  openPostgresStore: async (options: object) => {
    state.opened = options;
    return { connections: { own: async () => client }, close: () => step("store closed") };
  },
}));

beforeEach(() => {
  Object.assign(state, { fails: "", living: "0", agents: 0 });
  portions = [];
});

const URL_OF = "postgres://ann:secret@host:5433/data";

async function opened(options?: PostgresEndOptions) {
  const end = await postgresEnd(URL_OF, options);
  done.length = 0;
  values.length = 0;
  return end;
}
const tableOf = (name: string): CopiedTable => COPIED.find((one) => one.name === name) as CopiedTable;
/** A row with these columns; the others are null. */
const row = ({ columns }: CopiedTable, some: Record<string, string | number>): CopiedRow =>
  Object.keys(columns).map((column) => some[column] ?? null);
const KINDS: CopiedTable = {
  ...{ name: "kinds", key: ["b", "a"] },
  columns: { a: "text", b: "integer", c: "real", d: "boolean", e: "list" },
};

describe("an end that opens", () => {
  test("looks for living nodes, then begins one transaction, and names itself without a password", async () => {
    done.length = 0;
    const end = await postgresEnd(URL_OF, { schema: "s" });
    expect(done).toEqual([
      expect.stringMatching(/^SELECT count\(\*\) AS living FROM nodes WHERE gone = 0 AND lease_until > /),
      "BEGIN ISOLATION LEVEL REPEATABLE READ",
      "SET LOCAL enable_seqscan = on; SET LOCAL plan_cache_mode = auto",
    ]);
    expect([end.describe, state.opened]).toEqual(["host:5433/data", { url: URL_OF, schema: "s" }]);
    expect(await end.isEmpty()).toBe(true);
    state.agents = 1;
    expect(await end.isEmpty()).toBe(false);
  });

  test.each([
    ["1", undefined, true],
    ["2", { besideNodes: false }, true],
    ["1", { besideNodes: true }, false],
    ["0", { besideNodes: true }, false],
    ["0", undefined, false],
  ])("beside %s nodes with %o: refused is %s, and then it is closed", async (living, options, refused) => {
    state.living = living;
    done.length = 0;
    const error = await postgresEnd(URL_OF, options).catch((cause: unknown) => cause);
    expect(error instanceof StoreUnsuitableError).toBe(refused);
    expect(done.slice(1, 3).includes("store closed")).toBe(refused);
    if (refused) expect(done.slice(1)).toEqual(["end", "store closed"]);
  });

  test("is closed if it cannot begin", async () => {
    state.fails = "SET LOCAL";
    done.length = 0;
    await expect(postgresEnd(URL_OF)).rejects.toThrow("SET LOCAL enable_seqscan");
    expect(done.slice(-2)).toEqual(["end", "store closed"]);
  });
});

describe("a table that is read", () => {
  const read = async (table: CopiedTable, end?: Awaited<ReturnType<typeof opened>>): Promise<CopiedRow[][]> => {
    const all: CopiedRow[][] = [];
    for await (const rows of (end ?? (await opened())).read(table)) all.push([...rows]);
    return all;
  };

  test("comes in portions from a cursor, which is closed at the end", async () => {
    portions = [[["a", 1]], [["b", 2]]];
    expect(await read(KINDS)).toEqual([[["a", 1]], [["b", 2]]]);
    const fetched = `array FETCH ${PORTION} FROM copied`;
    expect(done).toEqual([
      "DECLARE copied NO SCROLL CURSOR FOR SELECT t.a, t.b, t.c, t.d::int AS d, to_json(t.e)::text AS e FROM kinds AS t ORDER BY t.b, t.a",
      ...[fetched, fetched, fetched],
      "CLOSE copied",
    ]);
  });

  test("of agents comes with their states, and any other without", async () => {
    await read(tableOf("agents"));
    expect(done[0]).toMatch(/, states\.state FROM agents AS t JOIN states ON states\.agent = t\.id ORDER BY t\.no$/);
    await read(tableOf("messages"));
    expect(done[0]).toMatch(/t\.state, .* FROM messages AS t ORDER BY t\.agent, t\.seq$/);
  });

  test("is closed also if it is not read to its end, or cannot be", async () => {
    portions = [[["a", 1]], [["b", 2]]];
    const end = await opened();
    for await (const _rows of end.read(KINDS)) break;
    expect(done.at(-1)).toBe("CLOSE copied");
    state.fails = "FETCH";
    await expect(read(KINDS, end)).rejects.toThrow("FETCH");
    expect(done.at(-1)).toBe("CLOSE copied");
  });
});

describe("rows that are written", () => {
  test("go column by column in one statement, each as its type", async () => {
    const end = await opened();
    await end.write(KINDS, [
      ["x", 1, 0.5, 1, '["l"]'],
      ["y", null, 0.25, 0, "[]"],
    ]);
    expect(done).toEqual([
      "INSERT INTO kinds (a, b, c, d, e) SELECT c0, c1, c2, (c3 = 1), ARRAY(SELECT json_array_elements_text(c4::json)) FROM unnest($1::text[], $2::bigint[], $3::float8[], $4::bigint[], $5::text[]) AS t (c0, c1, c2, c3, c4)",
    ]);
    expect(values).toEqual([
      [
        ["x", "y"],
        [1, null],
        [0.5, 0.25],
        [1, 0],
        ['["l"]', "[]"],
      ],
    ]);
  });

  test("of jobs get their version from the text of the job", async () => {
    await (await opened()).write(tableOf("jobs"), [row(tableOf("jobs"), { id: "j", job: "{}" })]);
    expect(done).toEqual([
      expect.stringMatching(
        /^INSERT INTO jobs \(id, next_at, job, version\) SELECT c0, c1, c2, coalesce\(\(substring\(c2 FROM .*FROM unnest/,
      ),
    ]);
  });

  test("of agents go to two tables, with what their columns say about work and stops", async () => {
    const table = tableOf("agents");
    await (await opened()).write(table, [row(table, { id: "a", state: "{}" })]);
    const names = Object.keys(table.columns).filter((column) => column !== "state");
    const at = (column: string): string => `c${names.indexOf(column)}`;
    expect(done).toEqual([
      expect.stringContaining(`INSERT INTO agents (${names.join(", ")}, busy, stop_seq, removed) SELECT c0, `),
      "INSERT INTO states (agent, state) SELECT c0, c1 FROM unnest($1::text[], $2::text[]) AS t (c0, c1)",
    ]);
    expect(done[0]).toContain(
      `${at("waiting")} > 0 OR (${at("run_id")} IS NOT NULL AND ${at("suspended")} = 0), (substring(${at("stopped")} FROM`,
    );
    expect(values[1]).toEqual([["a"], ["{}"]]);
  });

  test("of runs get the sums of their bodies, whole and as far as there are any", async () => {
    const table = tableOf("runs");
    const used = { person: "ann", usage: { totalTokens: 7.9, cost: { total: 0.5 } } };
    const rows = [used, {}, { usage: {} }].map((body, n) => row(table, { id: `r${n}`, body: JSON.stringify(body) }));
    await (await opened()).write(table, rows);
    expect(done).toEqual([expect.stringMatching(/^INSERT INTO runs /), expect.stringMatching(/^UPDATE runs SET /)]);
    expect(values[1]).toEqual([
      ["r0", "r1", "r2"],
      ["ann", null, null],
      [7, 0, 0],
      [0.5, 0, 0],
    ]);
  });

  test("of messages mark the resets among them, if there are any", async () => {
    const table = tableOf("messages");
    const message = (seq: number, urgent: number, kind: string): CopiedRow =>
      row(table, { agent: `a${seq}`, seq, urgent, message: JSON.stringify({ body: { kind } }) });
    const end = await opened();
    await end.write(table, [
      message(1, 1, "reset"),
      message(2, 1, "user"),
      message(3, 0, "reset"),
      message(4, 1, "reset"),
    ]);
    expect(done).toEqual([
      expect.stringMatching(/^INSERT INTO messages /),
      expect.stringMatching(
        /^UPDATE messages SET is_reset = true .* WHERE messages\.agent = s\.agent AND messages\.seq = s\.seq$/,
      ),
    ]);
    expect(values[1]).toEqual([
      ["a1", "a4"],
      [1, 4],
    ]);
    done.length = 0;
    await end.write(table, [message(5, 1, "user")]);
    await end.write(table, [message(6, 1, "reset")]);
    expect(done.map((text) => text.split(" ")[0])).toEqual(["INSERT", "INSERT", "UPDATE"]);
  });
});

test("a finish sets every sequence behind its rows, then commits, then lets the planner look", async () => {
  await (await opened()).finish();
  const sequences = [
    ["agent_numbers", "agents", "no"],
    ["run_numbers", "runs", "n"],
    ["delivery_numbers", "deliveries", "n"],
    ["job_slots_n_seq", "job_slots", "n"],
    ["audit_n_seq", "audit", "n"],
    ["approvals_n_seq", "approvals", "n"],
  ];
  expect(done).toEqual([
    ...sequences.map(
      ([sequence, table, column]) => `SELECT setval('${sequence}', greatest((SELECT max(${column}) FROM ${table}), 1))`,
    ),
    "COMMIT",
    "ANALYZE",
  ]);
});

test.each(["", "ROLLBACK"])(
  "a close rolls back, ends the connection and closes the store, also if this fails: %s",
  async (fails) => {
    const end = await opened();
    state.fails = fails;
    await end.close();
    expect(done).toEqual(["ROLLBACK", "end", "store closed"]);
  },
);

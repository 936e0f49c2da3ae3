/** A copy is the same store or no store: nothing that a table holds is lost, and what differs is never made durable. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { HomeLockedError, InvalidInputError, InvariantError, StoreFullError } from "../../../core/errors.ts";
import { openDatabase } from "../sqlite/database.ts";
import { isHomeLocked } from "../sqlite/home-lock.ts";
import { DATABASE_FILE } from "../sqlite/open-store.ts";
import { type CopyEnd, PORTION } from "./copy-end.ts";
import { copyStore } from "./copy-store.ts";
import { sqliteEnd } from "./sqlite-end.ts";
import { LEFT_BEHIND } from "./tables.test-kit.ts";
import { COPIED, type CopiedRow, type CopiedTable } from "./tables.ts";

let root: string;
let opened: CopyEnd[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "rookery-copy-"));
  opened = [];
});
afterEach(async () => {
  for (const end of opened) await end.close();
  rmSync(root, { recursive: true });
});

const newHome = (): string => mkdtempSync(join(root, "home-"));

function opens(home: string): CopyEnd {
  const end = sqliteEnd(home);
  opened.push(end);
  return end;
}

/** Closes it now, not at the end of the test. */
async function closes(...ends: readonly CopyEnd[]): Promise<void> {
  opened = opened.filter((one) => !ends.includes(one));
  for (const end of ends) await end.close();
}

const ROWS = 3;

/** A value that no other row and no other column has. Agents have numbers that are not their places. */
function sampleOf(table: CopiedTable, column: string, index: number, at: number): string | number {
  if (column === table.agent) return 10 * (ROWS - index) - 9;
  if (table.name === "agents" && column === "no") return 10 * (index + 1) - 9;
  const type = table.columns[column];
  if (type === "boolean") return index % 2;
  if (type === "list") return JSON.stringify([`${column} ${index}`, "ü"]);
  return type === "text" ? `${table.name} ${column} ${index} \u{1f426}` : 1_000 * at + index;
}

/** A home with rows in every table, whose every column says where it belongs. */
function fullHome(): string {
  const home = newHome();
  const db = openDatabase(join(home, DATABASE_FILE));
  for (const table of COPIED) {
    const names = Object.keys(table.columns);
    const insert = db.sql.prepare(
      `INSERT INTO ${table.name} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
    );
    for (let index = 0; index < ROWS; index++)
      insert.run(...names.map((column, at) => sampleOf(table, column, index, at)));
  }
  db.close();
  return home;
}

function change(home: string, ...statements: readonly string[]): void {
  const db = openDatabase(join(home, DATABASE_FILE));
  for (const statement of statements) db.sql.exec(statement);
  db.close();
}

/** All columns of all copied tables, as the database has them. */
function contentOf(home: string): Record<string, unknown[]> {
  const db = openDatabase(join(home, DATABASE_FILE), { readOnly: true });
  const content = COPIED.map(({ name, columns, key }) => {
    const listed = db.sql.prepare(`SELECT ${Object.keys(columns).join(", ")} FROM ${name} ORDER BY ${key.join(", ")}`);
    return [name, listed.all().map((row) => ({ ...row }))] as const;
  });
  db.close();
  return Object.fromEntries(content);
}

async function copied(from: string): Promise<string> {
  const to = newHome();
  const ends = [opens(from), opens(to)] as const;
  await copyStore(...ends);
  await closes(...ends);
  return to;
}

const tableOf = (name: string): CopiedTable => {
  const table = COPIED.find((one) => one.name === name);
  if (!table) throw new Error(`There is no table ${name}.`);
  return table;
};

async function portionsOf(end: CopyEnd, table: string): Promise<(readonly CopiedRow[])[]> {
  const portions: (readonly CopiedRow[])[] = [];
  for await (const rows of end.read(tableOf(table))) portions.push(rows);
  return portions;
}

describe("a copy of a home", () => {
  test("has every column of every table as it was, and says how many rows each has", async () => {
    const [from, to] = [fullHome(), newHome()];
    const told: string[] = [];
    const counts = await copyStore(opens(from), opens(to), (text) => void told.push(text));
    expect(counts.map(({ table, rows }) => [table, rows])).toEqual(COPIED.map(({ name }) => [name, ROWS]));
    expect(told).toEqual([...COPIED.map(({ name }) => `Copying ${name}.`), "Comparing both."]);
    await closes(...opened);
    expect(contentOf(to)).toEqual(contentOf(from));
  });

  test("leaves out no table and no column but the node and the number of a row that has another key", () => {
    const db = openDatabase(":memory:");
    const tables = db.sql.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    const known = new Set([...COPIED.map(({ name }) => name), ...LEFT_BEHIND, "sqlite_sequence"]);
    expect(tables.map(({ name }) => String(name)).filter((name) => !known.has(name))).toEqual([]);
    for (const { name, columns, key } of COPIED) {
      const info = db.sql.prepare(`SELECT name FROM pragma_table_info('${name}')`).all();
      const left = info.map((column) => String(column.name)).filter((column) => !(column in columns));
      expect(
        left.filter((column) => column !== "node" && (column !== "n" || key.includes("n"))),
        name,
      ).toEqual([]);
    }
    db.close();
  });

  test("belongs to no node: agents and deliveries are free to be claimed", async () => {
    const from = fullHome();
    change(from, "UPDATE agents SET node = 3", "UPDATE deliveries SET node = 3");
    const db = openDatabase(join(await copied(from), DATABASE_FILE), { readOnly: true });
    for (const table of ["agents", "deliveries"])
      expect(db.sql.prepare(`SELECT DISTINCT node FROM ${table}`).all(), table).toEqual([{ node: null }]);
    db.close();
  });

  test("keeps a request that posted no message, and leaves out rows of an agent that is gone", async () => {
    const from = fullHome();
    change(
      from,
      "INSERT INTO requests (key, agent, finished, keep_until) VALUES ('of no agent', NULL, 1, 9)",
      "INSERT INTO dedupe (key, agent, seq, keep_until) VALUES ('of a lost agent', 4242, 1, 9)",
      "INSERT INTO messages (agent, seq, state, urgent, accepted_at, message) VALUES (4242, 1, 'waiting', 0, 1, '{}')",
    );
    const { requests, dedupe, messages } = contentOf(await copied(from));
    expect(requests).toContainEqual(expect.objectContaining({ key: "of no agent", agent: null }));
    expect([requests?.length, dedupe?.length, messages?.length]).toEqual([ROWS + 1, ROWS, ROWS]);
  });

  test("of more rows than one portion has all of them", async () => {
    const from = fullHome();
    const lines = (count: number): string =>
      `DELETE FROM entries; WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ${count})
       INSERT INTO entries (agent, pos, line) SELECT 11, i, 'line ' || i FROM n`;
    for (const [count, portions] of [
      [PORTION - 1, [PORTION - 1]],
      [PORTION, [PORTION]],
      [PORTION + 1, [PORTION, 1]],
    ] as const) {
      change(from, lines(count));
      const end = opens(from);
      const read = await portionsOf(end, "entries");
      await closes(end);
      expect(read.map((rows) => rows.length)).toEqual(portions);
      expect(read.flat().map((row) => row[1])).toEqual(Array.from({ length: count }, (_, pos) => pos));
    }
    expect(contentOf(await copied(from)).entries).toEqual(contentOf(from).entries);
  });

  test("reads rows in the order of their key, with agents by their id and not by their number", async () => {
    const from = fullHome();
    change(
      from,
      "DELETE FROM messages",
      ...[21, 1, 11].flatMap((agent) =>
        [2, 1].map(
          (seq) =>
            `INSERT INTO messages (agent, seq, state, urgent, accepted_at, message) VALUES (${agent}, ${seq}, 'waiting', 0, 1, '{}')`,
        ),
      ),
      "UPDATE agents SET id = 'z' WHERE no = 1",
      "UPDATE agents SET id = 'a' WHERE no = 21",
      "UPDATE agents SET id = 'm' WHERE no = 11",
    );
    const rows = (await portionsOf(opens(from), "messages")).flat();
    expect(rows.map(([agent, seq]) => `${agent}${seq}`)).toEqual(["a1", "a2", "m1", "m2", "z1", "z2"]);
  });
});

describe("the target of a copy", () => {
  test("is refused if there are agents, and stays as it was", async () => {
    const [from, to] = [fullHome(), newHome()];
    change(
      to,
      `INSERT INTO agents (id, session_key, profile, kind, descriptor, created_at, session_id, next_seq, cursor, waiting, next_pos, leaf, epoch, state)
       VALUES ('x', 'k', 'main', 'user', '{}', 1, 's', 1, 0, 0, 0, 'l', 0, '{}')`,
    );
    const before = contentOf(to);
    const ends = [opens(from), opens(to)] as const;
    expect(await Promise.all(ends.map((end) => end.isEmpty()))).toEqual([false, false]);
    await expect(copyStore(...ends)).rejects.toThrow(InvalidInputError);
    await expect(copyStore(...ends)).rejects.toThrow(to);
    await closes(...ends);
    expect(contentOf(to)).toEqual(before);
  });

  test("stays empty if the copy ends before it is finished, and can be copied into later", async () => {
    const [from, to] = [fullHome(), newHome()];
    const ends = [opens(from), opens(to)] as const;
    for (const name of ["agents", "messages"])
      for (const rows of await portionsOf(ends[0], name)) await ends[1].write(tableOf(name), rows);
    await closes(...ends);
    const next = [opens(from), opens(to)] as const;
    expect(await next[1].isEmpty()).toBe(true);
    await copyStore(...next);
    await closes(...next);
    expect(contentOf(to)).toEqual(contentOf(from));
  });

  test("of nothing is empty, and as good as any other", async () => {
    const [from, to] = [newHome(), newHome()];
    const counts = await copyStore(opens(from), opens(to));
    expect(counts.map(({ rows }) => rows)).toEqual(COPIED.map(() => 0));
    await closes(...opened);
    expect(contentOf(to)).toEqual(contentOf(from));
  });

  test("takes no row of an agent that the source does not have", async () => {
    const { end } = memoryEnd();
    await copyStore(opens(fullHome()), end);
    await end.write(tableOf("session_keys"), [["of a lost agent", "nobody"]]);
    const to = newHome();
    const copying = copyStore(end, opens(to));
    await expect(copying).rejects.toThrow(InvariantError);
    await expect(copying).rejects.toThrow(`session_keys differs: ${ROWS} rows of ${ROWS + 1}.`);
    await closes(...opened);
    expect(contentOf(to).agents).toEqual([]);
  });

  test("is a single file when its end is closed", async () => {
    const to = await copied(fullHome());
    expect(readdirSync(to)).toContain(DATABASE_FILE);
    expect(readdirSync(to).filter((name) => /-(?:wal|shm)$/.test(name))).toEqual([]);
  });

  test("is locked, as the source is, until its end is closed", async () => {
    const home = newHome();
    const end = opens(home);
    expect(isHomeLocked(home)).toBe(true);
    expect(() => sqliteEnd(home)).toThrow(HomeLockedError);
    await closes(end);
    expect(isHomeLocked(home)).toBe(false);
  });
});

/** An end in memory, which may change what is written to it. */
function memoryEnd(spoil: (table: string, rows: CopiedRow[]) => CopiedRow[] = (_, rows) => rows) {
  const tables = new Map<string, CopiedRow[]>();
  const calls: string[] = [];
  const end: CopyEnd = {
    describe: "memory",
    isEmpty: async () => true,
    async *read({ name }) {
      calls.push(`read ${name}`);
      const rows = tables.get(name) ?? [];
      if (rows.length > 0) yield rows;
    },
    async write({ name }, rows) {
      calls.push(`write ${name}`);
      tables.set(name, spoil(name, [...(tables.get(name) ?? []), ...rows]));
    },
    finish: async () => void calls.push("finish"),
    close: async () => {},
  };
  return { end, calls };
}

describe("the comparison of both ends", () => {
  test("comes after all writes and before anything is durable", async () => {
    const { end, calls } = memoryEnd();
    await copyStore(opens(fullHome()), end);
    const names = COPIED.map(({ name }) => name);
    expect(calls).toEqual([...names.map((name) => `write ${name}`), ...names.map((name) => `read ${name}`), "finish"]);
  });

  test("is worth nothing if the target cannot be finished: the copy fails", async () => {
    const { end } = memoryEnd();
    const finish = (): Promise<void> => Promise.reject(new StoreFullError("The disk is full.", { hint: "Make room." }));
    await expect(copyStore(opens(newHome()), { ...end, finish })).rejects.toThrow(StoreFullError);
  });

  test.each<[string, (rows: CopiedRow[]) => CopiedRow[]]>([
    ["a row is missing", (rows) => rows.slice(1)],
    ["a row is there twice", (rows) => [...rows, ...rows.slice(-1)]],
    ["a row has another place", (rows) => rows.toReversed()],
    ["a value is another", (rows) => rows.map((row) => row.with(-1, "another"))],
    ["a number became a text", (rows) => rows.map((row) => row.map(String))],
    ["all rows are missing", () => []],
  ])("finds that %s in any table, and nothing is made durable", async (_, spoil) => {
    const from = opens(fullHome());
    for (const name of ["agents", "messages", "budgets"]) {
      const { end, calls } = memoryEnd((table, rows) => (table === name ? spoil(rows) : rows));
      const copying = copyStore(from, end);
      await expect(copying).rejects.toThrow(InvariantError);
      await expect(copying).rejects.toThrow(name);
      expect(calls).not.toContain("finish");
    }
  });
});

/** Every stored table and every part of a home is handled by backups and has a rule for forgetting a person, or the test fails. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { LEFT_BEHIND } from "../../../adapters/store/copy/tables.test-kit.ts";
import { COPIED } from "../../../adapters/store/copy/tables.ts";
import { openDatabase } from "../../../adapters/store/sqlite/database.ts";
import { parseConfig } from "../../../config/parse-config.ts";
import { homeDirectories, homePaths } from "../../../config/paths.ts";
import { openNode } from "../../node/open-node.ts";
import { HOME_PARTS, isCopied } from "./home-parts.ts";
import { FORGET_RULES } from "./tables.test-kit.ts";

const home = mkdtempSync(join(tmpdir(), "rookery-inventory-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const tablesOfPostgres = (): readonly string[] => {
  const folder = new URL("../../../adapters/store/postgres/migrations/", import.meta.url);
  const text = readdirSync(folder)
    .map((file) => readFileSync(new URL(file, folder), "utf8"))
    .join("\n");
  return [...text.matchAll(/CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\w+)(?! PARTITION OF)/g)].map(
    ([, name]) => name ?? "",
  );
};

describe("every stored table", () => {
  const db = openDatabase(":memory:");
  const ofSqlite = db.sql
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all();
  const tables = [...new Set([...ofSqlite.map(({ name }) => String(name)), ...tablesOfPostgres()])].filter(
    (name) => !/_p\d+$/.test(name),
  );

  it("is found in both databases", () => {
    expect(tables.length).toBeGreaterThan(25);
    expect(tablesOfPostgres()).toContain("agents");
  });

  it.each(tables)("%s is backed up or named as one that is not, and has a rule for forget", (table) => {
    expect([...COPIED.map(({ name }) => name), ...LEFT_BEHIND]).toContain(table);
    expect(Object.keys(FORGET_RULES)).toContain(table);
  });

  it("has no rule for a table that does not exist", () => {
    expect(Object.keys(FORGET_RULES).filter((name) => !tables.includes(name))).toEqual([]);
  });
});

/** Names that the sources join to the home, except those of the demo and of other directories. */
function namesInSources(): readonly string[] {
  const src = new URL("../../../", import.meta.url);
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".ts") && !/\.test(?:-kit)?\.ts$|testing\//.test(name),
  );
  return files.flatMap((name) => {
    const text = readFileSync(new URL(name, src), "utf8");
    return [...text.matchAll(/join\((?:\w+\.)*home, "([^"]+)"/g)].map(([, part]) => part?.split("/")[0] ?? "");
  });
}

describe("every part of a home", () => {
  it("that the sources name is in the table", () => {
    const names = namesInSources();
    expect(names).toContain("rookery.json5");
    expect([...new Set(names)].filter((name) => !Object.hasOwn(HOME_PARTS, name))).toEqual([]);
  });

  it("that an engine makes is in the table", async () => {
    const paths = homePaths(home);
    const { config } = parseConfig({ text: "{ models: { default: 'offline' } }", file: "rookery.json5", env: {} });
    const node = await openNode({ paths, config, connectors: [], onFatal() {} });
    await node.close();
    const made = [
      ...readdirSync(home),
      ...homeDirectories(paths)
        .slice(1)
        .map((path) => path.slice(home.length + 1)),
    ];
    expect(made.filter((name) => !Object.hasOwn(HOME_PARTS, name))).toEqual([]);
  });

  it("is copied if no one has listed it, except leftovers", () => {
    expect(["something.json", "workspace", "agents", ".rookery-look-x", "rookery.db.broken-1"].map(isCopied)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

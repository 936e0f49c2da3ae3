/** Reads the places of every op from the sources, so that a place that a dialect lacks is found here. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Op } from "../../core/store/change.ts";
import { OP_TABLE, type OpPlaces } from "./op-table.test-kit.ts";
import { formOf } from "./postgres/ops.ts";

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");
const withoutComments = (text: string): string =>
  text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "").replaceAll(/^\s*--.*$/gm, "");

const OPS = Object.entries(OP_TABLE) as [Op["op"], OpPlaces][];
const names = (keep: (places: OpPlaces) => boolean): string[] =>
  OPS.flatMap(([name, places]) => (keep(places) ? [name] : [])).sort();

const CHANGE = withoutComments(read("../../core/store/change.ts"));
const APPLY_CHANGE = withoutComments(read("./postgres/functions/6-apply-change.sql"));
const APPLY_BATCH = withoutComments(read("./postgres/functions/8-apply-batch.sql"));
const FUNCTIONS = readdirSync(new URL("./postgres/functions/", import.meta.url))
  .map((file) => read(`./postgres/functions/${file}`))
  .join("\n");

/** The branches of one `CASE p->>'op'` of `apply_change`, by op. */
function branchesOf(text = ""): ReadonlyMap<string, string> {
  const branches = text
    .slice(0, text.indexOf("RAISE EXCEPTION 'Unexpected op"))
    .matchAll(/^ {8}WHEN '([\w.]+)' THEN/gm);
  const starts = [...branches].map(({ 0: { length }, 1: name = "", index }) => ({ name, at: index + length }));
  return new Map(starts.map(({ name, at }, n) => [name, text.slice(at, starts[n + 1]?.at)]));
}

const [, OWNER_CASE, ANY_CASE] = APPLY_CHANGE.split("CASE p->>'op'");
const OWNER_BRANCHES = branchesOf(OWNER_CASE);
const ANY_BRANCHES = branchesOf(ANY_CASE);

test("the table names every op of the type Op", () => {
  const union = CHANGE.slice(CHANGE.indexOf("export type Op ="), CHANGE.indexOf("export type Prunable"));
  const ops = [...union.matchAll(/readonly op: "([^"]+)"/g)].map(([, name]) => name);
  expect(ops.sort()).toEqual(names(() => true));
});

test("SQLite applies every op with the function the table names", () => {
  const source = withoutComments(read("./sqlite/apply-change.ts"));
  const record = source.slice(source.indexOf("const APPLY:"), source.indexOf("};", source.indexOf("const APPLY:")));
  const applied = [...record.matchAll(/^ {2}(?:"([\w.]+)": )?(\w+),$/gm)].map(([, op, name]) => [op ?? name, name]);
  expect(Object.fromEntries(applied)).toEqual(
    Object.fromEntries(OPS.map(([name, { sqlite }]) => [name, sqlite.split("#")[1]])),
  );
  for (const [, { sqlite }] of OPS) {
    const [file, name] = sqlite.split("#");
    expect(read(`./sqlite/${file}`), sqlite).toContain(`export function ${name}(`);
  }
});

test("PostgreSQL has a form of every op in the module the table names", () => {
  for (const [name, { form, branch, batch }] of OPS) {
    expect(read(`./postgres/${form}`), name).toMatch(new RegExp(`^ {2}"?${name.replace(".", "\\.")}"?: \\{`, "m"));
    const found = formOf({ op: name } as Op);
    expect(found.byOwner === true, `${name} acts on the owner`).toBe(branch === "owner");
    expect(found.batch !== undefined, `${name} can be batched`).toBe(batch !== undefined);
  }
});

describe("apply_change", () => {
  test("has a branch for every op, in the `CASE` that the table names", () => {
    expect([...OWNER_BRANCHES.keys()].sort()).toEqual(names(({ branch, sentAs }) => branch === "owner" && !sentAs));
    expect([...ANY_BRANCHES.keys()].sort()).toEqual(names(({ branch, sentAs }) => branch === "any" && !sentAs));
  });

  test("does something in every branch, or calls the function the table names", () => {
    for (const [name, { branch, calls, sentAs }] of OPS) {
      const body = (branch === "owner" ? OWNER_BRANCHES : ANY_BRANCHES).get(sentAs ?? name) ?? "";
      expect(body, name).toMatch(/INSERT INTO|UPDATE |DELETE FROM|\{\{\w+\}\}|o\.\w+ :=/);
      const called = [...body.matchAll(/\{\{(\w+)\}\}/g)].map(([, each]) => each);
      if (calls) expect(called, name).toContain(calls);
      if (calls) expect(FUNCTIONS).toContain(`CREATE OR REPLACE FUNCTION {{${calls}}}(`);
    }
  });
});

describe("apply_batch", () => {
  const placesOf = (kind: (place: string) => boolean): string[] =>
    [...new Set(OPS.flatMap(([, { batch = [] }]) => batch.filter(kind)))].sort();

  test("reads exactly the tables of rows that the op table names", () => {
    const tables = [...new Set([...APPLY_BATCH.matchAll(/jsonb_to_recordset\(p->'(\w+)'\)/g)].map(([, name]) => name))];
    expect(tables.sort()).toEqual(["changes", "owners", ...placesOf((place) => !place.includes("."))].sort());
  });

  test("uses each column of the owner's row that the op table names", () => {
    const start = APPLY_BATCH.indexOf("IF p ? 'owners'");
    const owners = APPLY_BATCH.slice(start, APPLY_BATCH.indexOf("END IF;", start));
    for (const place of placesOf((each) => each.includes("."))) {
      expect(owners, place).toMatch(new RegExp(`\\bw\\.${place.split(".")[1]}\\b`));
    }
  });

  test("gets exactly the tables and columns from the forms that the op table names", () => {
    const added = new Set<string>();
    for (const form of new Set(OPS.map(([, places]) => places.form))) {
      const source = withoutComments(read(`./postgres/${form}`));
      for (const [, name] of source.matchAll(/\badd\("(\w+)"/g)) added.add(String(name));
      for (const [, name] of source.matchAll(/\bclaims\.(\w+) = /g)) added.add(`owners.${name}`);
      for (const [, assigned = ""] of source.matchAll(/Object\.assign\(claims, \{([^}]*)\}/g)) {
        for (const [, name] of assigned.matchAll(/(\w+):/g)) added.add(`owners.${name}`);
      }
    }
    expect([...added].sort()).toEqual(placesOf(() => true));
  });
});

import type { SQLInputValue } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { agentReads } from "./agents.ts";
import { type Database, openDatabase } from "./database.ts";
import { countReads } from "./work-counts.ts";

/** The query plans of the statements that a read sends. */
async function plansOf(read: (db: Database) => Promise<unknown>): Promise<readonly string[]> {
  const db = openDatabase(":memory:");
  const plans: string[] = [];
  const explain = (text: string, values: readonly SQLInputValue[]): void => {
    const rows = db.all<{ readonly detail: string }>(`EXPLAIN QUERY PLAN ${text}`, ...values);
    plans.push(...rows.map(({ detail }) => detail));
  };
  await read({
    ...db,
    get: (text, ...values) => {
      explain(text, values);
      return db.get(text, ...values);
    },
    all: (text, ...values) => {
      explain(text, values);
      return db.all(text, ...values);
    },
  });
  db.close();
  return plans;
}

describe("workCounts", () => {
  it("reads the indexes of open rows, never a whole table", async () => {
    const plan = await plansOf((db) => countReads(db).workCounts(0));
    const reads = plan.filter((detail) => /^(?:SCAN|SEARCH) (?:agents|deliveries|messages)/u.test(detail));
    expect(reads).toHaveLength(4);
    const indexes = reads.map((detail) => /USING (?:COVERING )?INDEX (\w+)/u.exec(detail)?.[1]);
    expect(indexes.sort()).toEqual(["agents_busy", "deliveries_open", "deliveries_waiting", "messages_unanswered"]);
  });
});

describe("agents", () => {
  it("reads a page by number from where it begins, and sorts nothing", async () => {
    const plan = await plansOf((db) => agentReads(db).agents({ limit: 100 }));
    expect(plan).toContain("SEARCH agents USING INTEGER PRIMARY KEY (rowid>?)");
    expect(plan.join()).not.toMatch(/TEMP B-TREE|SCAN agents/u);
  });
});

import { describe, expect, it } from "vitest";
import { SELECT_PAGE } from "./agents.ts";
import { openDatabase } from "./database.ts";
import { SELECT_COUNTS } from "./work-counts.ts";

describe("counts of open work", () => {
  it("are read from indexes of open rows, never from a whole table", () => {
    const db = openDatabase(":memory:");
    const plan = db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${SELECT_COUNTS}`, 0).map(({ detail }) => detail);
    db.close();
    const reads = plan.filter((detail) => /^(?:SCAN|SEARCH) (?:agents|deliveries|messages)/u.test(detail));
    expect(reads).toHaveLength(4);
    const indexes = reads.map((detail) => /USING (?:COVERING )?INDEX (\w+)/u.exec(detail)?.[1]);
    expect(indexes.sort()).toEqual(["agents_busy", "deliveries_open", "deliveries_waiting", "messages_unanswered"]);
  });
});

describe("a page of agents", () => {
  it("is read by number from where it begins, and nothing is sorted", () => {
    const db = openDatabase(":memory:");
    const plan = db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${SELECT_PAGE}`, null, 100).map(({ detail }) => detail);
    db.close();
    expect(plan).toContain("SEARCH agents USING INTEGER PRIMARY KEY (rowid>?)");
    expect(plan.join()).not.toMatch(/TEMP B-TREE|SCAN agents/u);
  });
});

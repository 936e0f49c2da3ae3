import { constants } from "node:sqlite";
import { expect, test } from "vitest";
import { openDatabase } from "./database.ts";

test("a statement is compiled once, also if its limit changes", () => {
  const db = openDatabase(":memory:");
  let compiled = 0;
  db.sql.setAuthorizer((action) => {
    if (action === constants.SQLITE_SELECT) compiled += 1;
    return constants.SQLITE_OK;
  });
  const text = "SELECT value FROM json_each(?) WHERE value > ? ORDER BY value LIMIT ?";
  const read = (least: number, limit: number): unknown[] => db.all(text, "[1,2,3]", least, limit);
  expect(read(0, 2)).toEqual([{ value: 1 }, { value: 2 }]);
  expect(read(1, 1)).toEqual([{ value: 2 }]);
  expect(read(0, 3)).toHaveLength(3);
  expect(read(0, 0)).toEqual([]);
  expect(compiled).toBe(1);
  db.close();
});

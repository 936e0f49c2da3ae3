/** Names in texts, ids by their beginning, and keys of forgotten people. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AgentId } from "../../core/ids.ts";
import { Workload } from "./files/workload.test-kit.ts";
import { idsBeginning } from "./find-ids.ts";
import { FORGOTTEN_KEYS, FORGOTTEN_REPLY, forgottenKey } from "./forgotten-key.ts";
import { hasWord } from "./has-word.ts";
import { openDatabase } from "./sqlite/database.ts";

describe("a name in a text", () => {
  test.each([
    ["ann", "ann", true],
    ["ann wrote", "ann", true],
    ["by ann.", "ann", true],
    ["(ann)", "ann", true],
    ["to:ann", "ann", true],
    ["anna", "ann", false],
    ["joann", "ann", false],
    ["ann1", "ann", false],
    ["_ann", "ann", false],
    ["éann", "ann", false],
    ["annä", "ann", false],
    ["anna and ann", "ann", true],
    ["annann", "ann", false],
    ["annann ann", "ann", true],
    ["anyone", "", false],
    ["", "ann", false],
    ["telegram:42", "telegram:42", true],
    ["telegram:421", "telegram:42", false],
  ])("%j names %j: %s", (text, word, found) => {
    expect(hasWord(text, word)).toBe(found);
  });

  test("is found as the whole words of the text", () => {
    const word = fc.constantFrom("ann", "a", "nn", "an1");
    fc.assert(
      fc.property(fc.array(fc.constantFrom("ann", "a", "n", " ", "-", "1"), { maxLength: 12 }), word, (parts, name) => {
        const text = parts.join("");
        expect(hasWord(text, name)).toBe(text.split(/[^a-z0-9]/u).includes(name));
      }),
    );
  });
});

describe("ids by their beginning", () => {
  test("are sorted, no more than asked for, and only those that begin so", async () => {
    const home = mkdtempSync(join(tmpdir(), "rookery-ids-"));
    const database = join(home, "rookery.db");
    const db = openDatabase(database);
    const work = new Workload(db);
    const made = ["bob", "anna", "ann", "an"].map((name) => work.agent(name)) as AgentId[];
    db.close();
    const find = (text: string, limit = 9) => idsBeginning({ database }, "agents", text, limit);
    expect(await find("")).toEqual([...made].sort());
    expect(await find("ann")).toEqual([made[2], made[1]]);
    expect(await find("ann", 1)).toEqual([made[2]]);
    expect(await find(made[0] as string)).toEqual([made[0]]);
    expect(await find("c")).toEqual([]);
    expect(await idsBeginning({ database }, "runs", "", 9)).toEqual([]);
    // A look leaves nothing open, and makes no database where there is none.
    const open = readdirSync("/dev/fd").length;
    await find("ann");
    expect(readdirSync("/dev/fd")).toHaveLength(open);
    const none = join(home, "none.db");
    await expect(idsBeginning({ database: none }, "agents", "", 9)).rejects.toThrow();
    expect(existsSync(none)).toBe(false);
    rmSync(home, { recursive: true });
  });
});

describe("the key of a forgotten person", () => {
  test("names nothing, stays as it is, and lies between the first and the last of its form", () => {
    const key = forgottenKey('["telegram","","ann","m1",0]');
    expect(key).toMatch(/^#[0-9a-f]{64}$/u);
    expect(forgottenKey(key)).toBe(key);
    expect(forgottenKey("another")).not.toBe(key);
    const [first, last] = FORGOTTEN_KEYS;
    expect(key >= first && key < last).toBe(true);
    for (const living of ['["telegram"]', "api:x", "hook:x"]) expect(living >= first && living < last).toBe(false);
    expect(JSON.parse(FORGOTTEN_REPLY)).toMatchObject({ status: 410, json: { error: { code: "gone" } } });
  });
});

/** Rows of both databases as records, pages past what cannot be read, and small texts of the stores. */
import { describe, expect, test } from "vitest";
import { CorruptDataError } from "../../core/errors.ts";
import { forgottenKey } from "./forgotten-key.ts";
import { hasWord } from "./has-word.ts";
import {
  deliveryOf,
  firstInOrder,
  nodeOf,
  readable,
  readablePage,
  requestOf,
  storedJson,
  waitingCounts,
} from "./rows.ts";

const request = {
  key: "k",
  digest: "d",
  agent_id: "a" as never,
  seq: 3,
  finished: 1,
  later: 0,
  open: 1,
  reply: "r",
  keep_until: 9,
} as const;

describe("a record", () => {
  test("of a request names its message if there is one", () => {
    expect(requestOf(request)).toEqual({
      key: "k",
      digest: "d",
      message: { agentId: "a", seq: 3 },
      finished: true,
      later: false,
      open: true,
      reply: "r",
      keepUntil: 9,
    });
    expect(requestOf({ ...request, agent_id: null }).message).toBeUndefined();
    expect(requestOf({ ...request, seq: null }).message).toBeUndefined();
    expect(requestOf({ ...request, digest: null, reply: null, later: null, finished: false })).toMatchObject({
      digest: undefined,
      reply: undefined,
      later: false,
      finished: false,
    });
  });

  test.each([
    [0, false, false],
    [1, true, false],
    [2, false, true],
  ])("of a node with the mark %i: left %s, returned %s", (gone, left, returned) => {
    expect(nodeOf({ node: 1, name: "n", lease_until: 5, gone })).toMatchObject({ left, returned, leaseUntil: 5 });
  });

  test("of a delivery has every column, and no field for a column without a value", () => {
    const kept = { n: 4, id: "d", state: "sending", attempts: 2, target: { to: "x" }, payload: { text: "t" } };
    const row = { ...kept, agent_id: "a", next_at: 5, created_at: 6, target: '{"to":"x"}', payload: '{"text":"t"}' };
    const some = { run_id: "r", node: 3, ended_at: 7, reason: "why", receipt: "ok" };
    const record = { ...kept, agentId: "a", nextAt: 5, createdAt: 6 };
    const full = { ...record, runId: "r", node: 3, endedAt: 7, reason: "why", receipt: "ok" };
    expect(deliveryOf({ ...row, ...some } as never)).toEqual(full);
    expect(deliveryOf({ ...row, ...some, node: 0, ended_at: 0 } as never)).toEqual({ ...full, node: 0, endedAt: 0 });
    const none = { run_id: null, node: null, ended_at: null, reason: null, receipt: null };
    expect(deliveryOf({ ...row, ...none } as never)).toEqual(record);
  });

  test("that cannot be read is an error for who asks for it, and no obstacle for a list", () => {
    expect(() => storedJson("{")).toThrow(CorruptDataError);
    expect(readable(['{"a":1}', "{", '{"a":2}'], storedJson)).toEqual([{ a: 1 }, { a: 2 }]);
    expect(() =>
      readable([1], () => {
        throw new TypeError("a defect");
      }),
    ).toThrow("a defect");
  });
});

describe("a page", () => {
  const page = async (rows: readonly string[], limit: number): Promise<{ found: unknown[]; asked: number[] }> => {
    const asked: number[] = [];
    const found = await readablePage(
      limit,
      (row: string) => storedJson(row),
      (most) => {
        asked.push(most);
        return rows.slice(0, most);
      },
    );
    return { found, asked };
  };

  test("is full although rows in it cannot be read, as long as the table has more", async () => {
    expect(await page(["{", "{", "1", "2", "3", "4"], 3)).toEqual({ found: [1, 2, 3], asked: [3, 5] });
    expect(await page(["1", "2", "3"], 2)).toEqual({ found: [1, 2], asked: [2] });
    expect(await page(["1", "{"], 3)).toEqual({ found: [1], asked: [3] });
    expect(await page([], 3)).toEqual({ found: [], asked: [3] });
  });

  test("of two lists of deliveries is in the store's order", () => {
    const of = (...numbers: readonly number[]) => numbers.map((n) => ({ n })) as never;
    expect(firstInOrder(of(5, 2, 9, 1), 3)).toEqual(of(1, 2, 5));
  });

  test("of counts has a zero for what does not wait", () => {
    expect(waitingCounts([])).toEqual({ "waiting-reader": 0, unroutable: 0 });
    expect(waitingCounts([{ state: "unroutable", count: 4 }])).toEqual({ "waiting-reader": 0, unroutable: 4 });
  });
});

test.each([
  ["ann", "ann", true],
  ["tell ann.", "ann", true],
  ["hanna", "ann", false],
  ["annä", "ann", false],
  ["1ann", "ann", false],
  ["ann_", "ann", false],
  ["joanna, ann", "ann", true],
  ["ann-marie", "ann", true],
  ["text", "", false],
  ["", "ann", false],
])("%j has the word %j: %s", (text, word, wanted) => {
  expect(hasWord(text, word)).toBe(wanted);
});

test("the key of a forgotten person does not name it, is the same each time, and is not forgotten twice", () => {
  const once = forgottenKey('["telegram","ann"]');
  expect(once).toMatch(/^#[0-9a-f]{64}$/);
  expect(forgottenKey('["telegram","ann"]')).toBe(once);
  expect(forgottenKey('["telegram","bob"]')).not.toBe(once);
  expect(forgottenKey(once)).toBe(once);
});

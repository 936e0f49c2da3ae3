/** Reads of the same moment become one query, and each gets its own rows. */
import { describe, expect, test } from "vitest";
import { BatchedReads, type Row, type Statement } from "./batched-reads.ts";

const FIND: Statement = { name: "find", text: "SELECT v FROM t WHERE a = $1 AND n > $2", types: ["text", "bigint"] };
const PLAIN: Statement = { name: "plain", text: "SELECT 1 WHERE $1" };

/** A database that answers when it is told to. */
function world() {
  const queries: { name?: string; text: string; values?: unknown[] }[] = [];
  const answers: { resolve: (rows: readonly Row[]) => void; reject: (error: unknown) => void }[] = [];
  const reads = new BatchedReads((query) => {
    queries.push(query as never);
    return new Promise((resolve, reject) => answers.push({ resolve, reject }));
  });
  return { queries, answers, reads };
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

describe("reads", () => {
  test("that cannot be combined go at once and alone", async () => {
    const { queries, answers, reads } = world();
    const both = [reads.ask(PLAIN, [1]), reads.ask(PLAIN, [2])];
    expect(queries.map(({ values }) => values)).toEqual([[1], [2]]);
    answers[0]?.resolve([{ v: "one" }]);
    answers[1]?.resolve([{ v: "two" }]);
    expect(await Promise.all(both)).toEqual([[{ v: "one" }], [{ v: "two" }]]);
  });

  test("of one moment with one statement are one query; each gets its own rows, or none", async () => {
    const { queries, answers, reads } = world();
    const asked = [reads.ask(FIND, ["a", 1]), reads.ask(FIND, ["b", 2]), reads.ask(FIND, ["c", 3])];
    expect(queries).toEqual([]);
    await turn();
    expect(queries).toEqual([
      {
        name: "find-many",
        text: "SELECT w.asked, r.* FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS w (p1, p2, asked), LATERAL (SELECT v FROM t WHERE a = w.p1 AND n > w.p2) AS r",
        values: [
          ["a", "b", "c"],
          [1, 2, 3],
        ],
      },
    ]);
    answers[0]?.resolve([
      { asked: "3", v: "of c" },
      { asked: "1", v: "of a" },
      { asked: "3", v: "more of c" },
    ]);
    expect(await Promise.all(asked)).toEqual([[{ v: "of a" }], [], [{ v: "of c" }, { v: "more of c" }]]);
  });

  test("alone in their moment are sent unchanged", async () => {
    const { queries, answers, reads } = world();
    const asked = reads.ask(FIND, ["a", 1]);
    await turn();
    expect(queries).toEqual([{ name: "find", text: FIND.text, values: ["a", 1] }]);
    answers[0]?.resolve([{ v: 1 }]);
    expect(await asked).toEqual([{ v: 1 }]);
  });

  test("beyond 64 go in the next query, and beyond two queries they wait until one has ended", async () => {
    const { queries, answers, reads } = world();
    const asked = Array.from({ length: 64 * 3 + 1 }, (_none, n) => reads.ask(FIND, [`${n}`, n]));
    await turn();
    const sizes = (): readonly unknown[] => queries.map(({ values }) => ((values?.[0] ?? []) as unknown[]).length);
    expect(sizes()).toEqual([64, 64]);
    answers[1]?.resolve([]);
    await turn();
    expect(sizes()).toEqual([64, 64, 64]);
    answers[0]?.resolve([]);
    answers[2]?.resolve([]);
    await turn();
    expect(queries[3]).toMatchObject({ name: "find", values: ["192", 192] });
    answers[3]?.resolve([{ v: "last" }]);
    expect((await Promise.all(asked)).at(-1)).toEqual([{ v: "last" }]);
  });

  test("of another statement do not wait for those of the first", async () => {
    const { queries, reads } = world();
    const asked = Array.from({ length: 129 }, (_none, n) => reads.ask(FIND, [`${n}`, n]));
    void reads.ask({ ...FIND, name: "other" }, ["x", 0]);
    await turn();
    expect([queries.map(({ name }) => name), asked.length]).toEqual([["find-many", "find-many", "other"], 129]);
  });

  test("that fail are all told so, and the next ones go on", async () => {
    const { answers, reads } = world();
    const failed = [reads.ask(FIND, ["a", 1]), reads.ask(FIND, ["b", 2])].map((one) => one.catch((error) => error));
    await turn();
    answers[0]?.reject("gone");
    expect(await Promise.all(failed)).toEqual(["gone", "gone"]);
    const single = reads.ask(FIND, ["a", 1]).catch((error) => error);
    await turn();
    answers[1]?.reject("gone again");
    expect(await single).toBe("gone again");
    const next = reads.ask(FIND, ["a", 1]);
    await turn();
    answers[2]?.resolve([{ v: 1 }]);
    expect(await next).toEqual([{ v: 1 }]);
  });
});

/** Making room after an erasure: every table of the schema, one after the other, over a connection that is always ended. */
import { expect, test } from "vitest";
import { eraserOf } from "./erase.ts";

/** A connection that takes one statement at a time; `done` has those that were finished. */
function world(fails = "") {
  const done: unknown[] = [];
  let isBusy = false;
  const step = async (text: string, values?: unknown[]): Promise<{ rows: object[] }> => {
    if (isBusy) throw new Error(`${text} did not wait for what came before it.`);
    isBusy = true;
    await new Promise(setImmediate);
    isBusy = false;
    done.push(values ? [text, ...values] : text);
    if (fails !== "" && text.startsWith(fails)) throw new Error(`${text} fails`);
    return { rows: values ? [{ tablename: "agents" }, { tablename: "runs" }] : [] };
  };
  const client = { query: step, end: () => step("end") };
  const eraser = eraserOf({ options: { schema: 'my "s"' }, own: async () => client } as never);
  return { done, eraser };
}

test("every table is vacuumed in its schema, and then the connection is ended", async () => {
  const { done, eraser } = world();
  await eraser.compact();
  expect(done).toEqual([
    'SET search_path TO "my ""s"""',
    ["SELECT tablename FROM pg_tables WHERE schemaname = $1", 'my "s"'],
    'VACUUM "agents"',
    'VACUUM "runs"',
    "end",
  ]);
});

test.each(["SET", "SELECT", "VACUUM", "end"])(
  "if %s fails, the connection is ended and the error is told",
  async (text) => {
    const { done, eraser } = world(text);
    await expect(eraser.compact()).rejects.toThrow("fails");
    expect(done.at(-1)).toBe("end");
  },
);

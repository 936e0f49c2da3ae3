/** Events that are handled, skipped or brought again, and the order of each chat. */
import { describe, expect, it, test } from "vitest";
import { type LogLine, recordingLog } from "../../../app/testing/log.ts";
import { InvalidInputError, StoreUnavailableError } from "../../../core/errors.ts";
import { chatOrder, handledOrSkipped } from "./event-work.ts";

function world() {
  const lines: LogLine[] = [];
  const problems: string[] = [];
  const tries = new Map<string, number>();
  const work = { log: recordingLog(lines), account: "one", onProblem: (text: string) => void problems.push(text) };
  const handle = (error?: unknown, id = "u1") =>
    handledOrSkipped(
      work,
      id,
      async () => {
        if (error !== undefined) throw error;
      },
      tries,
    );
  return { lines, problems, tries, handle };
}

const RETRYABLE = Object.assign(new TypeError("away"), { retryable: true });

describe("an event", () => {
  test.each<[string, unknown, readonly boolean[]]>([
    ["that is handled is over", undefined, [true]],
    ["that is refused by its content is skipped at once", new InvalidInputError("odd"), [true]],
    ["that the store did not take comes again", new StoreUnavailableError("away"), [false, false, false, false]],
    ["that the code cannot read is skipped at the third try", new TypeError("no field"), [false, false, true]],
    ["that is out of range is skipped at the third try", new RangeError("too far"), [false, false, true]],
    ["that may work later comes again", RETRYABLE, [false, false, false, false]],
    ["that fails for another reason comes again", "odd", [false, false, false, false]],
  ])("%s", async (_, error, expected) => {
    const { handle, problems } = world();
    const results: boolean[] = [];
    for (const _try of expected) results.push(await handle(error));
    expect(results).toEqual(expected);
    expect(problems).toHaveLength(error === undefined ? 0 : expected.length);
  });

  it("that works at last is counted no more", async () => {
    const { handle, tries } = world();
    const unread = new TypeError("no field");
    expect([await handle(unread), await handle(unread), await handle()]).toEqual([false, false, true]);
    expect(tries.size).toBe(0);
    expect([await handle(unread), await handle(unread), await handle(unread)]).toEqual([false, false, true]);
    expect(tries.size).toBe(0);
  });

  it("does not count for another one", async () => {
    const { handle } = world();
    const unread = new TypeError("no field");
    for (const id of ["a", "b", "a", "b"]) expect(await handle(unread, id)).toBe(false);
    expect([await handle(unread, "a"), await handle(unread, "c")]).toEqual([true, false]);
  });

  it("says in the log what becomes of it", async () => {
    const { handle, lines } = world();
    await handle(new InvalidInputError("odd"));
    await handle(RETRYABLE);
    expect(lines.map(({ message, fields }) => [message, fields])).toEqual([
      ["an update cannot be handled and is skipped", { account: "one", update: "u1", error: "odd" }],
      ["an update was not stored; it will come again", { account: "one", update: "u1", error: "away" }],
    ]);
  });

  it("of very many is not counted without end", async () => {
    const { handle, tries } = world();
    for (let n = 0; n < 1_002; n++) await handle(RETRYABLE, String(n));
    expect(tries.size).toBeLessThanOrEqual(1_001);
  });
});

describe("the work of a chat", () => {
  it("is done one after the other, also if one fails; that of others beside it", async () => {
    const inOrder = chatOrder();
    const gate = Promise.withResolvers<void>();
    const done: string[] = [];
    const run = (chat: string, name: string, wait?: Promise<void>) =>
      inOrder(chat, async () => {
        await wait;
        done.push(name);
        if (name === "fails") throw new TypeError("no");
        return name;
      });
    const first = run("a", "fails", gate.promise).catch(() => "failed");
    const second = run("a", "second");
    expect(await run("b", "other")).toBe("other");
    expect(done).toEqual(["other"]);
    gate.resolve();
    expect(await Promise.all([first, second])).toEqual(["failed", "second"]);
    expect(await run("a", "third")).toBe("third");
    expect(done).toEqual(["other", "fails", "second", "third"]);
  });
});

/** What becomes of a group of changes when the database refuses it, is busy, or goes away in the middle (M2). */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CommitUnknownError, StoreClosedError, StoreFullError, StoreUnavailableError } from "../../../core/errors.ts";
import type { Change } from "../../../core/store/change.ts";
import { applyGroup } from "./apply-group.ts";

const change = (id: string, ops = 1): Change =>
  ({
    id,
    site: "s",
    at: 1,
    ops: Array.from({ length: ops }, (_none, n) => ({ op: "fact.put", key: `${id}${n}`, value: "v" })),
  }) as never;
const A = change("a");
const B = change("b", 2);
const error = (code?: string): Error => Object.assign(new Error(`error ${code}`), { code });

type Said = Error | { readonly rows: readonly object[] };

/** A database that says what it is told, in order; `log` has what it was asked. */
function world(
  said: readonly Said[],
  more: { settleMs?: number; outcomes?: Record<string, object>; alive?: number } = {},
) {
  const answers = [...said];
  const log: string[] = [];
  const given: unknown[][] = [];
  const wires: string[] = [];
  let alive = more.alive ?? 0;
  const state = { closed: false, databaseClock: false };
  /** When and how the end of a server process was asked for. */
  const ends: [at: number, use: string][] = [];
  const connections = {
    options: { applicationName: "me" },
    get closed() {
      return state.closed;
    },
    pidOf: () => 77,
    use: async (use: string, work: (client: unknown) => Promise<unknown>) =>
      work({
        query: async (query: { name: string; values: unknown[] } | string, values?: unknown[]) => {
          if (typeof query === "string") {
            log.push(`ends ${values?.join(" ")}`);
            ends.push([performance.now(), use]);
            return { rows: alive-- > 0 ? [{}] : [] };
          }
          log.push(`${use} ${query.name}${query.values[9] === true ? " alone" : ""} ${idsIn(String(query.values[0]))}`);
          given.push(query.values.slice(1));
          wires.push(String(query.values[0]));
          const answer = answers.shift();
          if (!answer || answer instanceof Error) throw answer ?? error("XX000");
          return answer;
        },
      }),
    one: async ({ name }: { name: string }, id: string) => {
      if (name !== "select-change") log.push(name);
      return more.outcomes?.[id];
    },
    all: async (_statement: unknown, id: string) => (more.outcomes?.[id] ? [more.outcomes[id]] : []),
  };
  const apply = (changes: readonly Change[], batchable = false) =>
    settled(
      applyGroup(
        { connections: connections as never, databaseClock: state.databaseClock, settleMs: more.settleMs ?? 1_000 },
        changes,
        batchable,
      ),
    );
  return { apply, log, state, ends, values: given, wires };
}
const idsIn = (text: string): string => [...text.matchAll(/"id":"(\w)"/g)].map(([, id]) => id).join("");
/** What becomes of it after three seconds: how long they take here does not count. */
async function settled<T>(result: Promise<T>): Promise<T> {
  await vi.advanceTimersByTimeAsync(3_000);
  return result;
}
const ok = (...answers: readonly object[]): Said => ({ rows: [{ answers }] });

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

describe("the results of a group", () => {
  test("belong to its changes and their ops: done, refused, or an error of its own", async () => {
    const { apply } = world([
      ok({ ok: { 1: { op: "x" } } }, { refused: "conflict", detail: "d" }, { error: "e", code: "c" }),
    ]);
    const [b, a, c] = await apply([B, A, change("c")]);
    expect(b).toEqual({ ok: true, results: [undefined, { op: "x" }] });
    expect(a).toEqual({ ok: false, refused: "conflict", detail: "d" });
    expect(String(c)).toContain("The database refused a change: e (c)");
  });

  test("of a batch are put in their places; what says nothing is undefined", async () => {
    const { apply, log } = world([{ rows: [{ results: [{ i: 1, o: 1, said: { op: "x" } }] }] }]);
    expect(await apply([A, B], true)).toEqual([
      { ok: true, results: [undefined] },
      { ok: true, results: [undefined, { op: "x" }] },
    ]);
    expect(log).toEqual(["commit apply-batch ab"]);
  });
});

describe("a group that the database refuses", () => {
  test("is sent one after the other, then each alone, so that one bad change fails alone", async () => {
    const { apply, log } = world([error("23505"), error("23505"), ok({ ok: {} }, { error: "e", code: "c" })]);
    const [a, b] = await apply([A, B], true);
    expect([a, String(b)]).toEqual([{ ok: true, results: [undefined] }, expect.stringContaining("refused a change")]);
    expect(log).toEqual(["commit apply-batch ab", "commit apply-changes ab", "commit apply-changes alone ab"]);
  });

  test("even alone fails as a whole", async () => {
    const { apply, log } = world([error("23505"), error("23505")]);
    const results = await apply([A, B]);
    expect(results.map((one) => one instanceof StoreUnavailableError)).toEqual([true, true]);
    expect(log).toHaveLength(2);
  });
});

describe("a database that is busy or full", () => {
  test.each(["40001", "55P03", "RKAGN"])("is asked again after %s, nine times at most", async (code) => {
    const once = world([error(code), ok({ ok: {} })]);
    expect(await once.apply([A])).toEqual([{ ok: true, results: [undefined] }]);
    expect(once.log).toHaveLength(2);
    const often = world(Array.from({ length: 20 }, () => error(code)));
    expect((await often.apply([A]))[0]).toBeInstanceOf(StoreUnavailableError);
    expect(often.log).toHaveLength(9);
  });

  test("says so to every change, at once", async () => {
    const { apply, log } = world([error("53100")]);
    const results = await apply([A, B]);
    expect(results.map((one) => one instanceof StoreFullError)).toEqual([true, true]);
    expect(log).toHaveLength(1);
  });

  test("that gives no connection has applied nothing: the error is told as it is", async () => {
    const closed = new StoreClosedError("The store is closed.");
    const { apply, log } = world([closed]);
    expect(await apply([A])).toEqual([closed]);
    expect(log).toHaveLength(1);
  });
});

describe("a connection that breaks in the middle", () => {
  const done = { result: null };

  test("has its server process ended before anything is looked up, and what was not applied is sent again", async () => {
    const { apply, log } = world([error(), ok({ ok: {} })], { alive: 1 });
    expect(await apply([A])).toEqual([{ ok: true, results: [undefined] }]);
    expect(log).toEqual(["commit apply-changes a", "ends 77 me", "ends 77 me", "commit apply-changes a"]);
  });

  test("does not apply twice what was applied: only the rest is sent again, and each gets its own result", async () => {
    const { apply, log } = world([error("57P01"), ok({ refused: "stale", detail: "d" })], { outcomes: { b: done } });
    const [a, b] = await apply([A, B]);
    expect(a).toEqual({ ok: false, refused: "stale", detail: "d" });
    expect(b).toMatchObject({ ok: true });
    expect(log.at(-1)).toBe("commit apply-changes a");
    const all = world([error("57P01")], { outcomes: { a: done, b: done } });
    expect((await all.apply([A, B])).map((one) => "ok" in one && one.ok)).toEqual([true, true]);
    expect(all.log).toEqual(["commit apply-changes ab", "ends 77 me"]);
  });

  test("is told as unknown if nothing can be found out in time, or the store is closed", async () => {
    const late = world([error()], { alive: 1e9, settleMs: 60 });
    const results = await late.apply([A, B]);
    expect(results.map((one) => one instanceof CommitUnknownError)).toEqual([true, true]);
    expect(String(results[0])).toContain("during a commit: error undefined.");
    expect(late.log).toEqual(["commit apply-changes ab", "ends 77 me", "ends 77 me"]);
    const closed = world([error()], { alive: 1e9, settleMs: 60 });
    closed.state.closed = true;
    expect((await closed.apply([A]))[0]).toBeInstanceOf(CommitUnknownError);
    expect(closed.log).toHaveLength(2);
  });
});

describe("what a group is computed from", () => {
  const ran = (id: string): Change =>
    ({ id, site: "s", at: 1, ops: [{ op: "job.ran", jobId: "job", slot: "s", end: {} }] }) as never;
  const read = ["select-job", "select-job-slot"];

  test("is read before it is sent, and again only if the database says that it has changed", async () => {
    const again = world([error("RKAGN"), ok({ ok: {} })]);
    await again.apply([ran("a")]);
    expect(again.log).toEqual([...read, "commit apply-changes a", ...read, "commit apply-changes a"]);
    const often = world(Array.from({ length: 20 }, () => error("RKAGN")));
    await often.apply([ran("a")]);
    expect(often.log.filter((text) => text === "select-job")).toHaveLength(9);
    const batch = world([error("40001"), { rows: [{ results: [] }] }]);
    await batch.apply([A], true);
    expect(batch.log).toEqual(["commit apply-batch a", "commit apply-batch a"]);
    const retried = world([error("40001"), ok({ ok: {} })]);
    await retried.apply([ran("a")]);
    expect(retried.log).toEqual([...read, "commit apply-changes a", "commit apply-changes a"]);
    const delivered = { ...ran("a"), ops: [{ op: "job.delivered", jobId: "job", slot: "s", told: {} }] } as never;
    const once = world([ok({ ok: {} })]);
    await once.apply([delivered, A]);
    expect(once.log).toEqual([...read, "commit apply-changes aa"]);
  });

  test("is part of what is sent", async () => {
    const job = JSON.stringify({ id: "job", version: 6, enabled: true, schedule: { kind: "at" }, state: {} });
    const { apply, wires } = world([ok({ ok: {} })], { outcomes: { job: { job, row: '{"slot":"s"}' } } });
    const end = { at: 1, status: "ok", failed: false, delivery: { status: "none" } };
    await apply([{ ...ran("a"), ops: [{ op: "job.ran", jobId: "job", slot: "s", end }] } as never]);
    expect(JSON.parse(wires[0] ?? "")[0].ops[0]).toMatchObject({
      version: 6,
      row: expect.stringContaining('"slot":"s"'),
    });
  });

  test("and cannot be sent fails as a whole, with an error that says so", async () => {
    const { apply, log } = world([]);
    const broken = { ...A, ops: [{ op: "fact.put" }] } as never;
    for (const batchable of [true, false])
      expect((await apply([A, broken], batchable)).map((one) => one instanceof StoreUnavailableError)).toEqual([
        true,
        true,
      ]);
    expect(log).toEqual([]);
  });

  test("is sent with its locks, whether each change stands alone, and the clock of leases", async () => {
    for (const databaseClock of [true, false]) {
      const one = world([ok({ ok: {} })]);
      one.state.databaseClock = databaseClock;
      await one.apply([A]);
      expect(one.values).toEqual([[["fact a0"], [], [], [], [], [], [], [], false, databaseClock]]);
      const batch = world([{ rows: [{ results: [] }] }]);
      batch.state.databaseClock = databaseClock;
      await batch.apply([B], true);
      expect(batch.values).toEqual([[["fact b0", "fact b1"], [], [], databaseClock]]);
    }
  });
});

describe("a server process that does not end", () => {
  test("is asked about over a connection for reads, in longer and longer pauses, up to half a second", async () => {
    const { apply, ends } = world([error()], { alive: 1e9, settleMs: 1_620 });
    expect((await apply([A]))[0]).toBeInstanceOf(CommitUnknownError);
    expect(ends).toEqual([0, 20, 60, 140, 300, 620, 1_120].map((at) => [at + (ends[0]?.[0] ?? 0), "read"]));
  });

  test("keeps its changes unknown also if what is left cannot be sent again", async () => {
    const { apply, log } = world([error(), error("53100")], { settleMs: 30 });
    expect((await apply([A]))[0]).toBeInstanceOf(CommitUnknownError);
    const again = "commit apply-changes a";
    expect(log).toEqual([again, "ends 77 me", again, "ends 77 me", again, "commit apply-changes alone a"]);
  });
});

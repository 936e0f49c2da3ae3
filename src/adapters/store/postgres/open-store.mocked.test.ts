/** Opening and closing a shared store, statement by statement, on a driver that answers what a test says. */
import { EventEmitter } from "node:events";
import { beforeEach, describe, expect, test, vi } from "vitest";
import {
  CommitUnknownError,
  NotFoundError,
  StoreClosedError,
  StoreNewerError,
  StoreUnavailableError,
  StoreUnsuitableError,
} from "../../../core/errors.ts";
import type { Change } from "../../../core/store/change.ts";
import { applyFunctions } from "./apply-functions.ts";
import { migrations } from "./migrate.ts";
import { openPostgresReader } from "./open-reader.ts";
import { openPostgresStore } from "./open-store.ts";

interface World {
  /** What was done, in the order in which it was finished: the client's number and the start of its statement. */
  readonly done: string[];
  /** Statements with this text fail. */
  fails: string;
  error: unknown;
  /** Statements with this text wait for `waits`. */
  slow: string;
  waits: Promise<void> | undefined;
  version: string | undefined;
  hasTables: boolean;
  server: number;
  answers: readonly unknown[];
  count: number;
}
const world = {} as World;

beforeEach(() => {
  const newest = String(migrations().at(-1)?.version);
  Object.assign(world, { done: [], fails: "", error: new Error("cut"), slow: "", version: newest, hasTables: true });
  Object.assign(world, { server: 170_000, answers: [], count: 0, waits: undefined });
});

class FakeClient extends EventEmitter {
  readonly #name: string;
  #isBusy = false;

  constructor(name: string) {
    super();
    this.#name = name;
  }
  async connect(): Promise<void> {
    await this.#step("connect");
  }
  end(): Promise<void> {
    return this.#step("end");
  }
  release(): void {}
  async query(asked: string | { text: string }): Promise<unknown> {
    const text = (typeof asked === "string" ? asked : asked.text).trim();
    const pid = Number(/\d+/.exec(this.#name)?.[0]);
    if (text.startsWith("SET search_path")) return [{ rows: [{ pid }] }];
    await this.#step(text.replaceAll(/\s+/g, " ").slice(0, 60));
    if (text.includes("server_version_num")) return { rows: [{ server_version_num: world.server }] };
    if (text.includes("pg_backend_pid")) return { rows: [{ pid }] };
    if (text.includes("to_regclass")) return { rows: [{ there: world.hasTables }] };
    if (text.includes("'schema_version'")) return { rows: [{ value: world.version }] };
    if (text.includes("pg_try_advisory_lock")) return { rows: [{ held: true }] };
    return { rows: text.includes("AS answers") ? [{ answers: world.answers }] : [] };
  }
  async #step(text: string): Promise<void> {
    if (this.#isBusy) throw new Error(`${text} did not wait for what came before it.`);
    this.#isBusy = true;
    if (world.slow !== "" && text.includes(world.slow)) await world.waits;
    await new Promise(setImmediate);
    this.#isBusy = false;
    world.done.push(`${this.#name} ${text}`);
    if (world.fails !== "" && text.includes(world.fails)) throw world.error;
  }
}

vi.mock("pg", () => ({
  default: {
    types: { getTypeParser: () => String },
    escapeIdentifier: (name: string) => `"${name}"`,
    Client: class extends FakeClient {
      constructor() {
        super(`#${++world.count}`);
      }
    },
    Pool: class extends EventEmitter {
      readonly #max: number;
      constructor({ max }: { max: number }) {
        super();
        this.#max = max;
      }
      connect = async (): Promise<FakeClient> => new FakeClient(`pool of ${this.#max}`);
      async end(): Promise<void> {
        await new Promise(setImmediate);
        world.done.push(`pool of ${this.#max} end`);
      }
    },
  },
}));

const done = (): readonly string[] => world.done.splice(0);
const turns = async (): Promise<void> => {
  for (let n = 0; n < 9; n++) await new Promise(setImmediate);
};
const open = (options: object = {}) => openPostgresStore({ url: "postgres://h/d", schema: "s", ...options });
const change = (op: object): Change => ({ id: "c", site: "s", at: 1, ops: [op] }) as never;

describe("a store that opens", () => {
  test("refuses unsuitable databases first, then migrates, retires dead nodes, and listens", async () => {
    const store = await open();
    const all = done();
    const at = (part: string): number => all.findIndex((text) => text.includes(part));
    const order = [
      "#1 SHOW server_version",
      "#1 end",
      "#3 BEGIN",
      "#3 COMMIT",
      `#3 SELECT ${applyFunctions().retireDead}(0)`,
    ];
    const places = [...order, "#3 end", "#4 connect", "#4 SET synchronous_commit"].map(at);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places).not.toContain(-1);
    expect(at("#2 end")).toBeLessThan(at("#3 BEGIN"));
    expect(all.at(-1)).toContain("#4 SET synchronous_commit");
    await store.close();
    expect(done().filter((text) => text.includes("end"))).toEqual(["#4 end", "pool of 4 end", "pool of 6 end"]);
  });

  test.each([
    ["SHOW server_version_num", new Error("cut"), StoreUnavailableError],
    ["SHOW server_version_num", new StoreUnsuitableError("old", { hint: "h" }), StoreUnsuitableError],
    [applyFunctions().retireDead, new Error("cut"), StoreUnavailableError],
    ["SET synchronous_commit", new Error("cut"), StoreUnavailableError],
    ["SET synchronous_commit", "cut", StoreUnavailableError],
  ])("whose %s fails with %s ends every connection and says why", async (fails, error, type) => {
    Object.assign(world, { fails, error });
    const refused = await open().catch((cause: unknown) => cause);
    expect(refused).toBeInstanceOf(type);
    if (type === StoreUnsuitableError) expect(refused).toBe(error);
    const all = done();
    const of = (what: string): readonly string[] =>
      all.filter((text) => text.endsWith(` ${what}`)).map((text) => text.split(" ")[0] ?? "");
    expect(of("end").toSorted()).toEqual(of("connect").toSorted());
  });

  test("of an old server is unsuitable, and nothing is migrated", async () => {
    world.server = 140_000;
    await expect(open()).rejects.toThrow(StoreUnsuitableError);
    expect(done().filter((text) => text.includes("CREATE"))).toEqual([]);
  });
});

describe("a commit", () => {
  test("of a join is answered when the lock of the node is held, and of no other op takes a lock", async () => {
    const store = await open();
    done();
    world.answers = [{ ok: { 0: { op: "node.join", node: 7 } } }];
    const { promise, resolve } = Promise.withResolvers<void>();
    Object.assign(world, { slow: "pg_try_advisory_lock", waits: promise });
    let answer: unknown;
    const committing = store.commit(change({ op: "node.join", name: "n", leaseUntil: 9 })).then((result) => {
      answer = result;
    });
    await turns();
    expect(answer).toBeUndefined();
    resolve();
    await committing;
    expect(answer).toMatchObject({ ok: true, results: [{ node: 7 }] });
    expect(done().at(-1)).toContain("#4 UPDATE nodes SET locked");
    for (const answers of [
      [{ ok: { 0: { op: "agent.release", node: 7, released: true } } }],
      [{ refused: "conflict", detail: "d" }],
      [{ error: "e", code: "c" }],
      [{ ok: {} }],
    ]) {
      world.answers = answers;
      await store.commit(change({ op: "node.renew", node: 7, leaseUntil: 9 })).catch(() => undefined);
    }
    expect(done().filter((text) => text.startsWith("#4"))).toEqual([]);
    await store.close();
  });

  test("that concerns an agent of another node sends a hint", async () => {
    const store = await open();
    done();
    world.answers = [{ ok: {} }];
    await store.commit(change({ op: "agent.stop", agentId: "a", mark: null }));
    await turns();
    expect(done().at(-1)).toContain("#4 SELECT pg_notify");
    await store.close();
  });
});

test("a store has ten connections of which four commit, and a reader four, unless told otherwise", async () => {
  const url = "postgres://h/d";
  const optionsOf = async (options: object): Promise<object> => {
    const store = await openPostgresStore({ url, ...options });
    await store.ready?.();
    await store.close();
    expect(store.connections.closed).toBe(true);
    return store.connections.options;
  };
  const usual = { url, schema: "rookery", maxConnections: 10, lanes: 4, connectTimeoutMs: undefined };
  expect(await optionsOf({})).toEqual({ ...usual, applicationName: expect.stringMatching(/^rookery [-0-9a-f]{36}$/) });
  const own = { schema: "mine", maxConnections: 3, lanes: 2, connectTimeoutMs: 9_000 };
  expect(await optionsOf({ ...own, settleMs: 5 })).toMatchObject({ url, ...own });
  for (const schema of [undefined, "mine"]) {
    const reader = await openPostgresReader({ url, schema });
    expect(reader.connections.options).toMatchObject({ schema: schema ?? "rookery", maxConnections: 4 });
    expect(await reader.nodes()).toEqual([]);
    await reader.close();
    expect(reader.connections.closed).toBe(true);
  }
});

describe("a commit whose connection breaks", () => {
  test.each([
    ["four seconds", {}, 12],
    ["the time that it is told", { settleMs: 100, connectTimeoutMs: 9_000 }, 3],
  ])("is unknown if nothing can be found out in %s", async (_, options, times) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });
    try {
      const store = await open(options);
      done();
      world.fails = "SELECT";
      const unknown = store
        .commit(change({ op: "node.renew", node: 7, leaseUntil: 9 }))
        .catch((cause: unknown) => cause);
      for (let ms = 0; ms < 5_000; ms += 20) {
        await turns();
        await vi.advanceTimersByTimeAsync(20);
      }
      expect(await unknown).toBeInstanceOf(CommitUnknownError);
      expect(done().filter((text) => text.includes("pg_terminate_backend"))).toHaveLength(times);
      world.fails = "";
      await store.close();
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("a close", () => {
  test("ends what commits, then what listens, then the pools; all of them when it resolves, and once", async () => {
    const store = await open();
    world.answers = [{ ok: {} }];
    const last = store.commit(change({ op: "agent.stop", agentId: "a", mark: null }));
    await new Promise(setImmediate);
    done();
    await Promise.all([store.close(), store.close()]);
    const all = done().map((text) => text.replace(/(?<=SELECT) .*\.?(apply_changes|unlock_all|notify).*/, " $1"));
    expect(all).toEqual([
      "pool of 4 SELECT apply_changes",
      "#4 SELECT notify",
      "#4 SELECT unlock_all",
      "#4 end",
      "pool of 4 end",
      "pool of 6 end",
    ]);
    expect(await last).toMatchObject({ ok: true });
    await expect(store.commit(change({ op: "agent.stop", agentId: "a", mark: null }))).rejects.toThrow(
      StoreClosedError,
    );
    await expect(store.fact("k")).rejects.toThrow(StoreClosedError);
  });
});

describe("a reader", () => {
  const read = () => openPostgresReader({ url: "postgres://h/d" });

  test("of tables that it knows changes nothing, and is closed with its pools", async () => {
    const reader = await read();
    expect(done().every((text) => text.includes(" SELECT "))).toBe(true);
    await reader.close();
    expect(done()).toEqual(["pool of 1 end", "pool of 3 end"]);
  });

  test.each([
    ["without tables", { hasTables: false }, NotFoundError],
    ["of a newer program", { version: "999" }, StoreNewerError],
    ["that fails", { fails: "to_regclass" }, StoreUnavailableError],
    ["that fails strangely", { fails: "to_regclass", error: "odd" }, StoreUnavailableError],
  ])("of a database %s is refused, and both pools have ended", async (_, told, type) => {
    Object.assign(world, told);
    await expect(read()).rejects.toThrow(type);
    expect(done().slice(-2)).toEqual(["pool of 1 end", "pool of 3 end"]);
  });
});

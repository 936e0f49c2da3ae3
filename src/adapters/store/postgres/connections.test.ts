import { EventEmitter } from "node:events";
import type pg from "pg";
import { describe, expect, test } from "vitest";
import { StoreClosedError, StoreUnavailableError } from "../../../core/errors.ts";
import { Connections } from "./connections.ts";

type ConnectionOptions = ConstructorParameters<typeof Connections>[1];

const OPTIONS: ConnectionOptions = {
  url: "postgres://x@h/d",
  schema: 'my "schema"',
  applicationName: "rookery test",
  maxConnections: 10,
};

interface Sent {
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** A driver whose connections answer what a test says, and which remembers what was done with them. */
class FakeDriver {
  readonly pools: FakePool[] = [];
  readonly clients: FakeClient[] = [];
  /** What statements answer or throw, in their order; later ones have no rows. Setting up a connection is not among them. */
  readonly answers: (readonly Record<string, unknown>[] | Error | (() => Promise<never>))[] = [];
  attempts = 0;
  readonly sent: Sent[] = [];
  setUps: string[] = [];
  setUpFails: Error | undefined;
  connectFails: Error | undefined;

  asDriver(): typeof pg {
    const driver = this;
    return {
      Pool: class extends FakePool {
        constructor(config: pg.PoolConfig) {
          super(driver, config);
        }
      },
      Client: class extends FakeClient {
        constructor(config: pg.ClientConfig) {
          super(driver);
          this.config = config;
        }
      },
      types: { getTypeParser: (oid: number) => (text: string) => `${oid}:${text}` },
      escapeIdentifier: (name: string) => `"${name.replaceAll('"', '""')}"`,
    } as unknown as typeof pg;
  }
}

class FakeClient extends EventEmitter {
  readonly released: unknown[] = [];
  readonly #driver: FakeDriver;
  readonly pid: number;
  config: pg.ClientConfig | undefined;
  connected = false;
  ended = 0;

  constructor(driver: FakeDriver) {
    super();
    this.#driver = driver;
    this.pid = driver.clients.push(this);
  }
  async connect(): Promise<void> {
    if (this.#driver.connectFails) throw this.#driver.connectFails;
    this.connected = true;
  }
  async end(): Promise<void> {
    await new Promise(setImmediate);
    this.ended += 1;
  }
  release(broken?: unknown): void {
    this.released.push(broken);
  }
  async query(asked: string | Sent): Promise<unknown> {
    const driver = this.#driver;
    if (typeof asked === "string" && asked.startsWith("SET search_path")) {
      if (!this.connected) throw new Error("Not connected.");
      if (driver.setUpFails) throw driver.setUpFails;
      driver.setUps.push(asked);
      return [{ rows: [] }, { rows: [{ pid: String(this.pid) }] }];
    }
    driver.sent.push(typeof asked === "string" ? { text: asked } : asked);
    const answer = driver.answers.shift() ?? [];
    if (typeof answer === "function") return answer();
    if (answer instanceof Error) throw answer;
    return { rows: answer };
  }
}

class FakePool extends EventEmitter {
  readonly config: pg.PoolConfig;
  readonly #driver: FakeDriver;
  ended = 0;
  inUse = 0;
  mostInUse = 0;
  #idle: FakeClient[] = [];

  constructor(driver: FakeDriver, config: pg.PoolConfig) {
    super();
    this.#driver = driver;
    this.config = config;
    driver.pools.push(this);
  }
  async connect(): Promise<FakeClient> {
    this.#driver.attempts += 1;
    if (this.#driver.connectFails) throw this.#driver.connectFails;
    const client = this.#idle.pop() ?? new FakeClient(this.#driver);
    client.connected = true;
    this.mostInUse = Math.max(this.mostInUse, ++this.inUse);
    const release = client.release.bind(client);
    client.release = (broken) => {
      this.inUse -= 1;
      release(broken);
      client.release = release;
      if (broken !== true) this.#idle.push(client);
    };
    return client;
  }
  async end(): Promise<void> {
    await new Promise(setImmediate);
    this.ended += 1;
  }
}

function opened(options: Partial<ConnectionOptions> = {}): { driver: FakeDriver; connections: Connections } {
  const driver = new FakeDriver();
  return { driver, connections: new Connections(driver.asDriver(), { ...OPTIONS, ...options }) };
}

const sqlError = (code: string): Error => Object.assign(new Error(`sql ${code}`), { code });
const broken = (): Error => Object.assign(new Error("reset"), { code: "ECONNRESET" });
const STATEMENT = { name: "s", text: "SELECT 1" };

describe("pools", () => {
  test.each([
    [{ maxConnections: 10, lanes: 4 }, 4, 6],
    [{ maxConnections: 10 }, 1, 9],
    [{ maxConnections: 3, lanes: 4 }, 2, 1],
    [{ maxConnections: 2, lanes: 4 }, 1, 1],
  ])("%o are shared as %i that commit and %i that read", (options, commits, reads) => {
    const { driver } = opened(options);
    expect(driver.pools.map(({ config }) => config.max)).toEqual([commits, reads]);
  });

  test("a connection names its process, is kept alive, and is given up after five seconds unless told otherwise", () => {
    const named = { connectionString: OPTIONS.url, application_name: "rookery test" };
    const alive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000, idleTimeoutMillis: 60_000 };
    expect(opened().driver.pools[0]?.config).toMatchObject({ ...named, ...alive, connectionTimeoutMillis: 5_000 });
    expect(opened({ connectTimeoutMs: 70 }).driver.pools[1]?.config).toMatchObject({ connectionTimeoutMillis: 70 });
  });

  test("64-bit integers are read as numbers, and everything else as the driver reads it", () => {
    const parser = opened().driver.pools[0]?.config.types?.getTypeParser as (oid: number) => (text: string) => unknown;
    expect(parser(20)("7")).toBe(7);
    expect(parser(25)("7")).toBe("25:7");
  });

  test("at most as many run at once as a pool has connections, and commits do not wait for reads", async () => {
    const { driver, connections } = opened({ maxConnections: 3, lanes: 1 });
    const ends: (() => void)[] = [];
    const work = () => new Promise<void>((resolve) => ends.push(resolve));
    const all = [1, 2, 3, 4].map(() => connections.use("read", work));
    all.push(connections.use("commit", work));
    await expect.poll(() => ends.length).toBe(3);
    expect(driver.pools.map(({ inUse }) => inUse)).toEqual([1, 2]);
    for (let ended = 0; ended < 5; ended++) {
      await expect.poll(() => ends.length).toBeGreaterThan(0);
      ends.shift()?.();
    }
    await Promise.all(all);
    expect(driver.pools.map(({ mostInUse, inUse }) => [mostInUse, inUse])).toEqual([
      [1, 0],
      [2, 0],
    ]);
  });
});

describe("a connection", () => {
  test("is set up once, in its schema, and knows its server process", async () => {
    const { driver, connections } = opened();
    const pids = [
      await connections.use("read", async (client) => connections.pidOf(client)),
      await connections.use("read", async (client) => connections.pidOf(client)),
    ];
    expect(pids).toEqual([1, 1]);
    expect(driver.setUps).toHaveLength(1);
    expect(driver.setUps[0]).toContain('SET search_path TO "my ""schema""";');
    expect(connections.pidOf({} as pg.ClientBase)).toBe(0);
  });

  test.each([
    ["that broke is dropped", broken(), true],
    ["whose statement failed is kept", sqlError("23505"), false],
  ])("%s, and the error is the caller's", async (_, error, dropped) => {
    const { driver, connections } = opened();
    await expect(connections.use("commit", () => Promise.reject(error))).rejects.toBe(error);
    expect(driver.clients[0]?.released).toEqual([dropped]);
    // Its place is free again.
    await expect(connections.use("commit", async () => "next")).resolves.toBe("next");
  });

  test("that breaks while nobody uses it ends no process", async () => {
    const { driver, connections } = opened();
    await connections.use("read", async () => 1);
    await connections.own();
    // An error event without a listener is thrown.
    for (const idle of [...driver.pools, ...driver.clients]) expect(idle.emit("error", broken())).toBe(true);
  });

  test("that cannot be made or set up is an unavailable store, and is dropped", async () => {
    const { driver, connections } = opened();
    driver.connectFails = broken();
    await expect(connections.use("read", async () => 1)).rejects.toThrow(StoreUnavailableError);
    driver.connectFails = undefined;
    driver.setUpFails = sqlError("42501");
    await expect(connections.use("read", async () => 1)).rejects.toThrow(StoreUnavailableError);
    expect(driver.clients[0]?.released).toEqual([true]);
    driver.setUpFails = undefined;
    await expect(connections.use("read", async () => 1)).resolves.toBe(1);
  });

  test("of its own is set up like the others, and ended if that fails", async () => {
    const { driver, connections } = opened();
    const client = await connections.own();
    expect(connections.pidOf(client)).toBe(1);
    expect(driver.clients[0]).toMatchObject({ ended: 0, config: { application_name: "rookery test" } });
    driver.setUpFails = sqlError("42501");
    await expect(connections.own()).rejects.toThrow(StoreUnavailableError);
    expect(driver.clients[1]?.ended).toBe(1);
    driver.connectFails = broken();
    await expect(connections.own()).rejects.toThrow(StoreUnavailableError);
    expect(driver.clients[2]?.ended).toBe(1);
  });
});

describe("a read", () => {
  test("has its rows, the first of them, or nothing", async () => {
    const { driver, connections } = opened();
    driver.answers.push([{ a: 1 }, { a: 2 }], [{ a: 3 }, { a: 4 }], []);
    expect(await connections.all(STATEMENT)).toEqual([{ a: 1 }, { a: 2 }]);
    expect(await connections.one(STATEMENT)).toEqual({ a: 3 });
    expect(await connections.one(STATEMENT)).toBeUndefined();
  });

  test("sends text without what the database cannot store, and other values as they are", async () => {
    const { driver, connections } = opened();
    await connections.all(STATEMENT, "a\0b", 5, null, ["c"]);
    expect(driver.sent[0]?.values).toEqual([expect.not.stringContaining("\0"), 5, null, ["c"]]);
  });

  test("over a broken connection is tried once more, on another one", async () => {
    const { driver, connections } = opened();
    driver.answers.push(broken(), [{ a: 1 }]);
    expect(await connections.all(STATEMENT)).toEqual([{ a: 1 }]);
    expect(driver.clients).toHaveLength(2);
    driver.answers.push(broken(), broken(), [{ a: 1 }]);
    await expect(connections.all(STATEMENT)).rejects.toThrow(StoreUnavailableError);
    expect(driver.answers).toHaveLength(1);
  });

  test("is not tried again if no connection can be made", async () => {
    const { driver, connections } = opened();
    driver.connectFails = broken();
    await expect(connections.all(STATEMENT)).rejects.toThrow(StoreUnavailableError);
    expect(driver.attempts).toBe(1);
  });

  test("that the database refuses is not tried again", async () => {
    const { driver, connections } = opened();
    driver.answers.push(sqlError("42601"));
    await expect(connections.all(STATEMENT)).rejects.toThrow(StoreUnavailableError);
    expect(driver.sent).toHaveLength(1);
  });
});

describe("closing", () => {
  test("ends both pools once, and then nothing is sent", async () => {
    const { driver, connections } = opened();
    expect(connections.closed).toBe(false);
    await connections.close();
    await connections.close();
    expect(connections.closed).toBe(true);
    expect(driver.pools.map(({ ended }) => ended)).toEqual([1, 1]);
    await expect(connections.use("commit", async () => 1)).rejects.toThrow(StoreClosedError);
    await expect(connections.all(STATEMENT)).rejects.toThrow(StoreClosedError);
    expect(driver.clients).toEqual([]);
  });

  test("refuses what comes while the pools are ending, and resolves when they have ended", async () => {
    const { driver, connections } = opened();
    const closing = connections.close();
    await expect(connections.use("read", async () => 1)).rejects.toThrow(StoreClosedError);
    await closing;
    expect(driver.pools.map(({ ended }) => ended)).toEqual([1, 1]);
  });

  test("a read is refused at once, also if every connection is busy", async () => {
    const { connections } = opened({ maxConnections: 2 });
    const ends: (() => void)[] = [];
    const busy = connections.use("read", () => new Promise<void>((resolve) => ends.push(resolve)));
    await expect.poll(() => ends.length).toBe(1);
    await connections.close();
    const refused = connections.all(STATEMENT).catch((error: unknown) => error);
    expect(await Promise.race([refused, new Promise(setImmediate)])).toBeInstanceOf(StoreClosedError);
    ends[0]?.();
    await busy;
  });

  test("a read that the end of the pools breaks off reports that the store is closed", async () => {
    const { driver, connections } = opened();
    driver.answers.push(async () => {
      await connections.close();
      throw sqlError("42601");
    });
    await expect(connections.all(STATEMENT)).rejects.toThrow(StoreClosedError);
  });
});

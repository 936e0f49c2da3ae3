/** The store that several nodes share: what it is opened with, where its files are, and its end without open parts. */
import { beforeEach, expect, test, vi } from "vitest";
import { parseConfig } from "../../config/parse-config.ts";
import { homePaths } from "../../config/paths.ts";
import { silentLog } from "../../core/ports/log.ts";
import { openSharedStore } from "./open-shared-store.ts";

const done: string[] = [];
const state = { opened: {} as object, followed: {} as object, fails: false };

async function step(name: string): Promise<void> {
  await new Promise(setImmediate);
  done.push(name);
}

const connections = { of: "the store" };
const store = { connections, close: () => step("store closed") };
vi.mock("./postgres/open-store.ts", () => ({
  openPostgresStore: async (options: object) => {
    state.opened = options;
    return store;
  },
}));
vi.mock("./postgres/file-store.ts", () => ({ databaseFileStore: (of: object) => ({ filesIn: of }) }));
vi.mock("./files/follow-shared.ts", () => ({
  followShared: async (options: object) => {
    state.followed = options;
    if (state.fails) throw new Error("The plain files belong to another node.");
    return { flush: () => step("flushed"), stop: () => step("mirror stopped") };
  },
}));

beforeEach(() => {
  done.length = 0;
  Object.assign(state, { opened: {}, followed: {}, fails: false });
});

const URL_OF = "postgres://ann@host/data";
const open = (text = "{}", mirror = false) => {
  const { config } = parseConfig({ text, file: "rookery.json5", env: {} });
  return openSharedStore({ url: URL_OF, paths: { ...homePaths("/home/me"), mirror }, config, log: silentLog });
};

test.each([
  [2, 2_000],
  [90, 90_000],
])("a lease of %i seconds is %i milliseconds long", async (seconds, ms) => {
  expect((await open(`{ store: { leaseSeconds: ${seconds} } }`)).leaseMs).toBe(ms);
});

test("the database has as many connections as the configuration says, and holds the files", async () => {
  const shared = await open("{ store: { maxConnections: 7 } }");
  expect(state.opened).toEqual({ url: URL_OF, maxConnections: 7 });
  expect([shared.store, shared.files]).toEqual([store, { filesIn: connections }]);
});

test("a node that writes no plain files has nothing to flush, and closes the database", async () => {
  const shared = await open();
  expect([shared.flush, state.followed]).toEqual([undefined, {}]);
  await shared.close();
  expect(done).toEqual(["store closed"]);
});

test("a node that writes plain files ends this before the database is closed", async () => {
  const shared = await open("{}", true);
  expect(state.followed).toEqual({ home: "/home/me", store, log: silentLog });
  await shared.flush?.();
  await shared.close();
  expect(done).toEqual(["flushed", "mirror stopped", "store closed"]);
});

test("leaves no database open when opening fails", async () => {
  state.fails = true;
  await expect(open("{}", true)).rejects.toThrow("another node");
  expect(done).toEqual(["store closed"]);
});

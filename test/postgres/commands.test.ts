/** Commands on a shared store: they commit beside its nodes without joining, and use the engine of their own home if it has one. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPostgresStore, type PostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { isHomeLocked } from "../../src/adapters/store/sqlite/home-lock.ts";
import { runCommand } from "../../src/app/cli/cli.test-kit.ts";
import { printsDocumentsOf } from "../../src/app/cli/command-document.test-kit.ts";
import { EXIT } from "../../src/app/cli/exit-code.ts";
import { openTestGateway } from "../../src/app/gateway/gateway.test-kit.ts";
import { openNode } from "../../src/app/node/open-node.ts";
import { parseConfig } from "../../src/config/parse-config.ts";
import { homePaths } from "../../src/config/paths.ts";
import { HomeLockedError } from "../../src/core/errors.ts";
import { silentLog } from "../../src/core/ports/log.ts";
import { freshDatabase } from "./shared.ts";

let url = "";
let home = "";
let store: PostgresStore;
beforeAll(async () => {
  url = await freshDatabase();
  home = mkdtempSync(join(tmpdir(), "rookery-shared-"));
  writeFileSync(join(home, "rookery.json5"), `{ models: { default: "offline" } }`);
  store = await openPostgresStore({ url });
});
afterAll(async () => {
  await store.close();
  rmSync(home, { recursive: true, force: true });
});

const add = (name: string, at = home) => {
  const job = ["--name", name, "--every", "1h", "--message", "x"];
  return runCommand(["schedules", "add", ...job, "--home", at, "--store", url]);
};
const names = async () => (await store.jobs({ limit: 9 })).map(({ name }) => name).sort();

const nodeOn = (at: string) =>
  openNode({
    paths: { ...homePaths(at), sharedStore: url },
    config: parseConfig({ text: `{ models: { default: "offline" } }`, file: "rookery.json5", env: {} }).config,
    connectors: [],
    log: silentLog,
    onFatal(error) {
      throw error;
    },
  });

test("a command without an engine commits to the shared store and never joins it as a node", async () => {
  expect((await add("one")).code).toBe(0);
  expect(await names()).toEqual(["one"]);
  expect(await store.nodes()).toEqual([]);
  expect([existsSync(join(home, "rookery.db")), isHomeLocked(home)]).toEqual([false, false]);
});

test("a node locks its home, so that it has one control socket", async () => {
  const node = await nodeOn(home);
  try {
    expect(isHomeLocked(home)).toBe(true);
    await expect(nodeOn(home)).rejects.toThrow(HomeLockedError);
  } finally {
    await node.close();
  }
  expect(isHomeLocked(home)).toBe(false);
});

test("a command reaches the store it names, not the one that the engine of its home uses", async () => {
  const kit = await openTestGateway();
  try {
    expect((await add("two", kit.home)).code).toBe(0);
    expect(await names()).toEqual(["one", "two"]);
    expect(await kit.node.ports.store.jobs({ limit: 9 })).toEqual([]);
  } finally {
    await kit.close();
  }
});

test("nodes lists the nodes of the shared store for programs, and says why there are none", async () => {
  const nodes = (...more: readonly string[]) => runCommand(["engine", "nodes", "--json", "--home", home, ...more]);
  const listed = async () => JSON.parse((await nodes("--store", url)).out);
  expect(await listed()).toMatchObject({ items: [], next: null });
  const node = await nodeOn(home);
  try {
    expect(await listed()).toMatchObject({ items: [{ state: "up", waiting: 0 }] });
    const { out } = await runCommand(["engine", "nodes", "--home", home, "--store", url]);
    expect(out).toMatch(/^node +name +state/u);
  } finally {
    await node.close();
  }
  const alone = await nodes();
  expect([alone.code, alone.out]).toEqual([EXIT.usage, ""]);
  expect(JSON.parse(alone.err).error.hint).toContain("--store");
  const away = await nodes("--store", "postgres://127.0.0.1:9/none");
  expect([away.code, JSON.parse(away.err).error.code]).toEqual([EXIT.store, "store_unavailable"]);
});

printsDocumentsOf("engine nodes");

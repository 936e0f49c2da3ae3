/** Commands on a shared store: they commit beside its nodes without joining, and use the engine of their own home if it has one. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPostgresStore, type PostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { isHomeLocked } from "../../src/adapters/store/sqlite/home-lock.ts";
import { runCommand } from "../../src/app/cli/cli.test-kit.ts";
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
  writeFileSync(join(home, "rookery.json5"), `{ models: { default: "offline", detect: false } }`);
  store = await openPostgresStore({ url });
});
afterAll(async () => {
  await store.close();
  rmSync(home, { recursive: true, force: true });
});

const add = (name: string, at = home) => {
  const job = ["--name", name, "--every", "1h", "--message", "x"];
  return runCommand(["cron", "add", ...job, "--home", at, "--store", url]);
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

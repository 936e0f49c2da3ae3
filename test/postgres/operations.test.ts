/** Operations on a shared store: a backup that becomes a home, and forgetting a person everywhere. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { runCommand } from "../../src/app/cli/cli.test-kit.ts";
import { openNode } from "../../src/app/node/open-node.ts";
import { AGENTS, OTHERS, PERSON, plantRows, WORDS } from "../../src/app/operations/forget/plant-person.test-kit.ts";
import { parseConfig } from "../../src/config/parse-config.ts";
import { homePaths } from "../../src/config/paths.ts";
import { OWNER } from "../../src/core/people/person.ts";
import { silentLog } from "../../src/core/ports/log.ts";
import { withClient } from "./server.ts";
import { freshDatabase } from "./shared.ts";

const CONFIG = '{ models: { default: "offline" } }';
let dir = "";
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "rookery-shared-ops-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** A home on a database of its own. */
async function sharedHome(name: string) {
  const url = await freshDatabase();
  const home = join(dir, name);
  const run = async (...argv: readonly string[]) => {
    const result = await runCommand([...argv, "--home", home, "--store", url]);
    expect([argv, result.code, result.err]).toEqual([argv, 0, result.err]);
    return result.out;
  };
  await run("config", "init");
  writeFileSync(join(home, "rookery.json5"), CONFIG);
  return { url, home, run };
}

/** Each table of the database with a row that holds one of the words, in any column. */
const tablesWith = (url: string, words: readonly string[]): Promise<readonly string[]> =>
  withClient(url, async (client) => {
    const { rows } = await client.query("SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT LIKE 'pg_%'");
    const found: string[] = [];
    for (const { schemaname, tablename } of rows) {
      if (schemaname === "information_schema") continue;
      const { rows: held } = await client.query(`SELECT t::text AS text FROM "${schemaname}"."${tablename}" t`);
      const holds = held.some(({ text }: { text: string }) => words.some((word) => text.includes(word)));
      // A table in parts has their rows too.
      if (holds && !/_\d+$/.test(tablename)) found.push(tablename);
    }
    return found.sort();
  });

test("a backup of a shared store, made beside a node that works, becomes a home with everything in it", async () => {
  const { url, home, run } = await sharedHome("node");
  await run("send", "remember the zebrafinch");
  await run("schedules", "add", "--name", "tea", "--every", "1h", "--message", "x");
  const node = await openNode({
    paths: { ...homePaths(home), sharedStore: url },
    config: parseConfig({ text: CONFIG, file: "rookery.json5", env: {} }).config,
    connectors: [],
    log: silentLog,
    onFatal(error) {
      throw error;
    },
  });
  const file = join(dir, "shared.tar.gz");
  let id = "";
  try {
    const data = new TextEncoder().encode("buy milk\n");
    const behalf = { person: OWNER };
    id = (await node.agents.files?.put({ data, name: "note.txt", behalf }))?.id ?? "";
    const made = JSON.parse(await run("backup", file, "--json"));
    expect(made).toMatchObject({ missing: [], rows: { agents: expect.any(Number) } });
  } finally {
    await node.close();
  }
  const before = JSON.parse(await run("sessions", "show", "main", "--json"));
  const to = join(dir, "restored");
  const restored = await runCommand(["backup", "restore", file, "--home", to, "--json"]);
  expect([restored.code, restored.err]).toEqual([0, ""]);
  const there = async (...argv: readonly string[]) => (await runCommand([...argv, "--home", to])).out;
  expect(JSON.parse(await there("sessions", "show", "main", "--json"))).toEqual(before);
  expect(JSON.stringify(before)).toContain("zebrafinch");
  expect(await there("schedules", "list")).toContain("tea");
  expect(await there("people", "files", "get", id)).toBe("buy milk\n");
  expect(await there("send", "hello")).not.toBe("");
  expect(readFileSync(join(to, "rookery.json5"), "utf8")).toBe(CONFIG);
});

test("a person planted in every table of a shared store is nowhere after `rookery people forget`, but where the receipt says", async () => {
  const { url, run } = await sharedHome("forget");
  const store = await openPostgresStore({ url });
  await plantRows(store);
  await store.close();
  expect((await tablesWith(url, WORDS)).length).toBeGreaterThan(10);
  const receipt = JSON.parse(await run("people", "forget", PERSON, "--yes", "--json"));
  expect(receipt).toMatchObject({
    removed: { agents: 2, jobs: 1 },
    mentions: [{ kind: "conversation", where: OTHERS }],
  });
  expect(await tablesWith(url, WORDS)).toEqual(["messages"]);
  // Empty rows of agents, digests of what they were sent, and who did something with them.
  const kept = ["agents", "audit", "changes", "dedupe", "requests", "states"];
  expect(await tablesWith(url, AGENTS)).toEqual(kept);
  expect(await run("engine", "audit", "--json")).toContain(receipt.tombstone);
});

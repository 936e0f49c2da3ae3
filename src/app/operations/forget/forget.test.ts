/** A person who is planted everywhere is nowhere afterwards, in rows, bytes of the database and plain files, but where it is listed. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startSearch } from "../../../adapters/search/sqlite/start-search.ts";
import { openDatabaseSync } from "../../../adapters/store/sqlite/database-sync.ts";
import { openSqliteStore } from "../../../adapters/store/sqlite/open-store.ts";
import { diskFileStore } from "../../../adapters/system/disk-file-store.ts";
import { systemClock } from "../../../adapters/system/system-clock.ts";
import { systemIds } from "../../../adapters/system/system-ids.ts";
import { configSchema } from "../../../config/config-schema.ts";
import { homePaths, searchFile } from "../../../config/paths.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { PersonId } from "../../../core/people/person.ts";
import { silentLog } from "../../../core/ports/log.ts";
import { runCommand } from "../../cli/cli.test-kit.ts";
import { printsDocumentsOf } from "../../cli/command-document.test-kit.ts";
import { connectedBy } from "../../client/connect-url.ts";
import type { ForgetReceipt } from "../../client/people-resource.ts";
import { openEngine } from "../../library/open-engine.ts";
import { nodeChanges } from "../../node/node-changes.ts";
import { tracesOfHome } from "../../node/node-traces.ts";
import { openFiles } from "../../node/open-files.ts";
import { HOME_PARTS } from "../data/home-parts.ts";
import { FORGET_RULES } from "../data/tables.test-kit.ts";
import {
  ACCOUNT,
  AGENTS,
  filesWithWords,
  OTHERS,
  PERSON,
  plantFiles,
  plantRows,
  WORDS,
} from "./plant-person.test-kit.ts";

const dir = mkdtempSync(join(tmpdir(), "rookery-forget-"));
const planted = join(dir, "planted");
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** The tables that hold one of the words, in any column. */
function tablesWith(home: string, words: readonly string[]): readonly string[] {
  const sql = openDatabaseSync(join(home, "rookery.db"), { readOnly: true });
  try {
    const tables = sql
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      .all();
    return tables
      .map(({ name }) => String(name))
      .filter((name) => {
        const rows = JSON.stringify(sql.prepare(`SELECT * FROM "${name}"`).all());
        return words.some((word) => rows.includes(word));
      });
  } finally {
    sql.close();
  }
}

beforeAll(async () => {
  mkdirSync(join(planted, "workspace"), { recursive: true });
  const paths = homePaths(planted);
  const config = configSchema.parse({});
  plantFiles(planted);
  const store = openSqliteStore({ home: planted });
  await plantRows(store);
  const ports = { store, ids: systemIds(), clock: systemClock };
  const files = openFiles({ ports, blobs: diskFileStore(paths.files), settings: { current: config }, paths });
  const stored = await files.put({
    data: Buffer.from("zebrafinch file"),
    name: "zebrafinch.txt",
    behalf: { person: ACCOUNT as PersonId },
  });
  const holds = { op: "file.hold", files: [stored.id], by: { agentId: AGENTS[0] as AgentId } } as const;
  await store.commit({ id: ports.ids.change(), site: "test", at: Date.now(), ops: [holds] });
  const changes = nodeChanges({ settings: { current: config }, paths, clock: systemClock, env: {} });
  const by = { person: PERSON, surface: "api" };
  await changes.write(`people/${PERSON}/MEMORY.md`, "zebrafinch, changed", { by });
  await store.close();
  await tracesOfHome(paths, silentLog).flush();
  const search = startSearch({
    databasePath: paths.database,
    indexPath: searchFile(paths),
    log: silentLog,
    stays: false,
  });
  await search.search({ query: "zebrafinch", people: [ACCOUNT], notes: [join(paths.people, PERSON)], limit: 1 });
  await search.close();
});

const home = (name: string): string => {
  const to = join(dir, name);
  cpSync(planted, to, { recursive: true });
  return to;
};

const forget = async (at: string, ...more: readonly string[]) => {
  const { code, out, err } = await runCommand(["people", "forget", PERSON, "--home", at, "--yes", "--json", ...more]);
  expect(err).toBe("");
  expect(code).toBe(0);
  return JSON.parse(out) as ForgetReceipt;
};

describe("a planted person", () => {
  it("is in every table and part of the home that a rule of forget is about", () => {
    const empty = new Set(["blob_trash", "meta", "nodes", "states", "files", "changes"]);
    const tables = Object.entries(FORGET_RULES).flatMap(([name, rule]) =>
      rule === "none" || empty.has(name) ? [] : [name],
    );
    const holding = [...tablesWith(planted, WORDS), ...tablesWith(planted, AGENTS)];
    expect(tables.filter((name) => !holding.includes(name)).sort()).toEqual([]);
    const found = new Set(filesWithWords(planted).map((path) => path.split("/")[0] ?? ""));
    const parts = Object.entries(HOME_PARTS).flatMap(([name, { forget: rule }]) =>
      /(?<!not )removed|follows/.test(rule) && existsSync(join(planted, name)) ? [name] : [],
    );
    const unnamed = ["rookery.db-wal", "search.db-wal", "mirror.json", "agents"];
    expect(parts.filter((name) => !found.has(name) && !unnamed.includes(name))).toEqual([]);
  });

  it("is nowhere after `rookery people forget`, but where the receipt says", async () => {
    const at = home("forgotten");
    const receipt = await forget(at);
    expect(receipt.tombstone).toMatch(/^forgotten-[0-9a-f]{16}$/);
    expect(receipt.removed).toMatchObject({ agents: 2, jobs: 1, files: 1, logins: 1, tokens: 1 });
    expect(receipt.mentions).toEqual([
      { kind: "conversation", where: OTHERS, sessionKey: expect.any(String), count: 1 },
      { kind: "file", where: "workspace/MEMORY.md" },
    ]);
    expect(receipt.backups).toEqual(["backups/rookery-20260122T100000000Z.tar.gz"]);
    expect(tablesWith(at, WORDS)).toEqual(["messages"]);
    // Empty rows of agents, which digests refer to, and who did something with them.
    expect(tablesWith(at, AGENTS)).toEqual(["changes", "agents", "audit"]);
    // The conversation of someone else, in the database and as plain files, and the owner's note.
    expect(
      filesWithWords(at)
        .filter((path) => !path.startsWith(`agents/${OTHERS}/`))
        .sort(),
    ).toEqual(["rookery.db", "workspace/MEMORY.md"]);
    expect(existsSync(join(at, "agents", OTHERS))).toBe(true);
  });

  it("keeps a tombstone in the audit log and digests of dedupe keys, and leaves no plan behind", async () => {
    const at = home("audited");
    const { tombstone } = await forget(at);
    const sql = openDatabaseSync(join(at, "rookery.db"), { readOnly: true });
    const audit = sql.prepare("SELECT person, entry ->> 'target' AS target, action FROM audit ORDER BY n").all();
    expect(audit.map(({ person, target, action }) => [person, target, action])).toEqual([
      [tombstone, null, "exec"],
      ["owner", tombstone, "exec"],
      ["owner", tombstone, "exec"],
      ["owner", tombstone, "person.forget"],
      ["owner", tombstone, "person.forgotten"],
    ]);
    const keys = sql.prepare("SELECT key FROM dedupe").all();
    expect(keys.map(({ key }) => String(key))).toEqual([expect.stringMatching(/^#[0-9a-f]{64}$/)]);
    expect(sql.prepare("SELECT key FROM facts WHERE key LIKE 'forget%'").all()).toEqual([]);
    sql.close();
    const again = await runCommand(["people", "forget", PERSON, "--home", at, "--yes"]);
    expect(again.err).toContain("Nothing of quokkaperson is stored here.");
    expect(again.code).not.toBe(0);
  });

  it("is exported first if that is asked for", async () => {
    const at = home("exported");
    const file = join(dir, "export.tar.gz");
    await forget(at, "--export", file);
    const text = gunzipSync(readFileSync(file)).toString("latin1");
    for (const part of ["person.json", "jobs.json", "history.jsonl", "messages.jsonl", "zebrafinch.txt", "MEMORY.md"])
      expect(text).toContain(part);
    for (const word of WORDS) expect(text).toContain(word);
    const second = await runCommand(["people", "forget", PERSON, "--home", at, "--yes", "--export", file]);
    expect(second.err).toContain("exists already");
  });

  it("is asked about, and refused for the owner, an account, and a person of the configuration", async () => {
    const at = home("refused");
    const refused = async (who: string, ...more: readonly string[]) =>
      (await runCommand(["people", "forget", who, "--home", at, ...more], { input: "" })).err;
    expect(await refused(PERSON)).toContain("--yes");
    expect(await refused("owner", "--yes")).toContain("The owner cannot be forgotten");
    expect(await refused(ACCOUNT, "--yes")).toContain(`is an account of ${PERSON}`);
    expect(await refused("nobody", "--yes")).toContain("Nothing of nobody is stored");
  });
});

describe("a running engine", () => {
  it("forgets a person who is at work, goes on with others, and completes what a killed process began", async () => {
    const at = home("running");
    const paths = homePaths(at);
    const config = configSchema.parse({ models: { default: "offline" } });
    const options = { paths, config, connectors: [], log: silentLog, onFatal() {}, stays: true };
    const engine = await openEngine(options);
    const rookery = connectedBy(engine.served.transport);
    const receipt = await rookery.people.forget(PERSON);
    expect(receipt.removed.agents).toBe(2);
    // What is left is the question about the person in someone else's conversation.
    expect(tablesWith(at, WORDS.slice(1))).toEqual([]);
    expect(await rookery.agent("still here").ask("hello")).not.toBe("");
    await engine.close();
    expect(
      filesWithWords(at)
        .filter((path) => !path.startsWith(`agents/${OTHERS}/`))
        .sort(),
    ).toEqual(["rookery.db", "workspace/MEMORY.md"]);

    // Only the plan is stored: everything else is done by the start.
    const left = home("left");
    const store = openSqliteStore({ home: left });
    const dead = { ...planned(), tombstone: "forgotten-0" };
    const ops = [{ op: "fact.put", key: "forget:forgotten-0", value: JSON.stringify(dead) }] as const;
    await store.commit({ id: systemIds().change(), site: "test", at: Date.now(), ops });
    await store.close();
    const next = await openEngine({ ...options, paths: homePaths(left) });
    await next.served.listen({ port: 0 });
    await vi.waitFor(
      async () =>
        expect(
          (await next.node.ports.store.eraser?.facts({ limit: 9, after: "forget" }))?.filter(({ key }) =>
            key.startsWith("forget"),
          ),
        ).toEqual([]),
      30_000,
    );
    await next.close();
    expect(tablesWith(left, WORDS.slice(1))).toEqual([]);
  });
});

const planned = () => ({
  ...{ person: PERSON, people: [PERSON, ACCOUNT, `api:${PERSON}`], name: "Quokka Nightingale", at: 1, agents: AGENTS },
  ...{ sessionKeys: [], jobs: ["job-1"] },
  counts: { agents: 2, messages: 2, jobs: 1, files: 1, logins: 1, tokens: 1 },
});

printsDocumentsOf("people forget");

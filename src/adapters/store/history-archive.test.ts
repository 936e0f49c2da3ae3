/** A home whose histories are archived: opened, its database lost, opened again, and adopted elsewhere. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { homePaths } from "../../config/paths.ts";
import type { AgentId } from "../../core/ids.ts";
import { silentLog } from "../../core/ports/log.ts";
import { systemIds } from "../system/system-ids.ts";
import { adopt } from "./files/adopt.ts";
import { Workload } from "./files/workload.test-kit.ts";
import { openEmbeddedStore } from "./open-embedded-store.ts";
import { openDatabase } from "./sqlite/database.ts";

const NOW = 1_800_000_000_000;
const ann = "ann".padEnd(24, "0") as AgentId;
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "rookery-archive-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const open = (home: string) =>
  openEmbeddedStore({
    ...{ paths: homePaths(home), synchronous: "normal", archiveAboveMb: 1, ids: systemIds(), now: NOW, log: silentLog },
    onFatal: (error) => expect.unreachable(String(error)),
  });

/** Ann's history is larger than a megabyte, and the compaction keeps its last three lines. */
function annLives(home: string): void {
  mkdirSync(home);
  const db = openDatabase(join(home, "rookery.db"), { synchronous: "off" });
  const work = new Workload(db);
  work.agent("ann");
  work.commit([{ op: "agent.claim", agentId: ann, node: work.node }]);
  const kept: string[] = [];
  for (let n = 0; n < 60; n++) {
    work.commit([work.user(ann, "x".repeat(20_000), [])], work.owner(ann));
    kept.push(work.leaf(ann));
  }
  const compaction = { type: "compaction", summary: "all", firstKeptEntryId: kept.at(-3), tokensBefore: 9 };
  work.commit([work.append(ann, compaction), { op: "node.leave", node: work.node }], work.owner(ann));
  db.close();
}

async function linesIn(home: string) {
  const { store, rebuilt, close } = await open(home);
  const lines = (await store.linesBack(ann, { limit: 1_000 })).map(({ line }) => line);
  await close();
  return { lines, rebuilt };
}

test("moves a history above the set size aside at a start, and rebuilds a lost database from both files", async () => {
  const home = join(root, "home");
  annLives(home);
  const { lines } = await linesIn(home);
  expect(lines).toHaveLength(63);
  const history = join(home, "agents", ann, "history.jsonl");
  expect(statSync(history).size).toBeLessThan(100_000);
  expect(statSync(`${history}.bak`)).toMatchObject({ mode: 0o100600 });
  for (const suffix of ["", "-wal", "-shm"]) rmSync(join(home, `rookery.db${suffix}`), { force: true });
  const again = await linesIn(home);
  expect(again.rebuilt).toMatchObject({ agents: 1, entries: 63, problems: [] });
  expect(again.lines).toEqual(lines);
  // Written from the database alone, as after a restored backup.
  rmSync(join(home, "agents"), { recursive: true });
  rmSync(join(home, "mirror.json"));
  expect((await linesIn(home)).lines).toEqual(lines);
  expect(existsSync(`${history}.bak`)).toBe(true);
});

test("adopts an archived agent with its older lines, and refuses one whose older lines are missing", async () => {
  const [home, other] = [join(root, "home"), join(root, "other")];
  annLives(other);
  const { lines } = await linesIn(other);
  mkdirSync(home);
  await (await open(home)).close();
  const dir = join(other, "agents", ann);
  const take = () => adopt({ home, databasePath: join(home, "rookery.db"), dir, ids: systemIds(), now: NOW });
  const bak = join(dir, "history.jsonl.bak");
  const bytes = readFileSync(bak);
  rmSync(bak);
  expect(take).toThrow("history.jsonl continues");
  expect(readdirSync(dir)).not.toContain("history.jsonl.bak");
  writeFileSync(bak, bytes);
  expect(take()).toMatchObject({ id: ann, entries: 63, problems: [] });
  expect((await linesIn(home)).lines).toEqual(lines);
});

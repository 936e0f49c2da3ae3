/** `rookery engine prune`: shows first, removes what has ended and is old, and never open work; with and without an engine. */
import { existsSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { configSchema } from "../../../config/config-schema.ts";
import { homePaths } from "../../../config/paths.ts";
import { silentLog } from "../../../core/ports/log.ts";
import { cliHome } from "../../cli/cli.test-kit.ts";
import { printsDocumentsOf } from "../../cli/command-document.test-kit.ts";
import { openEngine } from "../../library/open-engine.ts";
import { postOp, userBody, worldOn } from "../../testing/store-world.ts";
import type { PruneReport } from "./prune.ts";

const home = cliHome();
const YEAR_MS = 365 * 24 * 3600_000;

/** Two agents with an old answered message each; one also has an old message that waits. Old and new files. */
async function fill(): Promise<void> {
  await home.inStore(async (store) => {
    const world = await worldOn(store);
    world.now = Date.now() - YEAR_MS;
    for (const name of ["a", "b"]) {
      const held = await world.agent(name);
      const dedupe = { key: `key ${name}`, keepUntil: world.now + 1_000 };
      await world.done([postOp({ agentId: held.id }, userBody("old"), world.now, { dedupe })]);
      await world.done(
        [{ op: "message.settle", settlements: [{ seq: 1, from: "waiting", state: "answered" }] }],
        held.owner,
      );
      if (name === "b") await world.post(held.id, userBody("it still waits"));
    }
  });
  const old = (path: string): void => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, "old");
    utimesSync(path, 1, 1);
  };
  old(join(home.dir, "logs", "rookery.log.1"));
  old(join(home.dir, "logs", "rookery.log"));
  old(join(home.dir, "backups", "before-schema-12-from-11.db"));
  old(join(home.dir, "backups", "before-schema-13-from-12.db"));
  utimesSync(join(home.dir, "backups", "before-schema-13-from-12.db"), 2, 2);
  old(join(home.dir, "backups", "rookery-20200122T100000000Z.tar.gz"));
  old(join(home.dir, "rookery.db.broken-1"));
  old(join(home.dir, ".rookery-look-x"));
  old(join(home.dir, "files", "orphan"));
  writeFileSync(join(home.dir, "files", "fresh"), "an upload under way");
}

const whats = ({ items }: PruneReport) => items.map(({ what, count }) => [what, count]);
const EXPECTED = [
  ["settled messages", 2],
  ["entries of the change log", expect.any(Number)],
  ["expired keys of messages", 2],
  ["copies from before a migration", 1],
  ["databases that were replaced", 1],
  ["rotated logs", 1],
  ["leftovers of interrupted writes", 1],
  ["bytes of files that nothing names", 1],
];

describe.each(["stopped", "running"])("with a %s engine", (state) => {
  it("shows what it would remove, asks, removes it, and leaves open work, history and backups", async () => {
    await fill();
    const config = configSchema.parse({ models: { default: "offline" } });
    // Nothing may work on the message that waits.
    await home.inStore(async (store) => void (await store.nodes()));
    const engine =
      state === "running"
        ? await openEngine({ paths: homePaths(home.dir), config, connectors: [], log: silentLog, onFatal() {} })
        : undefined;
    const shown = JSON.parse((await home.run("engine", "prune", "--dry-run", "--json")).out) as PruneReport;
    expect(shown.removed).toBe(false);
    expect(whats(shown)).toEqual(EXPECTED);
    expect(existsSync(join(home.dir, "rookery.db.broken-1"))).toBe(true);
    expect((await home.run("engine", "prune", "--json")).err).toContain("--yes");
    const done = JSON.parse((await home.run("engine", "prune", "--yes", "--compact", "--json")).out) as PruneReport;
    expect(done).toMatchObject({ removed: true, compacted: true });
    expect(whats(JSON.parse((await home.run("engine", "prune", "--dry-run", "--json")).out) as PruneReport)).toEqual(
      [],
    );
    expect((await home.run("engine", "prune", "--dry-run")).out).toBe("Nothing is old enough.\n");
    await engine?.close();
    const kept = [
      "logs/rookery.log",
      "backups/before-schema-13-from-12.db",
      "backups/rookery-20200122T100000000Z.tar.gz",
      "files/fresh",
    ];
    for (const path of kept) expect([path, existsSync(join(home.dir, path))]).toEqual([path, true]);
    for (const path of ["rookery.db.broken-1", ".rookery-look-x", "files/orphan", "logs/rookery.log.1"])
      expect([path, existsSync(join(home.dir, path))]).toEqual([path, false]);
    await home.inStore(async (store) => {
      const agents = await store.agents({ limit: 10 });
      expect(agents).toHaveLength(2);
      const lines = await Promise.all(agents.map(({ id }) => store.linesBack(id, { limit: 10 })));
      expect(lines.map(({ length }) => length >= 2)).toEqual([true, true]);
      const open = await Promise.all(agents.map(({ id }) => store.messages(id, { limit: 10 })));
      expect(open.flat().map(({ body }) => (body as { text: string }).text)).toEqual(["it still waits"]);
    });
  });
});

printsDocumentsOf("engine prune");

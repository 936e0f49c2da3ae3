/**
 * Makes or restores a backup and kills its own process at the Nth call that changes the disk. Arguments: what, N, home, file.
 * Prints the number of calls if it comes to its end.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const [what = "", at = "0", home = "", file = ""] = process.argv.slice(2);
let calls = 0;

function counted(): void {
  calls += 1;
  if (calls === Number(at)) process.kill(process.pid, "SIGKILL");
}

/** Functions of Node that change the disk. Each is counted before and after it acts. */
const SYNC = [
  "renameSync",
  "rmSync",
  "mkdirSync",
  "writeFileSync",
  "linkSync",
  "copyFileSync",
  "chmodSync",
  "fsyncSync",
] as const;
const ASYNC = ["rename", "rm", "mkdir", "open", "symlink"] as const;
const patched = fs as unknown as Record<string, (...args: unknown[]) => unknown>;
const promised = fs.promises as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
for (const name of SYNC) {
  const original = patched[name];
  patched[name] = (...args) => {
    counted();
    const result = original?.(...args);
    counted();
    return result;
  };
}
for (const name of ASYNC) {
  const original = promised[name];
  promised[name] = async (...args) => {
    counted();
    const result = await original?.(...args);
    counted();
    return result;
  };
}
syncBuiltinESMExports();

const { homePaths } = await import("../../../src/config/paths.ts");
const { configSchema } = await import("../../../src/config/config-schema.ts");
const { systemIds } = await import("../../../src/adapters/system/system-ids.ts");
const paths = homePaths(home);
if (what === "backup") {
  const { createBackup } = await import("../../../src/app/operations/backup/create-backup.ts");
  await createBackup({ paths, config: configSchema.parse({}), env: {}, file });
} else if (what === "restore") {
  const { restoreBackup } = await import("../../../src/app/operations/backup/restore-backup.ts");
  const mayStart = async () => true;
  await restoreBackup({ file, home, replace: true, ids: systemIds(), now: Date.now(), env: {}, mayStart });
} else if (what === "migration") {
  const { openDatabase } = await import("../../../src/adapters/store/sqlite/database.ts");
  openDatabase(paths.database).close();
} else if (what === "forget") {
  // Each commit is a point, besides the calls above.
  const { openIdleEngine } = await import("../../../src/app/node/open-idle-engine.ts");
  const { serveHere } = await import("../../../src/app/gateway/in-process/serve-here.ts");
  const { connectedBy } = await import("../../../src/app/client/connect-url.ts");
  const { silentLog } = await import("../../../src/core/ports/log.ts");
  const config = configSchema.parse({});
  const node = await openIdleEngine({ paths, config, env: {}, log: silentLog });
  const { store } = node.ports as {
    store: { commit(change: unknown): Promise<unknown>; eraser?: { compact(): Promise<void> } };
  };
  const [commit, compact] = [store.commit, store.eraser?.compact];
  store.commit = async (change) => {
    counted();
    const done = await commit(change);
    counted();
    return done;
  };
  if (store.eraser && compact) {
    store.eraser.compact = async () => {
      counted();
      await compact();
      counted();
    };
  }
  const served = serveHere({ node, settings: node.settings, paths });
  await connectedBy(served.transport).people.forget(file);
  await served.close();
  await node.close();
}
process.stdout.write(`${calls}\n`);

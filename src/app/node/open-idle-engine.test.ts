import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openSqliteStore } from "../../adapters/store/sqlite/open-store.ts";
import { configSchema } from "../../config/config-schema.ts";
import { homePaths } from "../../config/paths.ts";
import { HomeLockedError, StoreUnreadableError } from "../../core/errors.ts";
import { silentLog } from "../../core/ports/log.ts";
import { openIdleEngine } from "./open-idle-engine.ts";
import { openNode } from "./open-node.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-idle-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const config = configSchema.parse({ models: { default: "offline" } });
const open = () => openIdleEngine({ paths: homePaths(home), config, env: {}, log: silentLog });
const onFatal = (error: unknown): never => {
  throw error;
};
const ann = { type: "user", connector: "api", userId: "ann", channelId: "ann" } as const;

it("accepts a message, leaves no trace of a node, and the next engine answers it", async () => {
  const idle = await open();
  const posted = await idle.agents.post({ to: { descriptor: ann }, body: { kind: "user", text: "hello" } });
  if (posted.status === "stale") throw new HomeLockedError("not accepted");
  const { agentId, seq } = posted;
  expect(await idle.ports.store.nodes()).toEqual([]);
  expect((await idle.ports.store.agent(agentId))?.node).toBeUndefined();
  expect((await idle.ports.store.message(agentId, seq))?.state).toBe("waiting");
  await idle.close();

  const node = await openNode({ paths: homePaths(home), config, connectors: [], log: silentLog, onFatal });
  await node.agents.waitForMessage({ agentId, seq }, 10_000);
  expect((await node.ports.store.message(agentId, seq))?.state).toBe("answered");
  await node.close();
});

it("does not hold the process or claim anything after a commit with an unknown outcome", async () => {
  const idle = await open();
  await idle.ports.store.close();
  await expect(idle.agents.post({ to: { descriptor: ann }, body: { kind: "user", text: "x" } })).rejects.toThrow();
  // Ends at once: there is no lease to give back and no timer to wait for.
  await idle.close();
  const store = openSqliteStore({ home });
  expect(await store.nodes()).toEqual([]);
  await store.close();
});

it("does not hide the plain files of a lost database behind an empty one", async () => {
  const node = await openNode({ paths: homePaths(home), config, connectors: [], log: silentLog, onFatal });
  await node.agents.postAndAwait({ to: { descriptor: ann }, body: { kind: "user", text: "keep me" } });
  await node.close();
  for (const end of ["", "-wal", "-shm"]) rmSync(join(home, `rookery.db${end}`), { force: true });
  await expect(open()).rejects.toThrow(StoreUnreadableError);
  const again = await openNode({ paths: homePaths(home), config, connectors: [], log: silentLog, onFatal });
  expect(again.rebuilt?.agents).toBe(1);
  await again.close();
});

/** `checkStore` accepts the stores of this project and finds stores that break one rule each. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { openMemoryStore, openSqliteStore } from "../../adapters/store/sqlite/open-store.ts";
import type { Change, CommitResult, Op } from "../../core/store/change.ts";
import type { Store } from "../../core/store/store.ts";
import { checkStore } from "./check-store.ts";

describe("checkStore", () => {
  it("finds nothing in SQLite, in memory and on a file that is opened again", async () => {
    expect(await checkStore({ open: async () => openMemoryStore() })).toEqual([]);
    const root = mkdtempSync(join(tmpdir(), "rookery-check-"));
    const homes = new Map<Store, string>();
    const openIn = (home: string): Store => {
      const store = openSqliteStore({ home });
      homes.set(store, home);
      return store;
    };
    const open = async (): Promise<Store> => openIn(mkdtempSync(join(root, "home-")));
    expect(await checkStore({ open, reopen: async (closed) => openIn(homes.get(closed) ?? "") })).toEqual([]);
    rmSync(root, { recursive: true, force: true });
  });

  /** The store with another `commit`. Each op of a change may be changed first. */
  const broken = (commit: (store: Store, change: Change) => Promise<CommitResult>): (() => Promise<Store>) => {
    return async () => {
      const store = openMemoryStore();
      return { ...store, commit: (change) => commit(store, change) };
    };
  };
  const without = (change: Change, drop: (op: Op) => Op): Change => ({ ...change, ops: change.ops.map(drop) });

  test.each<[string, () => Promise<Store>, RegExp]>([
    [
      "applies a change in pieces",
      broken(async (store, change) => {
        const results: CommitResult[] = [];
        for (const [n, op] of change.ops.entries()) {
          const id = n === change.ops.length - 1 ? change.id : (`${change.id}-${n}` as Change["id"]);
          results.push(await store.commit({ ...change, id, ops: [op] }));
        }
        return results.find(({ ok }) => !ok) ?? (results.at(-1) as CommitResult);
      }),
      /a refused change leaves nothing behind/,
    ],
    [
      "forgets what it has seen",
      broken((store, change) =>
        store.commit(without(change, (op) => (op.op === "message.post" ? { ...op, dedupe: undefined } : op))),
      ),
      /seen before is not stored twice/,
    ],
    [
      "lets anyone write",
      broken(async (store, { owner, ...change }) => {
        const agent = owner && (await store.agent(owner.agentId));
        const now = agent?.node === undefined ? owner : { ...owner, node: agent.node, epoch: agent.epoch };
        return store.commit({ ...change, owner: now as Change["owner"] });
      }),
      /only the owner of an agent changes it/,
    ],
    [
      "answers before it has written",
      broken(async (store, change) => {
        const isPost = change.ops.some(({ op }) => op === "message.post") && change.owner === undefined;
        if (!isPost) return store.commit(change);
        const result = await store.commit(change);
        return change.ops.length > 1 ? { ok: true, results: [] } : result;
      }),
      /outcome of a change|stand alone/,
    ],
    [
      "cannot look an outcome up",
      async () => ({ ...openMemoryStore(), outcome: async () => undefined }),
      /outcome of a change can be looked up/,
    ],
    [
      "ignores abort marks",
      broken(async (store, change) =>
        change.ops.some(({ op }) => op === "run.abort") ? { ok: true, results: [] } : store.commit(change),
      ),
      /abort mark/,
    ],
    [
      "ignores stops",
      broken(async (store, change) =>
        change.ops.some(({ op }) => op === "agent.stop") ? { ok: true, results: [] } : store.commit(change),
      ),
      /a stop covers descendants/,
    ],
  ])("finds a store that %s", async (_, open, rule) => {
    expect((await checkStore({ open })).join("\n")).toMatch(rule);
  });
});

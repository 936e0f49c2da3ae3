/** What the session of WhatsApp Web must keep, on any store: a `set` is one commit, whole or not at all. */
import { expect } from "vitest";
import type { Store } from "../../../core/store/store.ts";
import { sessionIn } from "./session-rounds.test-kit.ts";

/** Stores, finds, removes: the whole life of a session. */
export async function checkSession(store: Store): Promise<void> {
  let commits = 0;
  const counting = new Proxy(store, {
    get: (target, key) => {
      const value = Reflect.get(target, key) as unknown;
      if (key === "commit") commits += 1;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const creds = { noiseKey: { public: Buffer.from([1, 2]) }, registered: true };
  const auth = sessionIn(counting);
  await auth.saveCreds(creds);
  const before = commits;
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [String(n), Uint8Array.of(n)]));
  await auth.set({ "pre-key": many, session: { a: Buffer.from("s") }, "lid-mapping": { x: "y" } });
  expect(commits - before).toBe(1);
  const again = sessionIn(store);
  expect(await again.creds()).toEqual(creds);
  expect(await again.get("pre-key", ["7", "99"])).toEqual({ 7: Buffer.from([7]) });
  expect(await again.get("lid-mapping", ["x"])).toEqual({ x: "y" });
  await again.set({ "pre-key": { 7: null } });
  expect(await again.get("pre-key", ["7", "8"])).toEqual({ 8: Buffer.from([8]) });
  // Of another account nothing is seen or removed.
  const other = sessionIn(store, "other");
  expect([await other.creds(), await other.get("session", ["a"])]).toEqual([undefined, {}]);
  await other.saveCreds({ other: true });
  await again.clear();
  const empty = sessionIn(store);
  expect([await empty.creds(), await empty.get("session", ["a"]), await empty.get("pre-key", ["8"])]).toEqual([
    undefined,
    {},
    {},
  ]);
  expect(await sessionIn(store, "other").creds()).toEqual({ other: true });
}

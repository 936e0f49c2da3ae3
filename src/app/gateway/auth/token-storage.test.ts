import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { seededIds } from "../../../../test/kit/ids.ts";
import { openMemoryStore } from "../../../adapters/store/sqlite/open-store.ts";
import { fileTokenStorage, sharedTokenStorage } from "./token-storage.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-tokens-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

it("reads a file again that could not be read: a failed read does not count as seen", async () => {
  const file = join(home, "tokens.json");
  writeFileSync(file, "{ half", { mode: 0o600 });
  const storage = fileTokenStorage(file);
  expect(() => storage.readIfChangedSync?.()).toThrow();
  expect(() => storage.readIfChangedSync?.()).toThrow();
});

it("reads tokens of a shared store again that could not be read", async () => {
  const ports = { store: openMemoryStore(), clock: virtualClock(), ids: seededIds("tokens") };
  const ops = [{ op: "fact.put", key: "api.tokens", value: "{ half" }] as const;
  await ports.store.commit({ id: ports.ids.change(), site: "test", at: 1, ops });
  const storage = sharedTokenStorage(ports);
  await expect(storage.readIfChanged()).rejects.toThrow("cannot be read");
  await expect(storage.readIfChanged()).rejects.toThrow("cannot be read");
});

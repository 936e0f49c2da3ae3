import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { seededIds } from "../../../../test/kit/ids.ts";
import { openMemoryStore } from "../../../adapters/store/sqlite/open-store.ts";
import { silentLog } from "../../../core/ports/log.ts";
import type { Op } from "../../../core/store/change.ts";
import type { Principal } from "./principal.ts";
import { rootToken } from "./root-token.ts";
import { TokenService } from "./token-service.ts";
import { fileTokenStorage, sharedTokenStorage } from "./token-storage.ts";

const ROOT: Principal = { id: "root", name: "root", scopes: ["admin"] };
let home: string;
let now = 1_000_000;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-tokens-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const common = { root: "the root token", now: () => now, log: silentLog };
const inFile = (): Promise<TokenService> =>
  TokenService.open({ ...common, storage: fileTokenStorage(join(home, "tokens.json")) });
let shared = openMemoryStore();
beforeEach(() => {
  shared = openMemoryStore();
});
const ids = seededIds("tokens");
const put = (value: string) => {
  const ops: Op[] = [{ op: "fact.put", key: "api.tokens", value }];
  return shared.commit({ id: ids.change(), site: "t", at: 0, ops });
};
const inStore = (): Promise<TokenService> =>
  TokenService.open({ ...common, storage: sharedTokenStorage({ store: shared, clock: virtualClock(), ids }) });

describe.each([
  ["a file", inFile],
  ["a shared store", inStore],
])("the token service with records in %s", (_, open) => {
  it("finds the root token and minted tokens, also after a restart, and no others", async () => {
    const { token, record } = await (await open()).mint(ROOT, { name: "laptop", scopes: ["chat", "read"] });
    const service = await open();
    expect(service.find("the root token")).toMatchObject({ id: "root", scopes: ["admin"] });
    expect(service.find(token)).toMatchObject({ id: record.id, scopes: ["read", "chat"] });
    for (const wrong of [
      "",
      "the root toke",
      "the root token ",
      token.slice(0, -1),
      `${token}x`,
      token.replace(/_.{12}_/, "_000000000000_"),
    ]) {
      expect(service.find(wrong)).toBeUndefined();
    }
  });

  it("notices when another process revokes a token, and reports the revoked ids", async () => {
    const service = await open();
    const { token, record } = await service.mint(ROOT, { name: "laptop", scopes: ["chat"] });
    const child = await service.mint(service.find(token) as Principal, { name: "child", scopes: ["chat"] });
    const revoked: string[] = [];
    service.onRevoked((ids) => revoked.push(...ids));
    await (await open()).revoke(ROOT, record.id);
    now += 1_000;
    await service.reload();
    expect(service.find(token)).toBeUndefined();
    expect(service.find(child.token)).toBeUndefined();
    expect(revoked.sort()).toEqual([record.id, child.record.id].sort());
  });

  it("never mints a token that outlives its minter, or has more scopes or higher limits", async () => {
    const service = await open();
    const parent = await service.mint(ROOT, {
      name: "p",
      scopes: ["chat"],
      expiresInDays: 1,
      person: "ann",
      limits: { dollarsPerDay: 2 },
    });
    const by = service.find(parent.token) as Principal;
    await expect(service.mint(by, { name: "c", scopes: ["read"], person: "ann" })).rejects.toThrow(/cannot grant read/);
    await expect(service.mint(by, { name: "c", scopes: ["chat"] })).rejects.toThrow(/that person/);
    const child = await service.mint(by, {
      name: "c",
      scopes: ["chat"],
      person: "ann",
      expiresInDays: 9,
      limits: { dollarsPerDay: 9, requestsPerMinute: 5 },
    });
    expect(child.record.expiresAt).toBe(parent.record.expiresAt);
    expect(child.record.limits).toEqual({ dollarsPerDay: 2, requestsPerMinute: 5 });
    now += 24 * 3600_000;
    expect(service.find(parent.token)).toBeUndefined();
    expect(service.stillValid(by)).toBe(false);
  });

  it("never replaces unreadable records, and keeps the known tokens valid", async () => {
    const service = await open();
    const { token } = await service.mint(ROOT, { name: "laptop", scopes: ["chat"] });
    writeFileSync(join(home, "tokens.json"), "broken");
    await put("broken");
    now += 1_000;
    await service.reload();
    expect(service.find(token)).toBeDefined();
    await expect(service.mint(ROOT, { name: "x", scopes: ["chat"] })).rejects.toThrow(/cannot be read/);
    expect(readFileSync(join(home, "tokens.json"), "utf8")).toBe("broken");
    expect(await shared.fact("api.tokens")).toBe("broken");
    await expect(open()).rejects.toThrow(/cannot be read/);
  });

  it("loses no token when two processes write at once", async () => {
    const services = [await open(), await open()];
    const names = Array.from({ length: 5 }, (_, n) => `n${n}`);
    await Promise.all(
      services.flatMap((service) => names.map((name) => service.mint(ROOT, { name, scopes: ["chat"] }))),
    );
    expect((await open()).list(ROOT)).toHaveLength(10);
  });

  it("finds a token that another process minted, and rejects a mint by one that another process revoked", async () => {
    const [one, other] = [await open(), await open()];
    const { token, record } = await one.mint(ROOT, { name: "laptop", scopes: ["chat"] });
    now += 1_000;
    await other.loadUnknown(token);
    const by = other.find(token) as Principal;
    expect(by).toMatchObject({ id: record.id });
    await one.revoke(ROOT, record.id);
    await expect(other.mint(by, { name: "late", scopes: ["chat"] })).rejects.toThrow(/revoked/);
    await other.reload();
    expect(other.find(token)).toBeUndefined();
  });
});

describe("the root token", () => {
  it("is created once, readable by its owner only, unless ROOKERY_TOKEN is set", () => {
    const file = join(home, "token");
    const first = rootToken(file, {});
    expect(first.text).toMatch(/^rk_/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(rootToken(file, {})).toMatchObject({ text: first.text, from: { made: false } });
    expect(rootToken(file, { ROOKERY_TOKEN: "from-outside" }).text).toBe("from-outside");
    expect(() => rootToken(file, { ROOKERY_TOKEN: "a b" })).toThrow(/cannot be used/);
    chmodSync(file, 0o644);
    expect(() => rootToken(file, {})).toThrow(/Other users can read/);
  });
});

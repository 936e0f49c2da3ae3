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
import { hashOf } from "./token.ts";
import { TokenService } from "./token-service.ts";
import { fileTokenStorage, sharedTokenStorage } from "./token-storage.ts";

const ROOT: Principal = { id: "root", name: "root", kind: "owner", scopes: ["admin"] };
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

  it("mints a token for the owner, an application or a person, and no token reaches more people than its minter", async () => {
    const service = await open();
    const mint = async (by: Principal, request: Partial<Parameters<TokenService["mint"]>[1]>) => {
      const { token, record } = await service.mint(by, { name: "My Shop", scopes: ["chat"], ...request });
      return { record, principal: service.find(token) as Principal };
    };
    const owner = await mint(ROOT, { scopes: ["operate"] });
    expect(owner.principal).toMatchObject({ kind: "owner", person: "owner" });
    const shop = await mint(owner.principal, {});
    expect(shop.principal).toMatchObject({ kind: "application", app: "my-shop" });
    // Another token of the same name is another application, unless the owner says that it is the same.
    const other = await mint(ROOT, {});
    expect(other.principal.app).toBe(`my-shop.${other.principal.id}`);
    expect((await mint(ROOT, { app: "my-shop" })).principal.app).toBe("my-shop");
    const ann = await mint(ROOT, { person: "ann" });
    expect(ann.principal).toMatchObject({ kind: "person", person: "ann" });
    expect((await mint(shop.principal, { name: "bank" })).principal.app).toBe("my-shop");
    expect((await mint(ann.principal, { person: "ann" })).principal.person).toBe("ann");
    for (const [by, request] of [
      [shop.principal, { app: "bank" }],
      [shop.principal, { person: "ann" }],
      [ann.principal, { app: "bank" }],
      [ann.principal, { person: "bob" }],
      [ann.principal, {}],
      [ann.principal, { person: "owner" }],
      [ROOT, { person: "owner" }],
      [ROOT, { person: "ann", scopes: ["operate"] }],
      [ROOT, { app: "bank", scopes: ["admin"] }],
      [ROOT, { person: "app:shop/ann" }],
      [ROOT, { person: "telegram:42" }],
      [ROOT, { app: "shop/ann" }],
      [ROOT, { person: "ann", app: "bank" }],
    ] as const) {
      await expect(mint(by, request), JSON.stringify(request)).rejects.toThrow();
    }
  });

  it("keeps reading tokens without a kind, which share their users' names", async () => {
    const hash = (text: string) => hashOf(text).toString("hex");
    const text = (n: number) => `rk_${"0".repeat(11)}${n}_${"x".repeat(43)}`;
    const old = (n: number, more: object) => ({
      ...{ id: `${"0".repeat(11)}${n}`, name: "old", hash: hash(text(n)), createdAt: 1, createdBy: "root" },
      ...more,
    });
    const tokens = [
      old(1, { scopes: ["chat"] }),
      old(2, { scopes: ["chat"], person: "ann" }),
      old(3, { scopes: ["operate"] }),
    ];
    writeFileSync(join(home, "tokens.json"), JSON.stringify({ version: 1, tokens }), { mode: 0o600 });
    await put(JSON.stringify({ version: 1, tokens }));
    const service = await open();
    const [chat, ann, operator] = [1, 2, 3].map((n) => service.find(text(n)) as Principal);
    expect([chat, ann, operator]).toMatchObject([
      { kind: "old" },
      { kind: "old", user: "ann", person: "api:ann" },
      { kind: "owner", person: "owner" },
    ]);
    // What an old token mints stays among the same names.
    const child = await service.mint(chat as Principal, { name: "shop", scopes: ["chat"] });
    expect(service.find(child.token)).toMatchObject({ kind: "old" });
    for (const more of [{ app: "shop" }, { person: "ann" }]) {
      await expect(service.mint(chat as Principal, { name: "x", scopes: ["chat"], ...more })).rejects.toThrow("no one");
    }
  });

  it("bounds how many tokens a token mints, itself and through others, and how deep", async () => {
    const service = await open();
    const mint = async (by: Principal, name = "t") =>
      service.find((await service.mint(by, { name, scopes: ["chat"] })).token) as Principal;
    const shop = await mint(ROOT);
    // The tokens of its tokens count for it too, or each of them could mint as many again.
    const child = await mint(shop);
    await expect(
      (async () => {
        for (let n = 0; n <= 50; n++) await mint(n % 2 ? child : shop);
      })(),
    ).rejects.toThrow(/has minted/);
    expect(service.list(ROOT).filter(({ createdBy }) => createdBy !== "root")).toHaveLength(50);
    // Another one is not concerned, and neither is the owner.
    let deep = await mint(ROOT);
    await expect(
      (async () => {
        for (let n = 0; n <= 4; n++) deep = await mint(deep);
      })(),
    ).rejects.toThrow(/deep/);
    await mint(ROOT);
  });

  it("makes room for new tokens when old ones expire or are revoked", async () => {
    const service = await open();
    const { token } = await service.mint(ROOT, { name: "p", scopes: ["chat"] });
    const by = service.find(token) as Principal;
    for (let n = 0; n < 50; n++) await service.mint(by, { name: "c", scopes: ["chat"], expiresInDays: 1 });
    await expect(service.mint(by, { name: "c", scopes: ["chat"] })).rejects.toThrow(/has minted/);
    now += 24 * 3600_000 + 1;
    await service.mint(by, { name: "c", scopes: ["chat"] });
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

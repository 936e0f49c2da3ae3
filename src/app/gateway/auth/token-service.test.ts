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
  ["a store that nodes share", inStore],
])("the book of tokens in %s", (_, open) => {
  it("knows the home's own token and those it minted, also after a restart, and no others", async () => {
    const { token, record } = await (await open()).mint(ROOT, { name: "desk", scopes: ["chat", "read"] });
    const book = await open();
    expect(book.find("the root token")).toMatchObject({ id: "root", scopes: ["admin"] });
    expect(book.find(token)).toMatchObject({ id: record.id, scopes: ["read", "chat"] });
    for (const wrong of [
      "",
      "the root toke",
      "the root token ",
      token.slice(0, -1),
      `${token}x`,
      token.replace(/_.{12}_/, "_000000000000_"),
    ]) {
      expect(book.find(wrong)).toBeUndefined();
    }
  });

  it("sees at once what another process changed, and says what was revoked", async () => {
    const book = await open();
    const { token, record } = await book.mint(ROOT, { name: "desk", scopes: ["chat"] });
    const child = await book.mint(book.find(token) as Principal, { name: "child", scopes: ["chat"] });
    const gone: string[] = [];
    book.onRevoked((ids) => gone.push(...ids));
    await (await open()).revoke(ROOT, record.id);
    now += 1_000;
    await book.lookAgain();
    expect(book.find(token)).toBeUndefined();
    expect(book.find(child.token)).toBeUndefined();
    expect(gone.sort()).toEqual([record.id, child.record.id].sort());
  });

  it("lets nothing that is minted outlive, outdo or outspend its minter", async () => {
    const book = await open();
    const parent = await book.mint(ROOT, {
      name: "p",
      scopes: ["chat"],
      expiresInDays: 1,
      person: "ann",
      limits: { dollarsPerDay: 2 },
    });
    const by = book.find(parent.token) as Principal;
    await expect(book.mint(by, { name: "c", scopes: ["read"], person: "ann" })).rejects.toThrow(/cannot give read/);
    await expect(book.mint(by, { name: "c", scopes: ["chat"] })).rejects.toThrow(/that person/);
    const child = await book.mint(by, {
      name: "c",
      scopes: ["chat"],
      person: "ann",
      expiresInDays: 9,
      limits: { dollarsPerDay: 9, requestsPerMinute: 5 },
    });
    expect(child.record.expiresAt).toBe(parent.record.expiresAt);
    expect(child.record.limits).toEqual({ dollarsPerDay: 2, requestsPerMinute: 5 });
    now += 24 * 3600_000;
    expect(book.find(parent.token)).toBeUndefined();
    expect(book.stillValid(by)).toBe(false);
  });

  it("never replaces what it cannot read, and goes on with what it knew", async () => {
    const book = await open();
    const { token } = await book.mint(ROOT, { name: "desk", scopes: ["chat"] });
    writeFileSync(join(home, "tokens.json"), "broken");
    await put("broken");
    now += 1_000;
    await book.lookAgain();
    expect(book.find(token)).toBeDefined();
    await expect(book.mint(ROOT, { name: "x", scopes: ["chat"] })).rejects.toThrow(/cannot be read/);
    expect(readFileSync(join(home, "tokens.json"), "utf8")).toBe("broken");
    expect(await shared.fact("api.tokens")).toBe("broken");
    await expect(open()).rejects.toThrow(/cannot be read/);
  });

  it("loses no token when two write at once", async () => {
    const books = [await open(), await open()];
    const names = Array.from({ length: 5 }, (_, n) => `n${n}`);
    await Promise.all(books.flatMap((book) => names.map((name) => book.mint(ROOT, { name, scopes: ["chat"] }))));
    expect((await open()).list(ROOT)).toHaveLength(10);
  });

  it("lets a token that was revoked elsewhere mint nothing, and finds one that was minted elsewhere", async () => {
    const [one, other] = [await open(), await open()];
    const { token, record } = await one.mint(ROOT, { name: "desk", scopes: ["chat"] });
    now += 1_000;
    await other.lookFor(token);
    const by = other.find(token) as Principal;
    expect(by).toMatchObject({ id: record.id });
    await one.revoke(ROOT, record.id);
    await expect(other.mint(by, { name: "late", scopes: ["chat"] })).rejects.toThrow(/revoked/);
    await other.lookAgain();
    expect(other.find(token)).toBeUndefined();
  });
});

describe("the home's own token", () => {
  it("is made once, for its owner only, and given by the environment where that has one", () => {
    const file = join(home, "token");
    const first = rootToken(file, {});
    expect(first.text).toMatch(/^rk_/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(rootToken(file, {})).toMatchObject({ text: first.text, from: { made: false } });
    expect(rootToken(file, { ROOKERY_TOKEN: "from-outside" }).text).toBe("from-outside");
    expect(() => rootToken(file, { ROOKERY_TOKEN: "a b" })).toThrow(/cannot be used/);
    chmodSync(file, 0o644);
    expect(() => rootToken(file, {})).toThrow(/Others than its owner/);
  });
});

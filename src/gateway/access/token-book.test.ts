import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { silentLog } from "../../core/log.ts";
import type { Principal } from "./principal.ts";
import { rootToken } from "./root-token.ts";
import { TokenBook } from "./token-book.ts";

const ROOT: Principal = { id: "root", name: "root", scopes: ["admin"] };
let home: string;
let now = 1_000_000;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-tokens-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const open = (): TokenBook =>
  new TokenBook({ file: join(home, "tokens.json"), root: "the root token", now: () => now, log: silentLog });

describe("the book of tokens", () => {
  it("knows the home's own token and those it minted, also after a restart, and no others", () => {
    const { token, record } = open().mint(ROOT, { name: "desk", scopes: ["chat", "read"] });
    const book = open();
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

  it("sees at once what another process changed, and says what was revoked", () => {
    const book = open();
    const { token, record } = book.mint(ROOT, { name: "desk", scopes: ["chat"] });
    const child = book.mint(book.find(token) as Principal, { name: "child", scopes: ["chat"] });
    const gone: string[] = [];
    book.onRevoked((ids) => gone.push(...ids));
    open().revoke(ROOT, record.id);
    now += 1_000;
    expect(book.find(token)).toBeUndefined();
    expect(book.find(child.token)).toBeUndefined();
    expect(gone.sort()).toEqual([record.id, child.record.id].sort());
  });

  it("lets nothing that is minted outlive, outdo or outspend its minter", () => {
    const book = open();
    const parent = book.mint(ROOT, {
      name: "p",
      scopes: ["chat"],
      expiresInDays: 1,
      person: "ann",
      limits: { dollarsPerDay: 2 },
    });
    const by = book.find(parent.token) as Principal;
    expect(() => book.mint(by, { name: "c", scopes: ["read"], person: "ann" })).toThrow(/cannot give read/);
    expect(() => book.mint(by, { name: "c", scopes: ["chat"] })).toThrow(/that person/);
    const child = book.mint(by, {
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

  it("never replaces a file it cannot read, and goes on with what it knew", () => {
    const book = open();
    const { token } = book.mint(ROOT, { name: "desk", scopes: ["chat"] });
    writeFileSync(join(home, "tokens.json"), "broken");
    now += 1_000;
    expect(book.find(token)).toBeDefined();
    expect(() => book.mint(ROOT, { name: "x", scopes: ["chat"] })).toThrow(/cannot be read/);
    expect(readFileSync(join(home, "tokens.json"), "utf8")).toBe("broken");
    expect(open).toThrow(/cannot be read/);
  });

  it("loses no token when two write at once", () => {
    const [one, other] = [open(), open()];
    for (let n = 0; n < 5; n++) {
      one.mint(ROOT, { name: `a${n}`, scopes: ["chat"] });
      other.mint(ROOT, { name: `b${n}`, scopes: ["chat"] });
    }
    expect(open().list(ROOT)).toHaveLength(10);
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

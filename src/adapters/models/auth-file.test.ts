import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ConfigError } from "../../core/errors.ts";
import { readAuthFile, storedKeysIn, writeKey } from "./auth-file.ts";

let home: string;
let file: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-auth-"));
  file = join(home, "auth.json");
});
afterEach(() => rmSync(home, { recursive: true }));

describe("stored keys", () => {
  it("are empty without a file", () => {
    expect(readAuthFile(file)).toEqual({});
  });

  it("are stored by provider and profile, readable by the owner only", () => {
    writeKey(file, "a", "default", "one");
    chmodSync(file, 0o644);
    writeKey(file, "a", "work", "two");
    writeKey(file, "b", "default", "three");
    expect(readAuthFile(file)).toEqual({ a: { default: "one", work: "two" }, b: { default: "three" } });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(home)).toEqual(["auth.json"]);
  });

  it("are replaced and removed one by one", () => {
    writeKey(file, "a", "default", "one");
    writeKey(file, "a", "default", "two");
    writeKey(file, "b", "default", "three");
    writeKey(file, "a", "default", undefined);
    expect(readAuthFile(file)).toEqual({ b: { default: "three" } });
  });

  it("in an unreadable file are never overwritten or quoted", () => {
    writeFileSync(file, '{ "version": 1, "keys": { "a": "sk-secret-thing" ');
    const attempt = (): void => writeKey(file, "b", "default", "x");
    expect(attempt).toThrow(ConfigError);
    expect(attempt).not.toThrow(/secret/);
    expect(readFileSync(file, "utf8")).toContain("sk-secret-thing");
  });

  it("are read again after a change, and a broken file is reported once per change", () => {
    const problems: unknown[] = [];
    const keys = storedKeysIn(file, (error) => problems.push(error));
    expect(keys()).toEqual({});
    writeKey(file, "a", "default", "one");
    expect(keys()).toEqual({ a: { default: "one" } });
    expect(keys()).toBe(keys());
    writeFileSync(file, "broken!");
    expect(keys()).toEqual({});
    keys();
    expect(problems).toHaveLength(1);
  });
});
